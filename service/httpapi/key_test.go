package httpapi_test

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// key is one key, as its caller sees it.
type key struct {
	caller
	name  fields // operation, subject and key
	lease string // token of the lease that was acquired last
}

// key names a key of a tenant that no other test knows.
func (c caller) key(name string) *key {
	return &key{caller: c, name: fields{"operation": "POST /v1/orders", "subject": "customer-42", "key": name}}
}

// fingerprint of the request, and that of another.
const (
	mine  = "fingerprint-1"
	other = "fingerprint-2"
)

// attempt is the id of an attempt.
func attempt(n int) fields { return fields{"attempt_id": fmt.Sprintf("attempt-%d", n)} }

func (k *key) reserve(f ...fields) *answer {
	k.t.Helper()
	all := append([]fields{k.name, {"fingerprint": mine}}, f...)
	a := k.call("reserve", all...)
	if token := a.text("lease.token"); token != "" {
		k.lease = token
	}
	return a
}

func (k *key) complete(f ...fields) *answer  { k.t.Helper(); return k.withLease("complete", f) }
func (k *key) release(f ...fields) *answer   { k.t.Helper(); return k.withLease("release", f) }
func (k *key) heartbeat(f ...fields) *answer { k.t.Helper(); return k.withLease("heartbeat", f) }

func (k *key) withLease(call string, f []fields) *answer {
	k.t.Helper()
	token := k.lease
	if token == "" {
		token = unknownToken
	}
	return k.call(call, append([]fields{k.name, {"lease_token": token}}, f...)...)
}

// unknownToken has the form of a token, and is nobody's.
const unknownToken = "00000000000000000000000000000000"

func (k *key) lookup(f ...fields) *answer {
	k.t.Helper()
	return k.call("lookup", append([]fields{k.name}, f...)...)
}

// await looks until the key is in a state, or is not there: time passes by itself, but not by a known amount.
func (k *key) await(state string) *answer {
	k.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		a := k.lookup()
		if a.what() == state {
			return a
		}
		select {
		case <-tick.C:
		case <-deadline:
			k.t.Fatalf("the key did not become %s: %d %s", state, a.status, a.raw)
		}
	}
}

// checkRecord compares what a record and a lease say twice, and what belongs to a state.
func (a *answer) checkRecord() error {
	record, ok := at(a.json, "record")
	if !ok {
		return nil
	}
	state := textAt(record, "state")
	errs := []error{a.checkLease()}
	for field, states := range fieldsOfStates {
		if _, got := at(record, field); got != slices.Contains(states, state) {
			errs = append(errs, fmt.Errorf("%s is there: %t, in state %s", field, got, state))
		}
	}
	if textAt(record, "on_lapse") != "hold" && state == "uncertain" || textAt(record, "on_lapse") == "hold" && state == "abandoned" {
		errs = append(errs, fmt.Errorf("%s under on_lapse %s", state, textAt(record, "on_lapse")))
	}
	return errors.Join(errs...)
}

// fieldsOfStates says in which states a field is there.
var fieldsOfStates = map[string][]string{
	"lease_expires_at": {"in_progress", "abandoned", "uncertain"},
	"settled_at":       {"completed", "failed"},
	"expires_at":       {"completed", "failed", "released", "abandoned"},
}

func (a *answer) checkLease() error {
	lease, ok := at(a.json, "lease")
	if !ok {
		return nil
	}
	for inLease, inRecord := range map[string]string{"fence": "fence", "attempt": "attempt", "expires_at": "lease_expires_at",
		"checkpoint.seq": "checkpoint.seq", "checkpoint.data": "checkpoint.data"} {
		if got, want := textAt(lease, inLease), textAt(a.json, "record."+inRecord); got != want {
			return fmt.Errorf("lease.%s is %q, record.%s %q", inLease, got, inRecord, want)
		}
	}
	return nil
}
