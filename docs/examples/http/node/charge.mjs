// Charges once, whatever happens to the answers.
//
//     KEYS_URL=http://127.0.0.1:8080 KEYS_TOKEN=... node charge.mjs KEY AMOUNT
//
// It needs Node 18 or newer and no packages. The provider of the payments is a file here: each line of charges.log is a
// charge.
import { createHash, randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const { KEYS_URL: url, KEYS_TOKEN: token, KEYS_LEASE: lease = "30s" } = process.env;
const patience = 60_000; // milliseconds

// The answer is final, or not what was asked for.
class Refused extends Error {
  constructor({ code = "unexpected answer", detail = "" }) {
    super(`${code}: ${detail}`);
  }
}

// Nobody answered in time. The same call can be sent again later, with the same ids.
class NoAnswer extends Error {}

// It happened, but the key is not completed: look the key up, and do not reserve it before.
class NotRecorded extends Error {}

// Sends a call until it is answered, and gives status and answer.
async function call(what, body, { forAtMost = patience, timeout = 30_000 } = {}) {
  const until = Date.now() + forAtMost;
  for (;;) {
    const signal = AbortSignal.timeout(timeout);
    let pause = 200;
    try {
      const got = await fetch(`${url}/v1/keys/${what}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal,
      });
      if (got.ok) return [got.status, await got.json()];
      const problem = await problemIn(got);
      if (problem.advice !== "repeat_call") return [got.status, problem];
      pause = retryAfter(problem, got.headers);
    } catch {
      // no answer, or half of one
    }
    if (Date.now() + pause > until) throw new NoAnswer(what);
    await sleepAbout(pause);
  }
}

// Reads a problem, or makes one of what something in between answered.
async function problemIn(got) {
  const problem = await got.json().catch(() => null);
  if (problem?.advice) return problem;
  const again = [429, 500, 502, 503, 504].includes(got.status);
  return { code: `status_${got.status}`, detail: "", advice: again ? "repeat_call" : "fix_request" };
}

// Gives milliseconds: retry_after_ms is the exact value, Retry-After that of anybody else who answered.
function retryAfter(problem, headers) {
  return problem.retry_after_ms ?? (Number(headers?.get("Retry-After")) || 1) * 1000;
}

// Sleeps so long or somewhat longer, so that callers do not come back all at once.
function sleepAbout(milliseconds) {
  return sleep(milliseconds * (1 + Math.random() / 2));
}

// Gives how it went, and the response: that of this run, or that of the run which was first.
async function chargeOnce(key, body) {
  const name = { operation: "POST /v1/charges", key };
  const request = { method: "POST", target: "/v1/charges", content_type: "application/json", body };
  let attempt = randomUUID();
  for (const until = Date.now() + patience; Date.now() < until; ) {
    const [status, got] = await call("reserve", { ...name, request, attempt_id: attempt, lease, wait: "10s" });
    if (status === 201 && got.outcome === "acquired") {
      const response = await work(name, got.lease, body);
      if (response) return ["done", response];
      attempt = randomUUID();
    } else if (status === 200 && got.outcome === "replay") {
      return ["replayed", responseIn(got.record)];
    } else if (got.advice === "reserve_again") {
      if (got.code === "lease_lost") attempt = randomUUID(); // this attempt is over; the next one is another
      await sleepAbout(retryAfter(got));
    } else {
      throw new Refused(got);
    }
  }
  throw new NoAnswer("another attempt holds the key");
}

// Charges under the lease. Gives nothing if the lease was lost before anything happened.
async function work(name, lease, body) {
  const held = { ...name, lease_token: lease.token };
  const stop = heartbeats(held, Math.round(lease.remaining_ms / 3));
  try {
    // The point of no return: should we vanish from here on, nobody may try again before a person has looked.
    const [status, turned] = await call("heartbeat", { ...held, on_lapse: "hold" });
    if (turned.code === "lease_lost") return null;
    // A mistyped field is ignored, and answered with 200.
    if (status !== 200 || turned.record.on_lapse !== "hold") throw new Refused(turned);
    let outcome;
    try {
      outcome = await charge(JSON.parse(body).amount, downstreamKey(name));
    } catch (e) {
      // It surely did not happen: the next attempt may charge. Of any other error nobody knows, and the key stays held.
      if (e instanceof Unreached) await call("release", { ...held, reason: e.message });
      throw e;
    }
    await complete({ ...held, ...outcome });
    return outcome.response;
  } finally {
    stop();
  }
}

// Says how it went. It has happened, so whatever this is answered, nothing is tried again but the call.
async function complete(done) {
  const unanswered = (e) => {
    throw e instanceof NoAnswer ? new NotRecorded("no answer") : e;
  };
  let [status, got] = await call("complete", done).catch(unanswered);
  if (status === 413) { // too large, and the key must be completed
    const short = { ...done, response: { ...done.response, body: null }, response_dropped: true };
    [status, got] = await call("complete", short).catch(unanswered);
  }
  // lease_lost too: another attempt may have the key, or have settled it
  if (status !== 200) throw new NotRecorded(got.code);
}

// Gives the stored response. Where there is none, as an operator may have settled it, one is made of what is known.
function responseIn(record) {
  const status = record.state === "completed" ? 200 : 402;
  return record.response ?? responseOf(status, { resource_id: record.resource_id ?? null });
}

// Keeps the lease alive until it is stopped.
function heartbeats(held, every) {
  const over = new AbortController();
  const beat = async () => {
    for (;;) {
      await sleep(every, undefined, { signal: over.signal, ref: false });
      const [status] = await call("heartbeat", held, { forAtMost: 0, timeout: every }).catch(() => [200]); // the next one tries again
      if (status !== 200) return; // the key is not ours any more
    }
  };
  beat().catch(() => {}); // it was stopped
  return () => over.abort();
}

// Gives a key for the provider that is the same for every attempt, so that it refuses a second charge by itself.
function downstreamKey(name) {
  return createHash("sha256").update(JSON.stringify([name.operation, name.key])).digest("hex");
}

// The provider was not asked at all.
class Unreached extends Error {}

// Stands for the provider. A real one is given the key too.
async function charge(amount, key) {
  if (amount > 1000) return { result: "failed", response: responseOf(402, { declined: amount }) }; // final: a result like any other
  const log = await open(process.env.CHARGES_FILE ?? "charges.log", "a").catch((e) => {
    throw new Unreached(`the provider cannot be reached: ${e.code}`);
  });
  await log.write(`${key} ${amount}\n`);
  await log.close();
  await sleep(Number(process.env.CHARGE_SECONDS ?? 0) * 1000);
  return { result: "completed", response: responseOf(201, { charged: amount }) };
}

function responseOf(status, body) {
  return { status, headers: [["Content-Type", "application/json"]], body: JSON.stringify(body) };
}

const [key, amount, ...more] = process.argv.slice(2);
if (!url || !token || more.length > 0 || !/^[0-9]{1,15}$/.test(amount)) {
  console.error("usage: KEYS_URL=... KEYS_TOKEN=... node charge.mjs KEY AMOUNT");
  process.exit(2);
}
try {
  const [how, response] = await chargeOnce(key, JSON.stringify({ amount: Number(amount) }));
  console.log(how, response.status ?? 200, response.body ?? "");
} catch (e) {
  if (e instanceof Refused) console.error(`refused: ${e.message}`);
  else if (e instanceof NoAnswer || e instanceof Unreached) console.error(`not charged: ${e.message}`);
  else if (e instanceof NotRecorded) console.error(`it happened, but is not recorded: ${e.message}: look the key up before anything else`);
  else throw e;
  process.exitCode = 1;
}
