package service

import (
	"math"
	"testing"
)

// Ensure that a made-up cursor whose time no store has is refused, and not put to the store.
func TestCursorsOfNoTime(t *testing.T) {
	for _, micro := range []int64{-1, math.MinInt64, math.MaxInt64, maxMicro + 1} {
		made := cursor{Filters: "f", Micro: micro}.String()
		if c, err := parseCursor("f", &made); err == nil {
			t.Errorf("%d: got %v, want a refusal", micro, c)
		}
	}
	made := cursor{Filters: "f", Micro: maxMicro}.String()
	if _, err := parseCursor("f", &made); err != nil {
		t.Errorf("the last instant: got %v", err)
	}
}
