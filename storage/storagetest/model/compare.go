package model

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-idempotency/reprise/storage"
)

// Differences says where the answer of a store is not what the model expected: nothing when it is. The version is not
// looked at: that takes the texts of all earlier answers, see Versions.
func (e Expectation) Differences(a storage.Answer) string {
	var out strings.Builder
	if a.Outcome != e.Outcome {
		fmt.Fprintf(&out, "outcome: the model expects %v, the store answered %v\n", e.Outcome, a.Outcome)
	}
	if diff := cmp.Diff(e.Record, ViewOf(a.Record, a.Now), sameLists); diff != "" {
		fmt.Fprintf(&out, "record: - the model's, + the store's\n%s", diff)
	}
	return out.String()
}

// sameLists says that a list without elements is no list. A body is bytes, not a list: there it makes a difference.
var sameLists = cmp.Options{
	cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
	cmp.FilterValues(func(a, b [][2]string) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
}

// Versions holds the version texts of one name against the expectations. The model does not know the texts; it knows
// when they must change, and that none comes back.
type Versions struct {
	last string
	seen map[string]bool
}

// Last gives the version that was shown last; empty when none was.
func (v *Versions) Last() string { return v.last }

// Differences says what is wrong with the version in the answer, nothing when it is as expected.
func (v *Versions) Differences(e Expectation, a storage.Answer) string {
	if a.Record == nil {
		return ""
	}
	text := a.Record.VersionText()
	switch {
	case e.NewVersion && text == v.last:
		return fmt.Sprintf("version: it must change, and is still %s\n", text)
	case e.NewVersion && v.seen[text]:
		return fmt.Sprintf("version: it must be new, and %s was there before\n", text)
	case !e.NewVersion && text != v.last:
		return fmt.Sprintf("version: it must stay %s, and is %s\n", v.last, text)
	}
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.last, v.seen[text] = text, true
	return ""
}
