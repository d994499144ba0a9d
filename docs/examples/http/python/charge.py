"""Charges once, whatever happens to the answers.

    KEYS_URL=http://127.0.0.1:8080 KEYS_TOKEN=... python3 charge.py KEY AMOUNT

It needs Python 3.9 or newer and nothing else. The provider of the payments is a file here: each line of charges.log is a
charge.
"""
import hashlib, http.client, json, os, random, sys, threading, time, urllib.error, urllib.request, uuid

URL, TOKEN = os.environ.get("KEYS_URL"), os.environ.get("KEYS_TOKEN")
LEASE = os.environ.get("KEYS_LEASE", "30s")
PATIENCE = 60  # seconds


class Refused(Exception):
    """The answer is final, or not what was asked for."""

    def __init__(self, problem):
        super().__init__(f"{problem.get('code', 'unexpected answer')}: {problem.get('detail', '')}")


class NoAnswer(Exception):
    """Nobody answered in time. The same call can be sent again later, with the same ids."""


class NotRecorded(Exception):
    """It happened, but the key is not completed: look the key up, and do not reserve it before."""


def call(what, body, patience=PATIENCE, timeout=30):
    """Sends a call until it is answered, and gives status and answer."""
    until = time.monotonic() + patience
    request = urllib.request.Request(f"{URL}/v1/keys/{what}", json.dumps(body).encode(),
                                     {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
    while True:
        pause = 0.2
        try:
            with urllib.request.urlopen(request, timeout=timeout) as got:
                return got.status, json.load(got)
        except urllib.error.HTTPError as e:
            problem = problem_in(e)
            if problem["advice"] != "repeat_call":
                return e.code, problem
            pause = retry_after(problem, e.headers)
        except (OSError, http.client.HTTPException, ValueError):
            pass  # no answer, or half of one
        if time.monotonic() + pause > until:
            raise NoAnswer(what)
        sleep_about(pause)


def problem_in(answer):
    """Reads a problem, or makes one of what something in between answered."""
    try:
        problem = json.load(answer)
        if "advice" in problem:
            return problem
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        pass
    again = answer.code in (429, 500, 502, 503, 504)
    return {"code": f"status_{answer.code}", "detail": "", "advice": "repeat_call" if again else "fix_request"}


def retry_after(problem, headers):
    """Gives seconds: retry_after_ms is the exact value, Retry-After that of anybody else who answered."""
    if "retry_after_ms" in problem:
        return problem["retry_after_ms"] / 1000
    header = headers.get("Retry-After") or ""
    return float(header) if header.isdigit() else 1


def sleep_about(seconds):
    """Sleeps so long or somewhat longer, so that callers do not come back all at once."""
    time.sleep(seconds * random.uniform(1, 1.5))


def charge_once(key, body):
    """Gives how it went, and the response: that of this run, or that of the run which was first."""
    name = {"operation": "POST /v1/charges", "key": key}
    request = {"method": "POST", "target": "/v1/charges", "content_type": "application/json", "body": body}
    attempt, until = str(uuid.uuid4()), time.monotonic() + PATIENCE
    while time.monotonic() < until:
        status, got = call("reserve", {**name, "request": request, "attempt_id": attempt, "lease": LEASE, "wait": "10s"})
        if status == 201 and got["outcome"] == "acquired":
            response = work(name, got["lease"], body)
            if response:
                return "done", response
            attempt = str(uuid.uuid4())
        elif status == 200 and got["outcome"] == "replay":
            return "replayed", response_in(got["record"])
        elif got.get("advice") == "reserve_again":
            if got["code"] == "lease_lost":  # this attempt is over; the next one is another
                attempt = str(uuid.uuid4())
            sleep_about(retry_after(got, {}))
        else:
            raise Refused(got)
    raise NoAnswer("another attempt holds the key")


def work(name, lease, body):
    """Charges under the lease. Gives nothing if the lease was lost before anything happened."""
    held = {**name, "lease_token": lease["token"]}
    with Heartbeats(held, lease["remaining_ms"] / 3000):
        # The point of no return: should we vanish from here on, nobody may try again before a person has looked.
        status, got = call("heartbeat", {**held, "on_lapse": "hold"})
        if got.get("code") == "lease_lost":
            return None
        if status != 200 or got["record"]["on_lapse"] != "hold":  # a mistyped field is ignored, and answered with 200
            raise Refused(got)
        try:
            result, response = charge(json.loads(body)["amount"], downstream_key(name))
        except Unreached as e:  # it surely did not happen: the next attempt may charge
            call("release", {**held, "reason": str(e)})
            raise
        # Any other exception goes up: nobody knows whether it happened, and the key stays held.
        complete({**held, "result": result, "response": response})
        return response


def complete(done):
    """Says how it went. It has happened, so whatever this is answered, nothing is tried again but the call."""
    try:
        status, got = call("complete", done)
        if status == 413:  # too large, and the key must be completed
            status, got = call("complete", {**done, "response": {**done["response"], "body": None}, "response_dropped": True})
    except NoAnswer:
        raise NotRecorded("no answer")
    if status != 200:  # lease_lost too: another attempt may have the key, or have settled it
        raise NotRecorded(got["code"])


def response_in(record):
    """Gives the stored response. Where there is none, as an operator may have settled it, one is made of what is known."""
    status = 200 if record["state"] == "completed" else 402
    return record.get("response") or response_of(status, {"resource_id": record.get("resource_id")})


class Heartbeats(threading.Thread):
    """Keeps the lease alive until the block ends."""

    def __init__(self, held, every):
        super().__init__(daemon=True)
        self.held, self.every, self.over = held, every, threading.Event()

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self.over.set()

    def run(self):
        while not self.over.wait(self.every):
            try:
                status, _ = call("heartbeat", self.held, patience=0, timeout=self.every)
            except NoAnswer:
                continue  # the next one tries again
            if status != 200:
                return  # the key is not ours any more


def downstream_key(name):
    """Gives a key for the provider that is the same for every attempt, so that it refuses a second charge by itself."""
    return hashlib.sha256(compact([name["operation"], name["key"]]).encode()).hexdigest()


class Unreached(Exception):
    """The provider was not asked at all."""


def charge(amount, key):
    """Stands for the provider. A real one is given the key too."""
    if amount > 1000:  # a failure that is final is a result like any other
        return "failed", response_of(402, {"declined": amount})
    try:
        log = open(os.environ.get("CHARGES_FILE", "charges.log"), "a")
    except OSError as e:
        raise Unreached(f"the provider cannot be reached: {e.strerror}")
    with log:
        log.write(f"{key} {amount}\n")
    time.sleep(float(os.environ.get("CHARGE_SECONDS", "0")))
    return "completed", response_of(201, {"charged": amount})


def response_of(status, body):
    return {"status": status, "headers": [["Content-Type", "application/json"]], "body": compact(body)}


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    if not (URL and TOKEN and len(sys.argv) == 3 and sys.argv[2].isdecimal()):
        print("usage: KEYS_URL=... KEYS_TOKEN=... python3 charge.py KEY AMOUNT", file=sys.stderr)
        sys.exit(2)
    try:
        how, response = charge_once(sys.argv[1], json.dumps({"amount": int(sys.argv[2])}))
    except Refused as e:
        sys.exit(f"refused: {e}")
    except (NoAnswer, Unreached) as e:
        sys.exit(f"not charged: {e}")
    except NotRecorded as e:
        sys.exit(f"it happened, but is not recorded: {e}: look the key up before anything else")
    print(how, response.get("status", 200), response.get("body", ""))
