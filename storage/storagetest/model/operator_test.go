package model

import (
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// resolve is an operator's, who saw the latest version: in these tests all versions have the same, empty, text.
func resolve(to storage.State, change ...func(*storage.Resolve)) storage.Call {
	c := storage.Resolve{Name: name, To: to, Token: token('O'), By: storage.Operator{Reason: "looked"}}
	if to != storage.Released {
		c.Response, c.ResourceID = &storage.Response{Status: 207}, "by hand"
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func force(c *storage.Resolve) { c.Force = true }
func stale(c *storage.Resolve) { c.Version = "stale" }

func expire(version string) storage.Call {
	return storage.Expire{Name: name, Version: version, By: storage.Operator{Reason: "looked"}}
}

// What rows about operators are given besides.
var (
	doneByHand     = []step{{0, reserve('A', hold)}, {20 * s, resolve(storage.Completed)}}
	releasedByHand = []step{{0, reserve('A')}, {5 * s, resolve(storage.Released, force)}}
	ended          = append(done[:2:2], step{6 * s, expire("")})
)

// Ensure that each row of the contract about resolve is what the model says.
func TestResolve(t *testing.T) {
	check(t, []row{
		{"what was never made is absent", never, 0, resolve(storage.Failed, force), "not_found nothing"},
		{"what expired is absent, whatever the version", givenBack, 105 * s, resolve(storage.Failed, stale), "not_found nothing"},
		{"another version is a conflict, while live", held, 1 * s, resolve(storage.Failed, stale, force),
			"version_conflict in_progress 1A until=10s expires=1m50s"},
		{"another version is a conflict, when settled", plain, 6 * s, resolve(storage.Failed, stale), "version_conflict completed 1A expires=1m45s"},
		{"what is settled stays", plain, 6 * s, resolve(storage.Failed, force), "already_completed completed 1A expires=1m45s"},
		{"what is released stays", givenBack, 6 * s, resolve(storage.Failed, force), `already_completed released 1A expires=1m45s error="busy"`},
		{"a live lease is busy", held, 1 * s, resolve(storage.Failed), "in_progress in_progress 1A until=10s expires=1m50s"},
		{"a live lease yields to force", held, 1 * s, resolve(storage.Failed, force),
			`resolved anew failed 1A expires=1m41s resource="by hand" response=&{207 [] [] false []}`},
		{"an abandoned record is settled", held, 20 * s, resolve(storage.Completed),
			`resolved anew completed 1A expires=2m0s resource="by hand" response=&{207 [] [] false []}`},
		{"an uncertain record is settled", heldTight, 2000 * s, resolve(storage.Failed),
			`resolved anew failed 1A expires=35m0s hold resource="by hand" response=&{207 [] [] false []}`},
		{"an uncertain record is released, with the operator's reason", heldTight, 20 * s, resolve(storage.Released),
			`resolved anew released 1O expires=2m0s hold error="looked"`},
		{"progress stays", takenOver[:2], 20 * s, resolve(storage.Released),
			`resolved anew released 1O expires=2m0s checkpoint=&{3 three} error="looked"`},
	})
}

// Ensure that the model knows what a resolution means to the holder, to its duplicates and to others.
func TestAfterAResolution(t *testing.T) {
	byHand := `completed 1A expires=2m0s hold resource="by hand" response=&{207 [] [] false []}`
	check(t, []row{
		{"the holder's complete is refused", doneByHand, 21 * s, complete('A', "r"), "already_completed " + byHand},
		{"also one with the operator's result", doneByHand, 21 * s, storage.Complete{Name: name, Token: token('A'), Result: storage.Completed,
			Response: &storage.Response{Status: 207}, ResourceID: "by hand"}, "already_completed " + byHand},
		{"the holder's release is refused", doneByHand, 21 * s, release('A', "late"), "already_completed " + byHand},
		{"the holder's lease is lost", doneByHand, 21 * s, heartbeat('A'), "lease_lost " + byHand},
		{"the operator's response is replayed", doneByHand, 21 * s, reserve('B'), "replay " + byHand},

		{"after a release, the holder's complete is lost", releasedByHand, 6 * s, complete('A', "r"), `lease_lost released 1O expires=1m45s error="looked"`},
		{"after a release, the holder's release is lost", releasedByHand, 6 * s, release('A', ""), `lease_lost released 1O expires=1m45s error="looked"`},
		{"after a release, the holder's lease is lost", releasedByHand, 6 * s, heartbeat('A'), `lease_lost released 1O expires=1m45s error="looked"`},
		{"after a release, a stray duplicate is lost", releasedByHand, 6 * s, reserve('A'), `lease_lost released 1O expires=1m45s error="looked"`},
		{"after a release, another acquires", releasedByHand, 6 * s, reserve('B'), `acquired anew in_progress 2B until=16s expires=1m56s error="looked"`},
	})
}

// Ensure that each row of the contract about expire is what the model says.
func TestExpire(t *testing.T) {
	check(t, []row{
		{"what was never made is absent", never, 0, expire(""), "not_found nothing"},
		{"another version is a conflict", plain, 6 * s, expire("stale"), "version_conflict completed 1A expires=1m45s"},
		{"a live one is in progress", held, 1 * s, expire(""), "in_progress in_progress 1A until=10s expires=1m50s"},
		{"an abandoned one is in progress", held, 20 * s, expire(""), "in_progress abandoned 1A until=10s expires=1m50s"},
		{"an uncertain one is in progress", heldTight, 20 * s, expire(""), "in_progress uncertain 1A until=10s stays hold"},
		{"a settled one ends", plain, 6 * s, expire(""), "expired anew completed 1A expires=6s"},
		{"a released one ends", givenBack, 6 * s, expire(""), `expired anew released 1A expires=6s error="busy"`},
		{"what was ended is absent at once", ended, 6 * s, lookup("f"), "not_found nothing"},
		{"what was ended cannot be ended", ended, 6 * s, expire(""), "not_found nothing"},
		{"what was ended belongs to nobody", ended, 7 * s, complete('A', "r"), "lease_lost nothing"},
		{"what was ended begins anew", ended, 7 * s, reserve('B', fingerprint("g")),
			`acquired anew in_progress 1B until=17s expires=1m57s fingerprint="g"`},
	})
}
