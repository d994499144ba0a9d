package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxRemembered bounds the memory to some ten megabytes at the very worst
	// (each entry with the longest tenant and subject).
	maxRemembered = 10_000
	// rememberFor is short enough that removing a key from the configuration, or
	// anything else that later comes to invalidate a token, shows within a minute,
	// and long enough that a busy caller pays for one signature a minute.
	rememberFor = time.Minute
)

// tokenID stands for a token in memory, so that a dump of the process does not
// hold the tokens of the last minute.
type tokenID [sha256.Size]byte

// memory remembers verified tokens, only good ones: those who send bad ones
// would otherwise decide what is kept.
//
// It has two generations of half its size. When the young one is full it
// becomes the old one and the old one is dropped: eviction costs nothing per
// call, and what is lost by it is one verification.
type memory struct {
	half int

	mu    sync.RWMutex
	young map[tokenID]memo
	old   map[tokenID]memo
}

// memo holds from from until until, its end excluded. The beginning matters when
// the clock is set back: what was good later need not be good now (nbf).
type memo struct {
	caller      Principal
	from, until time.Time
}

func newMemory(size int) *memory {
	return &memory{half: max(1, size/2), young: map[tokenID]memo{}}
}

// recall gives the caller of a token that was verified in the last minute.
func (m *memory) recall(id tokenID, now time.Time) (Principal, bool) {
	m.mu.RLock()
	found, ok := m.young[id]
	if !ok {
		found, ok = m.old[id]
	}
	m.mu.RUnlock()
	if !ok || now.Before(found.from) || !now.Before(found.until) {
		return Principal{}, false
	}
	return found.caller, true
}

// keep remembers a token that was verified at now and is good until end.
func (m *memory) keep(id tokenID, caller Principal, now, end time.Time) {
	until := now.Add(rememberFor)
	if end.Before(until) {
		until = end
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, again := m.young[id]; !again && len(m.young) >= m.half {
		m.old, m.young = m.young, make(map[tokenID]memo, m.half)
	}
	m.young[id] = memo{caller: caller, from: now, until: until}
}
