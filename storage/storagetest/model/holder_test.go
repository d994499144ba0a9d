package model

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// Ensures that each row of the contract about complete is what the model says.
func TestComplete(t *testing.T) {
	failed := storage.Complete{Name: name, Token: token('A'), Result: storage.Failed, Retention: 7 * s}
	check(t, []row{
		{"the holder settles", held, 5 * s, complete('A', "r"),
			`settled anew completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},
		{"the retention of the call goes before that of the acquisition", held, 5 * s, failed,
			"settled anew failed 1A expires=12s"},
		{"the holder settles after its lease ran out", held, 20 * s, complete('A', "r"),
			`settled anew completed 1A expires=2m0s resource="r" response=&{201 [] [] false []}`},
		{"the holder settles what became uncertain", heldTight, 2000 * s, complete('A', "r"),
			`settled anew completed 1A expires=35m0s hold resource="r" response=&{201 [] [] false []}`},
		{"progress and past errors stay", append(takenOver[:2:2], step{5 * s, release('A', "busy")}, step{6 * s, reserve('B')}), 7 * s,
			complete('B', "r"), `settled anew completed 2B expires=1m47s checkpoint=&{3 three} error="busy" resource="r" response=&{201 [] [] false []}`},

		{"the same again is the same record", done, 8 * s, complete('A', "r"),
			`settled completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},
		{"another settlement is refused", done, 8 * s, complete('A', "other"),
			`already_completed completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},
		{"a settlement without a hash is not known again", plain, 8 * s, plain[1].call,
			"already_completed completed 1A expires=1m45s"},

		{"another token has lost", held, 5 * s, complete('B', "r"), "lease_lost in_progress 1A until=10s expires=1m50s"},
		{"no token has lost", held, 5 * s, complete(0, "r"), "lease_lost in_progress 1A until=10s expires=1m50s"},
		{"who was taken over has lost", takenOver, 12 * s, complete('A', "r"),
			"lease_lost in_progress 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},
		{"who was taken over has lost, even after the settlement by the other",
			append(takenOver[:3:3], step{12 * s, complete('B', "r")}), 13 * s, complete('A', "r"),
			`lease_lost completed 2B expires=1m52s takeover checkpoint=&{3 three} resource="r" response=&{201 [] [] false []}`},
		{"who released has lost", givenBack, 6 * s, complete('A', "r"), `lease_lost released 1A expires=1m45s error="busy"`},
		{"nothing is created for who never reserved", never, 0, complete('A', "r"), "lease_lost nothing"},
		{"what expired is lost", held, 110 * s, complete('A', "r"), "lease_lost nothing"},
		{"a settlement that expired is lost, even to the same again", done, 105 * s, complete('A', "r"),
			"lease_lost nothing"},
	})
}

// Ensures that each row of the contract about release is what the model says.
func TestRelease(t *testing.T) {
	check(t, []row{
		{"the holder gives back", held, 5 * s, release('A', "busy"),
			`released anew released 1A expires=1m45s error="busy"`},
		{"the holder gives back after its lease ran out", held, 20 * s, release('A', ""),
			"released anew released 1A expires=2m0s"},
		{"the holder gives back what became uncertain", heldTight, 20 * s, release('A', ""),
			"released anew released 1A expires=2m0s hold"},
		{"forget blanks fingerprint and checkpoint", takenOver[:2], 5 * s, forget('A'),
			`released anew released 1A expires=1m45s fingerprint=""`},
		{"the reason is that of the last release", append(givenBack[:2:2], step{6 * s, reserve('B')}), 7 * s, release('B', "worse"),
			`released anew released 2B expires=1m47s error="worse"`},
		{"a last release without a reason has none", append(givenBack[:2:2], step{6 * s, reserve('B')}), 7 * s, release('B', ""),
			"released anew released 2B expires=1m47s"},

		{"the same again changes nothing", givenBack, 8 * s, release('A', "other"),
			`released released 1A expires=1m45s error="busy"`},
		{"the same again does not forget", givenBack, 8 * s, forget('A'),
			`released released 1A expires=1m45s error="busy"`},
		{"a settlement stands", done, 6 * s, release('A', "late"),
			`already_completed completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},

		{"another token has lost", held, 5 * s, release('B', ""), "lease_lost in_progress 1A until=10s expires=1m50s"},
		{"who was taken over has lost", takenOver, 12 * s, release('A', ""),
			"lease_lost in_progress 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},
		{"who released has lost once somebody else acquired", append(givenBack[:2:2], step{6 * s, reserve('B')}), 7 * s,
			release('A', "busy"), `lease_lost in_progress 2B until=16s expires=1m56s error="busy"`},
		{"another token has lost what was settled", done, 6 * s, release('B', ""),
			`lease_lost completed 1A expires=1m45s resource="r" response=&{201 [] [] false []}`},
		{"nothing is created for who never reserved", never, 0, release('A', ""), "lease_lost nothing"},
		{"what expired is lost", givenBack, 105 * s, release('A', ""), "lease_lost nothing"},
	})
}

// Ensures that each row of the contract about heartbeat is what the model says.
func TestHeartbeat(t *testing.T) {
	counted := takenOver[:2]
	check(t, []row{
		{"a live lease is extended, which is no new version", held, 5 * s, heartbeat('A'),
			"renewed in_progress 1A until=15s expires=1m55s"},
		{"the lease of the call goes before that of the acquisition", held, 5 * s, heartbeat('A', of(60*s)),
			"renewed in_progress 1A until=1m5s expires=2m45s"},
		{"the lease of an earlier call is not that of the next",
			append(held[:1:1], step{5 * s, heartbeat('A', of(6*s))}), 6 * s, heartbeat('A'), "renewed in_progress 1A until=16s expires=1m56s"},
		{"the lease ends no sooner than before", held, 5 * s, heartbeat('A', of(1*s)),
			"renewed in_progress 1A until=10s expires=1m50s"},
		{"a lapsed lease is good again", held, 20 * s, heartbeat('A'), "renewed anew in_progress 1A until=30s expires=2m10s"},
		{"a lapsed one that is held is good again", heldTight, 20 * s, heartbeat('A'),
			"renewed anew in_progress 1A until=30s stays hold"},

		{"a first checkpoint is kept, whatever its seq", held, 5 * s, heartbeat('A', checkpoint(0, "")),
			"renewed anew in_progress 1A until=15s expires=1m55s checkpoint=&{0 }"},
		{"a higher checkpoint is kept", counted, 5 * s, heartbeat('A', checkpoint(4, "four")),
			"renewed anew in_progress 1A until=15s expires=1m55s checkpoint=&{4 four}"},
		{"an equal checkpoint changes nothing", counted, 5 * s, heartbeat('A', checkpoint(3, "other")),
			"renewed in_progress 1A until=15s expires=1m55s checkpoint=&{3 three}"},
		{"a lower checkpoint changes nothing", counted, 5 * s, heartbeat('A', checkpoint(2, "two")),
			"renewed in_progress 1A until=15s expires=1m55s checkpoint=&{3 three}"},
		{"a successor counts on from the checkpoint that it was given", takenOver, 12 * s, heartbeat('B', checkpoint(3, "other")),
			"renewed in_progress 2B until=22s expires=2m2s takeover checkpoint=&{3 three}"},
		{"a successor counts afresh after forget", append(forgotten[:3:3], step{6 * s, reserve('B')}), 7 * s, heartbeat('B', checkpoint(1, "one")),
			"renewed anew in_progress 2B until=17s expires=1m57s checkpoint=&{1 one}"},

		{"retry turns to hold", held, 5 * s, heartbeat('A', turn), "renewed anew in_progress 1A until=15s stays hold"},
		{"hold stays hold", heldTight, 5 * s, heartbeat('A'), "renewed in_progress 1A until=15s stays hold"},
		{"hold again is nothing new", heldTight, 5 * s, heartbeat('A', turn), "renewed in_progress 1A until=15s stays hold"},
		{"a lapsed lease turns to hold", held, 20 * s, heartbeat('A', turn),
			"renewed anew in_progress 1A until=30s stays hold"},

		{"another token has lost", held, 5 * s, heartbeat('B', turn, checkpoint(9, "")),
			"lease_lost in_progress 1A until=10s expires=1m50s"},
		{"who was taken over has lost", takenOver, 12 * s, heartbeat('A'),
			"lease_lost in_progress 2B until=21s expires=2m1s takeover checkpoint=&{3 three}"},
		{"who released has lost", givenBack, 6 * s, heartbeat('A'), `lease_lost released 1A expires=1m45s error="busy"`},
		{"who settled has lost", plain, 6 * s, heartbeat('A'), "lease_lost completed 1A expires=1m45s"},
		{"nothing is created for who never reserved", never, 0, heartbeat('A'), "lease_lost nothing"},
		{"what expired is lost", held, 110 * s, heartbeat('A'), "lease_lost nothing"},
	})
}

// Ensures that each row of the contract about lookup is what the model says.
func TestLookup(t *testing.T) {
	check(t, []row{
		{"what was never made is absent", never, 0, lookup("f"), "not_found nothing"},
		{"what expired is absent", givenBack, 105 * s, lookup("g"), "not_found nothing"},
		{"a record is found", held, 5 * s, lookup(""), "found in_progress 1A until=10s expires=1m50s"},
		{"a record is found by its fingerprint", held, 5 * s, lookup("f"), "found in_progress 1A until=10s expires=1m50s"},
		{"a record with another fingerprint is a mismatch", held, 5 * s, lookup("g"),
			"fingerprint_mismatch in_progress 1A until=10s expires=1m50s"},
		{"a forgotten one is found by any fingerprint", forgotten, 6 * s, lookup("g"),
			`found released 1A expires=1m45s fingerprint=""`},
		{"an abandoned one says so", held, 11 * s, lookup("f"), "found abandoned 1A until=10s expires=1m50s"},
		{"an uncertain one says so, and stays", heldTight, 9000 * s, lookup("f"), "found uncertain 1A until=10s stays hold"},
		{"a settled one is found with its response", dropped, 6 * s, lookup("f"),
			"found failed 1A expires=1m45s response=&{502 [] [] true []}"},
	})
}
