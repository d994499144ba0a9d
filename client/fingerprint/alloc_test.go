//go:build !race

package fingerprint

import "testing"

// An ordinary request costs one allocation, the text that is returned. (Under
// the race detector sync.Pool forgets at random, and the number means nothing.)
func TestAllocations(t *testing.T) {
	r := Request{Method: "POST", Target: "/v1/orders", ContentType: "application/json; charset=utf-8", Body: order1KiB()}
	if got := testing.AllocsPerRun(100, func() { Of(r) }); got > 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}
