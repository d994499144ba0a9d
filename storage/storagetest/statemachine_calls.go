package storagetest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
	"github.com/reprise-idempotency/reprise/storage/storagetest/model"
)

// recipe is what chance says of a call: dice, thrown before anything is known, so that a seed throws the same ones
// again however the clock ran. What they mean depends on what happened to the name.
type recipe struct {
	On, Name, Kind, Repeat                                uint8
	Token, Attempt, Offered                               uint8
	Fingerprint, Lease, Retention, Hold, Holder           uint8
	Result, Response, Resource, Reason, Forget, Seq, Data uint8
	To, Version, Force                                    uint8
}

// known is what may be known of a name before a call on it is made.
type known struct {
	view    *model.View // nil: it is absent
	version string      // the one that was shown last
}

// pick is one of the choices. A choice that occurs more often is picked more often.
func pick[T any](die uint8, choices ...T) T { return choices[int(die)%len(choices)] }

// pickLast is one of the last choices, if there are any.
func pickLast[T any](die uint8, choices []T) (choice T, ok bool) {
	if len(choices) == 0 {
		return choice, false
	}
	return choices[len(choices)-1-int(die)%len(choices)], true
}

// cook makes calls of recipes: mostly on one name at a time, so that its life goes far, and mostly with what was used
// before, so that repeats, strays and stale holders are as common as in a bad night.
type cook struct {
	names []storage.Name
	focus storage.Name
	sent  map[storage.Name]*sentBefore
	run   int
	count int // of tokens and attempt ids made
}

// sentBefore is what calls on one name have carried.
type sentBefore struct {
	tokens   []storage.Token // as reserve offered them, acquired or not
	attempts []string
	versions []string // that operators looked at
	calls    []storage.Call
}

// newCook has two tenants, operations, subjects and keys that are easily taken for one another.
func newCook(run int) *cook {
	k := &cook{run: run, sent: map[storage.Name]*sentBefore{}}
	for _, tenant := range []string{"acme", "ACME"} {
		for _, operation := range []string{"a/b", "a%2Fb"} {
			for _, subject := range []string{"", "ы"} {
				for _, key := range []string{"key", "Key"} {
					name := storage.Name{Tenant: fmt.Sprintf("%s-%d", tenant, run), Operation: operation, Subject: subject, Key: key}
					k.names = append(k.names, name)
					k.sent[name] = &sentBefore{}
				}
			}
		}
	}
	k.focus = k.names[0]
	return k
}

// tenants are those whose names the calls are on.
func (k *cook) tenants() (tenants []string) {
	for _, n := range k.names {
		if !slices.Contains(tenants, n.Tenant) {
			tenants = append(tenants, n.Tenant)
		}
	}
	return tenants
}

// call makes a call. look shows what is known of a name, so that a call can be right on purpose.
func (k *cook) call(r recipe, look func(storage.Name) known) storage.Call {
	name := pick(r.Name, k.names...)
	switch v := look(k.focus).view; {
	case pick(r.On, 0, 0, 0, 0, 0, 0, 0, 1) == 1: // a call on another name
	case v != nil && v.State.Settled() && pick(r.Repeat, 0, 0, 0, 0, 1) == 1: // little happens here any more
		k.focus = name
	default:
		name = k.focus
	}
	now := look(name)
	if now.view == nil {
		now.view = &model.View{}
	}
	c := k.callOn(r, name, now)
	k.sent[name].calls = append(k.sent[name].calls, c)
	return c
}

func (k *cook) callOn(r recipe, name storage.Name, now known) storage.Call {
	v := now.view
	switch pick(r.Kind, kinds(v)...) {
	case "reserve":
		return k.reserve(r, name, v)
	case "complete":
		return k.complete(r, name, v)
	case "release":
		return storage.Release{Name: name, Token: k.token(r, name, v), Forget: pick(r.Forget, false, false, true),
			Reason: pick(r.Reason, "", "busy", "ы: \"100%\"\n")}
	case "heartbeat":
		return storage.Heartbeat{Name: name, Token: k.token(r, name, v), Lease: pick(r.Lease, 0, span(r.Lease, time.Hour)),
			Checkpoint: k.checkpoint(r, v), Hold: pick(r.Hold, false, false, false, false, true)}
	case "resolve":
		return k.resolve(r, name, now.version)
	case "expire":
		return storage.Expire{Name: name, Version: k.version(r, name, now.version), By: k.operator(r)}
	case "repeat":
		if c, ok := pickLast(r.Repeat, k.sent[name].calls); ok {
			return k.again(c)
		}
	}
	return storage.Lookup{Name: name, Fingerprint: pick(r.Fingerprint, "", "f", "g")}
}

// kinds are the calls that move a record on from where it is, and some of the others.
func kinds(v *model.View) []string {
	all := []string{"reserve", "complete", "release", "heartbeat", "lookup", "repeat", "resolve", "expire"}
	switch v.State {
	case storage.InProgress:
		return append(all, "release", "release", "release", "heartbeat", "heartbeat", "reserve")
	case storage.Abandoned, storage.Released:
		return append(all, "reserve", "reserve", "reserve", "reserve", "reserve", "repeat")
	case storage.Uncertain:
		return append(all, "reserve", "reserve", "release", "resolve", "resolve")
	case storage.Completed, storage.Failed:
		return append(all, "reserve", "complete", "repeat", "expire", "heartbeat", "release")
	}
	return append(all, "reserve", "reserve", "reserve", "reserve", "reserve", "reserve")
}

// again is a call that was made before. A reserve comes again with a fresh token, and an operator's call as a new act, as
// the service sends them.
func (k *cook) again(c storage.Call) storage.Call {
	switch c := c.(type) {
	case storage.Reserve:
		c.Token = k.freshToken(k.sent[c.Name])
		return c
	case storage.Resolve:
		c.Token, c.By.ActID = k.freshToken(&sentBefore{}), actID()
		return c
	case storage.Expire:
		c.By.ActID = actID()
		return c
	}
	return c
}

func (k *cook) reserve(r recipe, name storage.Name, v *model.View) storage.Reserve {
	sent := k.sent[name]
	id := k.attemptID(r, sent, v)
	if id != "" {
		sent.attempts = append(sent.attempts, id)
	}
	return storage.Reserve{
		Name:        name,
		Fingerprint: pick(r.Fingerprint, "f", "f", "f", "f", "f", "f", "g"),
		AttemptID:   id,
		Token:       k.freshToken(sent),
		Lease:       span(r.Lease, time.Hour),
		Retention:   span(r.Retention, 24*time.Hour),
		OnLapse:     pick(r.Hold, storage.Retry, storage.Retry, storage.Retry, storage.Hold),
		Holder:      pick(r.Holder, "", "worker-1", "работник 2"),
	}
}

// attemptID is most often fresh; else that of the latest acquisition, that of one before it, one that was used at any
// time, or none.
func (k *cook) attemptID(r recipe, sent *sentBefore, v *model.View) string {
	switch pick(r.Attempt, "fresh", "fresh", "fresh", "fresh", "latest", "earlier", "used", "none") {
	case "none":
		return ""
	case "latest":
		return v.AttemptID
	case "earlier":
		if id, ok := pickLast(r.Offered, v.EarlierAttemptIDs); ok {
			return id
		}
	case "used":
		if id, ok := pickLast(r.Offered, sent.attempts); ok {
			return id
		}
	}
	k.count++
	return fmt.Sprintf("attempt-%d", k.count)
}

// token is the one that is right as far as the model knows yet, or one that most likely is not.
func (k *cook) token(r recipe, name storage.Name, v *model.View) storage.Token {
	switch pick(r.Token, "right", "right", "right", "right", "right", "just offered", "just offered",
		"offered", "other name's", "zero", "made up") {
	case "right":
		return v.Token
	case "just offered":
		if t, ok := pickLast(0, k.sent[name].tokens); ok {
			return t
		}
	case "offered":
		if t, ok := pickLast(r.Offered, k.sent[name].tokens); ok {
			return t
		}
	case "other name's":
		if t, ok := pickLast(0, k.sent[pick(r.Offered, k.names...)].tokens); ok {
			return t
		}
	case "zero":
		return storage.Token{}
	}
	return k.freshToken(&sentBefore{})
}

// freshToken is one that no sequence had before.
func (k *cook) freshToken(sent *sentBefore) (t storage.Token) {
	k.count++
	binary.BigEndian.PutUint64(t[:8], uint64(k.run))
	binary.BigEndian.PutUint64(t[8:], uint64(k.count))
	sent.tokens = append(sent.tokens, t)
	return t
}

// span is a time that outlasts the test, or one that is soon over.
func span(die uint8, long time.Duration) time.Duration {
	return pick(die, long, long, long, 2*time.Millisecond, long, 1*time.Millisecond, 5*time.Millisecond)
}

// checkpoint is none, or one that is a little lower or higher than the last, or as high.
func (k *cook) checkpoint(r recipe, v *model.View) *storage.Checkpoint {
	var last int64
	if v.Checkpoint != nil {
		last = v.Checkpoint.Seq
	}
	const none = 99
	step := pick[int64](r.Seq, none, 1, 0, 2, -1, none)
	if step == none {
		return nil
	}
	return &storage.Checkpoint{Seq: max(0, last+step), Data: pick(r.Data, "", "row 7", "ы\n{\"a\": 1}")}
}

func (k *cook) complete(r recipe, name storage.Name, v *model.View) storage.Complete {
	c := storage.Complete{
		Name:       name,
		Token:      k.token(r, name, v),
		Result:     pick(r.Result, storage.Completed, storage.Completed, storage.Failed),
		Response:   pick(r.Response, responses...),
		Retention:  pick(r.Lease, 0, span(r.Retention, 24*time.Hour)),
		ResourceID: pick(r.Resource, "", "order-7", "ы/100%"),
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %q %d", c.Result, c.ResourceID, int(r.Response)%len(responses)))
	c.ResultHash = hash[:]
	return c
}

func (k *cook) resolve(r recipe, name storage.Name, version string) storage.Resolve {
	c := storage.Resolve{
		Name:    name,
		To:      pick(r.To, storage.Completed, storage.Released, storage.Failed, storage.Released),
		Version: k.version(r, name, version),
		Force:   pick(r.Force, false, true, true),
		Token:   k.freshToken(&sentBefore{}), // nobody's
		By:      k.operator(r),
	}
	if c.To != storage.Released {
		c.Response = pick(r.Response, responses...)
		c.ResourceID = pick(r.Resource, "", "order-7", "ы/100%")
	}
	return c
}

// version is the one that was shown last, or one that an operator saw earlier, or none that ever was.
func (k *cook) version(r recipe, name storage.Name, last string) string {
	sent := k.sent[name]
	sent.versions = append(sent.versions, last)
	switch pick(r.Version, "last", "last", "last", "last", "earlier", "made up") {
	case "earlier":
		if v, ok := pickLast(r.Offered, sent.versions); ok {
			return v
		}
	case "made up":
		return last + "0"
	}
	return last
}

func (k *cook) operator(r recipe) storage.Operator {
	return storage.Operator{ActID: actID(), Actor: "ops", Address: "192.0.2.7", RequestID: fmt.Sprint("request-", k.count),
		Reason: pick(r.Reason, "the bank says so", "ы: \"100%\"\n")}
}

// responses are the ways in which a response can be little, much or strange.
var responses = []*storage.Response{
	nil,
	{Status: 200},
	{Status: 201, Body: []byte{}},
	{Status: 201, Headers: [][2]string{{"Location", "/v1/orders/7"}, {"X-A", "1"}, {"X-A", "2"}, {"x-a", ""}},
		Body: []byte(`{"id":7}`)},
	{Status: 422, Body: []byte{0, 0xff, 0xfe, '\'', '\\', 0}},
	{Status: 200, Headers: [][2]string{{"X-B", "ы \" \\ {},"}}, BodyDropped: true},
	{Status: 204, DroppedHeaders: []string{"X-Big", "X-Bad"}},
	{},
}
