package auth

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func remembered(v *Verifier, token string) bool {
	_, ok := v.memory.recall(sha256.Sum256([]byte(token)), v.now())
	return ok
}

// Ensure a verified token is remembered for a minute and not a moment longer, and
// that the answer from memory is the same.
func TestRememberForAMinute(t *testing.T) {
	v, clock := verifierAt(t, Config{HS256Secret: testSecret})
	token := signed(jwt.SigningMethodHS256, testSecret, nil)
	first := accepted(t, v, token)
	clock.set(noon.Add(time.Minute - 1))
	if !remembered(v, token) {
		t.Fatal("forgotten within the minute")
	}
	if again := accepted(t, v, token); again != first {
		t.Errorf("from memory = %+v, want %+v", again, first)
	}
	clock.set(noon.Add(time.Minute))
	if remembered(v, token) {
		t.Error("remembered after a minute; looking it up must not prolong it")
	}
	accepted(t, v, token)
}

// Ensure memory never outlives exp plus leeway, to the second.
func TestRememberNotPastExpiry(t *testing.T) {
	v, clock := verifierAt(t, Config{HS256Secret: testSecret, Leeway: 2 * time.Second})
	token := signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"exp": noon.Add(10 * time.Second).Unix()})
	accepted(t, v, token)
	clock.set(noon.Add(12*time.Second - 1))
	if !remembered(v, token) {
		t.Error("forgotten within the leeway")
	}
	accepted(t, v, token)
	clock.set(noon.Add(12 * time.Second))
	refused(t, v, token, "token is expired")
}

// Ensure nbf holds for a remembered token too when the clock is set back.
func TestRememberAndClockSetBack(t *testing.T) {
	v, clock := verifierAt(t, Config{HS256Secret: testSecret})
	token := signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"nbf": noon.Unix(), "iat": absent})
	accepted(t, v, token)
	clock.set(noon.Add(-31 * time.Second))
	refused(t, v, token, "token is not valid yet")
	clock.set(noon.Add(-30 * time.Second))
	accepted(t, v, token)
}

// Ensure refused tokens are not remembered, nor does a remembered one help another
// with the same claims.
func TestRememberOnlyGoodTokens(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	good := signed(jwt.SigningMethodHS256, testSecret, nil)
	accepted(t, v, good)
	forged := signed(jwt.SigningMethodHS256, make([]byte, 32), nil)
	for range 3 {
		refused(t, v, forged, badSignature)
	}
	if n := len(v.memory.young) + len(v.memory.old); n != 1 {
		t.Errorf("%d tokens remembered, want 1", n)
	}
}

// Ensure memory is bounded however many tokens come, keeps the latest, and lets a
// forgotten token in again.
func TestRememberIsBounded(t *testing.T) {
	m := newMemory(100)
	id := func(i int) tokenID { return sha256.Sum256([]byte{byte(i), byte(i >> 8)}) }
	for i := range 1025 {
		m.keep(id(i), Principal{tenant: fmt.Sprint(i)}, noon, noon.Add(time.Hour))
		m.keep(id(i), Principal{tenant: fmt.Sprint(i)}, noon, noon.Add(time.Hour))
		if n := len(m.young) + len(m.old); n > 100 {
			t.Fatalf("%d tokens in a memory of 100", n)
		}
	}
	for i := 975; i < 1025; i++ {
		if caller, ok := m.recall(id(i), noon); !ok || caller.tenant != fmt.Sprint(i) {
			t.Fatalf("token %d: %+v, %t; the latest half must be there", i, caller, ok)
		}
	}
	if _, ok := m.recall(id(0), noon); ok {
		t.Error("the first of 1025 tokens is still there")
	}
}

// Ensure many callers at once each get their own tenant, while memory overflows
// and time passes (for the race detector as much as for the answer).
func TestRememberManyAtOnce(t *testing.T) {
	c := &clock{t: noon}
	v := must(newVerifier(Config{HS256Secret: testSecret}, c.now, 8))
	tokens := make([]string, 20)
	for i := range tokens {
		tokens[i] = signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"tenant_id": fmt.Sprint("tenant-", i)})
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 300 {
				i := (n*7 + g) % len(tokens)
				caller, err := v.Verify(tokens[i])
				if want := fmt.Sprint("tenant-", i); err != nil || caller.Tenant() != want {
					t.Errorf("tenant = %q, %v; want %q", caller.Tenant(), err, want)
					return
				}
				c.set(noon.Add(time.Duration(n) * time.Second))
			}
		})
	}
	wg.Wait()
}
