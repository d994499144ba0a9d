// Charges once, whatever happens to the answers: node charge.mjs URL TOKEN KEY AMOUNT
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const [url, token, key, amount] = process.argv.slice(2);
const name = { operation: "POST /v1/charges", key };

// Sends a call until it has an answer: every call can be repeated with the same ids.
async function post(call, body) {
  for (let attempt = 0; attempt < 10; attempt++) {
    let answer, got;
    try {
      answer = await fetch(`${url}/v1/keys/${call}`, {
        method: "POST", signal: AbortSignal.timeout(30_000), body: JSON.stringify({ ...name, ...body }),
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      });
      got = await answer.json();
    } catch {
      await sleep(Math.min(2 ** attempt * 100, 2000));
      continue;
    }
    if (got.advice !== "repeat_call") return { status: answer.status, ...got };
    await sleep(got.retry_after_ms ?? 1000);
  }
  throw new Error(`${call} had no answer`);
}

async function once(work) {
  let attemptId = randomUUID(); // one for each acquisition: a reserve whose answer was lost gets its own lease
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    const got = await post("reserve", { fingerprint: `amount=${amount}`, attempt_id: attemptId, wait: "10s" });
    if (got.status === 201 && got.outcome === "acquired") return run(work, got.lease);
    if (got.status === 200 && got.outcome === "replay") return ["replayed", got.record.response.body];
    if (got.advice !== "reserve_again") return [got.code, got.detail];
    if (got.code === "lease_lost") attemptId = randomUUID();
    await sleep(got.retry_after_ms ?? 100);
  }
  return ["in_progress", "another attempt holds the key"];
}

async function run(work, lease) {
  const heartbeats = setInterval(() => post("heartbeat", { lease_token: lease.token }).catch(() => {}), lease.remaining_ms / 3);
  let body;
  try {
    body = await work(lease.fence);
  } catch (e) { // it did not happen: somebody else may try
    clearInterval(heartbeats);
    await post("release", { lease_token: lease.token, reason: String(e) });
    throw e;
  }
  clearInterval(heartbeats);
  const got = await post("complete", { lease_token: lease.token, response: { status: 201, body } });
  return [got.status === 200 ? "done" : got.code, body];
}

console.log(...(await once(async (fence) => `charged ${amount}`)));
