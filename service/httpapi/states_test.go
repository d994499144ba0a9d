package httpapi_test

import "strings"

// The ways to bring a key where a row needs it. The attempts are numbered from 1; each has its own attempt_id.

func live(k *key) {
	k.reserve(attempt(1), fields{"lease": "1h", "holder": "holder-1"}).want(201, "acquired")
}

// brief is a lease that runs out soon, and yet is long enough for a slow machine to give out with half of it left.
const brief = "250ms"

// lapsing makes an acquisition whose lease ends soon; whoever needs it lapsed awaits that.
func lapsing(k *key, n int, f ...fields) {
	k.reserve(append([]fields{attempt(n), {"lease": brief}}, f...)...).want(201, "acquired")
}

var (
	retry = fields{"on_lapse": "retry"}
	hold  = fields{"on_lapse": "hold"}
)

func abandoned(k *key) { lapsing(k, 1, retry) }
func uncertain(k *key) { lapsing(k, 1, hold) }

func released(k *key)  { live(k); k.release(fields{"reason": "no stock"}).want(200, "released") }
func forgotten(k *key) { live(k); noted(k); k.release(fields{"forget": true}).want(200, "released") }
func noted(k *key)     { k.heartbeat(fields{"checkpoint": checkpoint(1)}).want(200, "in_progress") }

func completed(k *key) { live(k); k.complete(fields{"response": response()}).want(200, "completed") }
func failed(k *key) {
	live(k)
	k.complete(fields{"response": response(), "result": "failed"}).want(200, "failed")
}

// dropped is completed with a body that is not kept: because the caller says so, or because it is too large.
func dropped(k *key)           { live(k); k.complete(saidDropped).want(200, "completed") }
func droppedAsTooLarge(k *key) { live(k); k.complete(withTooLarge).want(200, "completed") }

var (
	saidDropped  = fields{"response": fields{"status": 201}, "response_dropped": true, "resource_id": "order-1"}
	withTooLarge = fields{"response": merged(response(), fields{"body": strings.Repeat("x", 1<<20+1)}), "resource_id": "order-1"}
)

// soonGone is settled, and ends soon.
func soonGone(k *key) {
	live(k)
	noted(k)
	k.complete(fields{"response": response(), "retention": "1s"}).want(200, "completed")
}

// released and abandoned keys that end soon.
func soonGoneReleased(k *key) {
	k.reserve(attempt(1), fields{"retention": "1s"}).want(201, "acquired")
	k.release().want(200, "released")
}
func soonGoneAbandoned(k *key) { lapsing(k, 1, fields{"retention": "1s"}) }

// takenOver has a live second attempt; the token of the first is kept as the one to call with.
func takenOver(k *key) {
	abandoned(k)
	k.await("abandoned")
	withEarlierToken(k, func() { k.reserve(attempt(2), fields{"lease": "1h"}).want(201, "acquired") })
}

func withEarlierToken(k *key, do func()) {
	earlier := k.lease
	do()
	k.lease = earlier
}

// attempts has n attempts, of which all but the last were released; the last is still in progress.
func attempts(n int, last fields) func(k *key) {
	return func(k *key) {
		for i := 1; i < n; i++ {
			k.reserve(attempt(i)).want(201, "acquired")
			k.release().want(200, "released")
		}
		k.reserve(attempt(n), last).want(201, "acquired")
	}
}

// then is one state after another.
func then(states ...func(k *key)) func(k *key) {
	return func(k *key) {
		for _, state := range states {
			state(k)
		}
	}
}

func response() fields {
	return fields{"status": 201, "headers": [][2]string{{"Content-Type", "application/json"}, {"X-Order", "1"}}, "body": `{"id": 1.0}`}
}

func checkpoint(seq int) fields { return fields{"seq": seq, "data": "step"} }
