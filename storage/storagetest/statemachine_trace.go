package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-idempotency/reprise/storage"
)

// trace is what happened in a sequence. It becomes text only when somebody has to read it.
type trace []event

type event struct {
	call         storage.Call
	answer       storage.Answer
	place, group int // it was the call at this place of a group as large as that
}

// of tells what happened to one name: calls on others cannot matter. Of lookups that found the same, one after the
// other, it tells the last.
func (tr trace) of(name storage.Name) string {
	w := &writer{start: tr[0].answer.Now}
	fmt.Fprintf(w, "%q, times since %v\n", name, w.start)
	last := ""
	for _, e := range tr {
		if e.call.On() != name {
			continue
		}
		call, answer := w.callText(e.call), w.answerText(e.answer)
		if call+answer != last {
			w.WriteString(w.pending)
		}
		last = call + answer
		w.pending = fmt.Sprintf("%d/%d %s\n    %v: %s\n", e.place, e.group, call, e.answer.Now.Sub(w.start), answer)
	}
	return w.String() + w.pending
}

// writer puts calls and answers into words.
type writer struct {
	strings.Builder
	start   time.Time
	tokens  []storage.Token // in the order in which they were met, which gives them their names
	pending string          // what happened last
}

func (w *writer) callText(call storage.Call) string {
	switch c := call.(type) {
	case storage.Reserve:
		return fmt.Sprintf("reserve fingerprint=%s attempt_id=%q fresh token=%s lease=%v retention=%v on_lapse=%v holder=%q",
			c.Fingerprint, c.AttemptID, w.token(c.Token), c.Lease, c.Retention, c.OnLapse, c.Holder)
	case storage.Complete:
		return fmt.Sprintf("complete token=%s result=%v resource=%q retention=%v hash=%.4x response=%s",
			w.token(c.Token), c.Result, c.ResourceID, c.Retention, c.ResultHash, responseText(c.Response))
	case storage.Release:
		return fmt.Sprintf("release token=%s forget=%v reason=%q", w.token(c.Token), c.Forget, c.Reason)
	case storage.Heartbeat:
		return fmt.Sprintf("heartbeat token=%s lease=%v checkpoint=%v hold=%v", w.token(c.Token), c.Lease, c.Checkpoint, c.Hold)
	case storage.Lookup:
		return fmt.Sprintf("lookup fingerprint=%q", c.Fingerprint)
	case storage.Resolve:
		return fmt.Sprintf("resolve to=%v version=%s force=%v token=%s resource=%q response=%s",
			c.To, c.Version, c.Force, w.token(c.Token), c.ResourceID, responseText(c.Response))
	case storage.Expire:
		return fmt.Sprintf("expire version=%s", c.Version)
	}
	return fmt.Sprintf("%+v", call)
}

func (w *writer) answerText(a storage.Answer) string {
	if a.Err != nil {
		return a.Err.Error()
	}
	r := a.Record
	if r == nil {
		return a.Outcome.String() + ", no record"
	}
	text := fmt.Sprintf("%v, %v attempt=%d token=%s fence=%d version=%s fingerprint=%q on_lapse=%v takeover=%v lease ends %v",
		a.Outcome, r.StateAt(a.Now), r.Attempt, w.token(r.Token), r.Fence, r.VersionText(), r.Fingerprint, r.OnLapse, r.Takeover,
		r.LeaseExpiresAt.Sub(w.start))
	if end, ends := r.Expires(); ends {
		text += fmt.Sprintf(" expires %v", end.Sub(w.start))
	}
	if r.Checkpoint != nil {
		text += fmt.Sprintf(" checkpoint=%v", *r.Checkpoint)
	}
	if len(r.EarlierAttemptIDs) > 0 {
		text += fmt.Sprintf(" earlier attempts=%q", r.EarlierAttemptIDs)
	}
	if r.State.Settled() {
		text += " response=" + responseText(r.Response)
	}
	return text
}

func responseText(r *storage.Response) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("{status=%d headers=%q body=%#v body dropped=%v dropped headers=%q}",
		r.Status, r.Headers, r.Body, r.BodyDropped, r.DroppedHeaders)
}

// token gives a short name to a token.
func (w *writer) token(t storage.Token) string {
	if t == (storage.Token{}) {
		return "zero"
	}
	i := slices.Index(w.tokens, t)
	if i < 0 {
		i = len(w.tokens)
		w.tokens = append(w.tokens, t)
	}
	return fmt.Sprintf("t%d", i+1)
}

// encounters counts the outcomes of a run, to show that the sequences come around.
type encounters [storage.OutcomeVersionConflict + 1]int

func (e encounters) String() string {
	var out []string
	for o, n := range e {
		if n > 0 {
			out = append(out, fmt.Sprintf("%v %d", storage.Outcome(o), n))
		}
	}
	return strings.Join(out, ", ")
}
