package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/storage/storagetest/faultstore"
)

// Ensure that those who look take turns, and leave the store to those who work: many slow lists hold up each other and no
// reserve.
func TestListsLeaveTheStoreToOthers(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		faults := faultstore.New(s.store)
		o := &seen{}
		s = serveAs(t, faults, service.DefaultLimits(), httpapi.Config{Observer: o})
		k := s.as(t, "acme").key("k")
		var held []*faultstore.Armed
		for range 3 {
			held = append(held, faults.Arm(faultstore.Fault{Kind: faultstore.List, Effect: faultstore.Hold}))
			go k.get("/v1/keys")
			<-held[len(held)-1].Fired()
		}
		fourth := faults.Arm(faultstore.Fault{Kind: faultstore.Stats, Effect: faultstore.Hold})
		fourth.Release() // it says when the store is asked, and holds nothing
		go k.get("/v1/stats")
		s.until(t, "four look", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.began == 4 })
		live(k) // is answered while they look
		select {
		case <-fourth.Fired():
			t.Error("a fourth look was put to the store")
		default:
		}
		for _, h := range held {
			h.Release()
		}
		s.until(t, "all are answered", func() bool { return o.count("list ok") == 3 && o.count("stats ok") == 1 })
	})
}

// Ensure that large bodies take turns, so that many of them at once take no more memory than a few, and that small calls do
// not wait for them.
func TestLargeBodiesTakeTurns(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		faults := faultstore.New(s.store)
		o := &seen{}
		s = serveAs(t, faults, service.DefaultLimits(), httpapi.Config{Observer: o})
		c := s.as(t, "acme")
		k := c.key("k")
		large := `{"calls":[` + calling("lookup", k.name) + `]` + strings.Repeat(" ", 8<<20-200) + `}`
		send := func() { c.send(http.MethodPost, "/v1/keys/batch", large, nil).want(200, "") }
		var held []*faultstore.Armed
		for range 2 {
			held = append(held, faults.Arm(faultstore.Fault{Kind: faultstore.Lookup, Effect: faultstore.Hold}))
			go send()
			<-held[len(held)-1].Fired()
		}
		third := faults.Arm(faultstore.Fault{Kind: faultstore.Lookup, Effect: faultstore.Hold})
		third.Release()
		go send()
		s.until(t, "three are under way", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.began == 3 })
		live(k)
		select {
		case <-third.Fired():
			t.Error("a third large body was worked on")
		default:
		}
		for _, h := range held {
			h.Release()
		}
		s.until(t, "all are answered", func() bool { return o.count("batch ok") == 3 })
	})
}

// Ensure that those who are sent away when the service goes down get the ordinary answer, whole, and ask the store for nothing:
// thousands would do so at once.
func TestGoingDownAsksNoStore(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		faults := faultstore.New(s.store)
		s = serveAs(t, faults, service.DefaultLimits(), httpapi.Config{})
		k := s.as(t, "acme").key("k")
		live(k)
		w := s.waits(k, attempt(2))
		faults.Arm(faultstore.Fault{Kind: faultstore.Reserve, Always: true})
		s.api.Drain()
		w.want(409, "in_progress").wantAt("record.attempt", "1").wantAt("retry_after_ms", "2000")
	})
}
