package httpapi_test

import (
	"encoding/json"
	"net/http"
)

// resolve is an operator's word on the key as it stands: that the work was done, if nothing else is said.
func (k *key) resolve(f ...fields) *answer {
	k.t.Helper()
	return k.act("resolve", append([]fields{k.standing(), {"to": "completed"}}, f...)...)
}

// expire ends the key as it stands.
func (k *key) expire(f ...fields) *answer {
	k.t.Helper()
	return k.act("expire", append([]fields{k.standing()}, f...)...)
}

// standing has the version of the key as it is now.
func (k *key) standing() fields {
	k.t.Helper()
	version := k.lookup().text("record.version")
	if version == "" {
		version = "none"
	}
	return fields{"version": version}
}

// why is the reason that operators give.
const why = "looked into the orders, ticket 4711"

// act sends an operator's call.
func (k *key) act(call string, f ...fields) *answer {
	k.t.Helper()
	body := must(json.Marshal(merged(append([]fields{k.name, {"reason": why}}, f...)...)))
	return k.send(http.MethodPost, "/v1/admin/keys/"+call, string(body), nil)
}

func resolves(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.resolve(f...) }
}

func expires(f ...fields) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return k.expire(f...) }
}

// refusedAct wants a call of an operator to change nothing.
func refusedAct(when func(k *key) *answer) func(k *key) *answer {
	return func(k *key) *answer { k.t.Helper(); return unchanged(k, func() *answer { return when(k) }) }
}

// by gives the same key in the hands of another caller.
func (k *key) by(c caller) *key {
	c.t = k.t
	return &key{caller: c, name: k.name, lease: k.lease}
}
