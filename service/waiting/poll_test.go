package waiting_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-idempotency/reprise/service/waiting"
	"github.com/reprise-idempotency/reprise/storage"
)

// board is a store in memory that only knows who is held: for what is about time alone.
type board struct {
	mu    sync.Mutex
	free  map[storage.Name]bool
	takes time.Duration // a look
	looks []look
	apply func(calls []storage.Call) // is told of every group, before it is answered
}

type look struct {
	began time.Time
	names []storage.Name
}

func (b *board) Held(_ context.Context, names []storage.Name) ([]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = append(b.looks, look{time.Now(), names})
	time.Sleep(b.takes)
	held := make([]bool, len(names))
	for i, n := range names {
		held[i] = !b.free[n]
	}
	return held, nil
}

func (b *board) Apply(_ context.Context, calls []storage.Call) []storage.Answer {
	if b.apply != nil {
		b.apply(calls)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	answers := make([]storage.Answer, len(calls))
	for i, c := range calls {
		if answers[i].Outcome = storage.OutcomeInProgress; b.free[c.On()] {
			answers[i].Outcome = storage.OutcomeReplay
		}
	}
	return answers
}

func (b *board) seen() []look {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]look(nil), b.looks...)
}

func (b *board) end(names ...storage.Name) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range names {
		b.free[n] = true
	}
}

// inTime runs a test under a clock of its own, with a room over a board. At its end the room is closed: whatever of it still
// runs fails the test.
func inTime(t *testing.T, test func(t *testing.T, b *board, p *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &board{free: map[storage.Name]bool{}}
		p := &process{t: t, told: &told{}}
		p.room = waiting.New(b, roomy, p.told)
		test(t, b, p)
		p.room.Close()
		synctest.Wait()
		if running := roomsRunning(); running != "" {
			t.Errorf("after the room was closed there still runs\n%s", running)
		}
	})
}

// roomsRunning gives the goroutines that are in a method of a room.
func roomsRunning() string {
	all := make([]byte, 10<<20)
	var found []string
	for g := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(g, "waiting.(*Room).") {
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

// many lets one caller wait for each of n names.
func (p *process) many(n int, atMost time.Duration) (names []storage.Name, all []*waiter) {
	for i := range n {
		names = append(names, name(key(i)))
		all = append(all, p.start(context.Background(), reserve(names[i]), atMost))
	}
	synctest.Wait()
	return names, all
}

// Ensure that a room looks for what it waits for often enough that nobody notices, and at most twenty times a second, at
// uneven intervals, so that many processes do not ask in step.
func TestPollsAtMostTwentyASecond(t *testing.T) {
	inTime(t, func(t *testing.T, b *board, p *process) {
		p.many(3, long)
		time.Sleep(time.Minute)
		synctest.Wait()
		polls, seen := p.told.polls, map[time.Duration]bool{}
		if len(polls) < 600 || len(polls) > 1200 {
			t.Fatalf("%d looks in a minute", len(polls))
		}
		for i := 1; i < len(polls); i++ {
			gap := polls[i].at.Sub(polls[i-1].at)
			if seen[gap] = true; gap < 50*time.Millisecond || gap > 100*time.Millisecond {
				t.Errorf("look %d came %s after the one before", i, gap)
			}
			if polls[i].names != 3 || polls[i].err != nil {
				t.Errorf("look %d was for %d names: %v", i, polls[i].names, polls[i].err)
			}
		}
		if len(seen) < 10 {
			t.Errorf("the looks have only %d different intervals", len(seen))
		}
	})
}

// Ensure that a store which answers slowly is asked seldom: looks take at most half of the time.
func TestSlowLooksAreSeldom(t *testing.T) {
	inTime(t, func(t *testing.T, b *board, p *process) {
		b.takes = time.Second
		p.many(1, long)
		time.Sleep(time.Minute)
		synctest.Wait()
		looks := b.seen()
		if len(looks) < 10 {
			t.Fatalf("%d looks in a minute", len(looks))
		}
		for i := 1; i < len(looks); i++ {
			if gap := looks[i].began.Sub(looks[i-1].began); gap < 2*time.Second {
				t.Errorf("look %d began %s after the one before", i, gap)
			}
		}
		for i, poll := range p.told.polls {
			if poll.took != time.Second {
				t.Errorf("look %d is said to have taken %s", i, poll.took)
			}
		}
	})
}

// Ensure that all names that are waited for are asked for in one query, however many they are, each once however many wait
// for it.
func TestOneLookForAllNames(t *testing.T) {
	inTime(t, func(t *testing.T, b *board, p *process) {
		const count = 5000
		names, all := p.many(count, long)
		_, more := p.many(count/10, long)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		looks := b.seen()
		if len(looks) == 0 {
			t.Fatal("nobody looked")
		}
		asked := map[storage.Name]bool{}
		for _, n := range looks[0].names {
			asked[n] = true
		}
		if len(looks[0].names) != count || len(asked) != count {
			t.Fatalf("the look asked for %d names, %d of them different; want %d", len(looks[0].names), len(asked), count)
		}
		b.end(names...)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if n := len(over(append(all, more...))); n != len(all)+len(more) {
			t.Errorf("%d of %d were answered after one more look", n, len(all)+len(more))
		}
	})
}

// Ensure that nothing looks, and nothing runs, while nobody waits, and that the looks begin anew with the next one who does.
func TestNobodyWaitsNobodyLooks(t *testing.T) {
	inTime(t, func(t *testing.T, b *board, p *process) {
		for round := range 3 {
			before := len(b.seen())
			p.many(2, time.Second)
			time.Sleep(time.Second + 100*time.Millisecond)
			synctest.Wait()
			after := len(b.seen())
			if after == before || p.room.Waiters() != 0 {
				t.Fatalf("round %d: %d looks, and %d wait", round, after-before, p.room.Waiters())
			}
			if running := roomsRunning(); running != "" {
				t.Errorf("round %d: while nobody waits there runs\n%s", round, running)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := len(b.seen()); n != after {
				t.Errorf("round %d: %d looks while nobody waited", round, n-after)
			}
		}
	})
}

// Ensure that a wait lasts as long as was asked for, to the millisecond, whatever was looked for meanwhile.
func TestWaitLastsAsLongAsAsked(t *testing.T) {
	inTime(t, func(t *testing.T, b *board, p *process) {
		for _, d := range []time.Duration{time.Millisecond, time.Second, 20 * time.Second} {
			began := time.Now()
			p.start(context.Background(), reserve(name("key")), d).over()
			if got := time.Since(began); got != d {
				t.Errorf("waited %s, want %s", got, d)
			}
		}
		if got := fmt.Sprint(p.told.after); got != "[1ms 1s 20s]" {
			t.Errorf("told are waits of %s", got)
		}
	})
}

// Ensure that a crowd which is woken at once is put to the store in groups of a bounded number of names, few at the same
// time, so that connections are left to others; and that everybody is answered.
func TestCrowdsAreAnsweredInGroups(t *testing.T) {
	inTime(t, func(t *testing.T, b *board, p *process) {
		var mu sync.Mutex
		aside, most, largest := 0, 0, 0
		b.apply = func(calls []storage.Call) {
			mu.Lock()
			aside++
			most, largest = max(most, aside), max(largest, len(calls))
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			aside--
			mu.Unlock()
		}
		names, all := p.many(1000, long)
		b.end(names...)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(over(all)); n != len(all) {
			t.Errorf("%d of %d were answered", n, len(all))
		}
		if largest > 64 || most > 4 || most < 2 {
			t.Errorf("groups of up to %d names, up to %d at the same time; want 64 and 2 to 4", largest, most)
		}
	})
}

// Ensure that closing a room in which many wait, look and are being answered leaves nothing running, and waits for nothing
// but what the store was asked already.
func TestCloseLeavesNothingRunning(t *testing.T) {
	for id, prepare := range map[string]func(b *board, p *process){
		"nobody was there": func(*board, *process) {},
		"many wait":        func(_ *board, p *process) { p.many(100, long) },
		"a look is under way": func(b *board, p *process) {
			b.takes = time.Minute
			p.many(100, long)
			time.Sleep(time.Second)
		},
		"many are being answered": func(b *board, p *process) {
			b.apply = func([]storage.Call) { time.Sleep(time.Minute) }
			names, _ := p.many(1000, long)
			b.end(names...)
			time.Sleep(time.Second)
		},
	} {
		t.Run(id, func(t *testing.T) {
			inTime(t, func(t *testing.T, b *board, p *process) {
				prepare(b, p)
				began := time.Now()
				p.room.Close()
				if took := time.Since(began); took > time.Minute {
					t.Errorf("closing took %s", took)
				}
			})
		})
	}
}
