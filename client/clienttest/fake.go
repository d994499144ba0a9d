package clienttest

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client"
)

// Tenant is whose keys those of [Fake.Client] are.
const Tenant = "test"

// Fake is a service in memory. Many goroutines may use it at once.
type Fake struct {
	mu      sync.Mutex
	ahead   time.Duration // of the fake's clock, before that of the process
	records map[name]*record
	swept   int           // how many records there may be before the next look for those that are over
	changed chan struct{} // closed and made anew at each change, for those who wait
	calls   int           // how many there were
	fault   func(call string, n int) Fault
}

// Fault is what happens to a call.
type Fault int

const (
	NoFault     Fault = iota
	LoseRequest       // it does not arrive: the caller gets an error of the network
	LoseAnswer        // it is done, and the caller gets an error of the network
	Outage            // the service answers that its store is out: 503 store_unavailable
)

// New makes a service without keys. It needs no end.
func New() *Fake {
	return &Fake{records: map[name]*record{}, changed: make(chan struct{})}
}

// Client is a client of the fake for [Tenant], with short pauses between repetitions. options come after what this sets.
func (f *Fake) Client(t testing.TB, options ...client.Option) *client.Client {
	t.Helper()
	return f.ClientOf(t, Tenant, options...)
}

// ClientOf is [Fake.Client] for another tenant.
func (f *Fake) ClientOf(t testing.TB, tenant string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New("http://reprise.test", append([]client.Option{
		client.HTTPClient(&http.Client{Transport: f}), client.Token(Token(tenant)), client.Tenant(tenant),
		client.Backoff(time.Millisecond, 20*time.Millisecond),
	}, options...)...)
	if err != nil {
		t.Fatalf("clienttest: %v", err)
	}
	return c
}

// Token is one that the fake takes for a tenant's.
func Token(tenant string) string {
	return "fake." + base64.RawURLEncoding.EncodeToString([]byte(tenant))
}

func tenantOf(h http.Header) (string, bool) {
	text, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer fake.")
	tenant, err := base64.RawURLEncoding.DecodeString(text)
	return string(tenant), ok && err == nil && len(tenant) > 0
}

// Advance moves the fake's clock on: leases run out, records end, and whoever waits for that is answered.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
	f.wake()
}

// Break asks fault before each call what is to happen to it: call is its name, n is 1, 2, 3 … over all calls. nil mends
// everything. fault must not call the fake.
func (f *Fake) Break(fault func(call string, n int) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Calls is how many calls there were, with those that were lost.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Record is what stands under a name of [Tenant], and whether there is anything.
func (f *Fake) Record(n client.Name) (client.Record, bool) {
	c, err := client.New("http://reprise.test", client.HTTPClient(&http.Client{Transport: unbroken{f}}), client.Token(Token(Tenant)))
	if err != nil {
		panic(err)
	}
	r, err := c.Lookup(backgroundContext, client.LookupRequest{Name: n})
	if err != nil {
		return client.Record{}, false
	}
	return *r, true
}

// Len is how many records are kept, with those that are over and not yet swept.
func (f *Fake) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.records)
}

// unbroken is the fake without faults, and without counting.
type unbroken struct{ *Fake }

func (u unbroken) RoundTrip(r *http.Request) (*http.Response, error) { return u.answer(r) }

var errNetwork = errors.New("clienttest: the connection was lost")

// RoundTrip answers a request in the goroutine that sends it.
func (f *Fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	trace := httptrace.ContextClientTrace(r.Context())
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	fault := f.next(strings.TrimPrefix(r.URL.Path, "/v1/keys/"))
	if fault == LoseRequest {
		drain(r)
		return nil, errNetwork
	}
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if fault == Outage {
		drain(r)
		w := httptest.NewRecorder()
		refusal{code: "store_unavailable", detail: "the store cannot be reached"}.write(w)
		return w.Result(), nil
	}
	answer, err := f.answer(r)
	if err == nil && fault == LoseAnswer {
		return nil, errNetwork
	}
	return answer, err
}

// next counts a call, and says what happens to it.
func (f *Fake) next(call string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fault == nil {
		return NoFault
	}
	return f.fault(call, f.calls)
}

// answer serves one request whole. One whose caller has gone meanwhile is not answered.
func (f *Fake) answer(r *http.Request) (*http.Response, error) {
	defer drain(r)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func drain(r *http.Request) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
}

// now is the fake's clock, in the microseconds of the API.
func (f *Fake) now() time.Time { return time.Now().Add(f.ahead).UTC().Truncate(time.Microsecond) }

// wake lets everybody who waits look again.
func (f *Fake) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}
