"""Charges once, whatever happens to the answers: python3 charge.py URL TOKEN KEY AMOUNT"""
import json, sys, threading, time, urllib.error, urllib.request, uuid

url, token, key, amount = sys.argv[1:5]
name = {"operation": "POST /v1/charges", "key": key}


def post(call, body):
    """Sends a call until it has an answer: every call can be repeated with the same ids."""
    for attempt in range(10):
        request = urllib.request.Request(f"{url}/v1/keys/{call}", json.dumps(name | body).encode(),
                                         {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            status, problem = e.code, json.load(e)
            if problem["advice"] != "repeat_call":
                return status, problem
            time.sleep(problem.get("retry_after_ms", 1000) / 1000)
        except OSError:
            time.sleep(min(2**attempt / 10, 2))
    raise RuntimeError(f"{call} had no answer")


def once(work):
    deadline = time.monotonic() + 60
    attempt_id = str(uuid.uuid4())  # one for each acquisition: a reserve whose answer was lost gets its own lease
    while time.monotonic() < deadline:
        status, got = post("reserve", {"fingerprint": f"amount={amount}", "attempt_id": attempt_id, "wait": "10s"})
        if status == 201 and got["outcome"] == "acquired":
            return run(work, got["lease"])
        if status == 200 and got["outcome"] == "replay":
            return "replayed", got["record"]["response"]["body"]
        if got.get("advice") != "reserve_again":
            return got.get("code", "unknown"), got.get("detail", "")
        if got["code"] == "lease_lost":
            attempt_id = str(uuid.uuid4())
        time.sleep(got.get("retry_after_ms", 100) / 1000)
    return "in_progress", "another attempt holds the key"


def run(work, lease):
    done = threading.Event()

    def beat():
        while not done.wait(lease["remaining_ms"] / 3000):
            post("heartbeat", {"lease_token": lease["token"]})

    heartbeats = threading.Thread(target=beat)
    heartbeats.start()
    try:
        body = work(lease["fence"])
    except Exception as e:  # it did not happen: somebody else may try
        done.set(), heartbeats.join()
        post("release", {"lease_token": lease["token"], "reason": str(e)})
        raise
    done.set(), heartbeats.join()
    status, got = post("complete", {"lease_token": lease["token"], "response": {"status": 201, "body": body}})
    return ("done" if status == 200 else got["code"]), body


print(*once(lambda fence: f"charged {amount}"))
