package auth

import (
	"errors"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Ensure no text, as a token or, well signed, inside of one, makes Verify panic,
// fail in another way than ErrUnauthenticated, or accept a tenant it must not.
func FuzzVerify(f *testing.F) {
	header := `{"alg":"HS256"}`
	f.Add(signed(jwt.SigningMethodHS256, testSecret, nil), header, `{"tenant_id":"acme","exp":1782912600}`)
	f.Add("a.b.c", `{"alg":"none"}`, `{"tenant_id":"\ud800","exp":1e300,"scp":["ops"]}`)
	f.Add("", `{"crit":[]}`, `{"tenant_id":"a","tenant_id":"b","exp":9e9,"aud":[],"scope":"ops"}`)
	f.Add("..", header, `{"exp":253402300799,"tenant_id":"\\\u0000","x":[{"y":"\uD83D\uDE00"}]}`)
	v, _ := verifierAt(f, Config{HS256Secret: testSecret})
	f.Fuzz(func(t *testing.T, token, header, payload string) {
		tokens := []string{token, hs256Text(payload), signedText(jwt.SigningMethodHS256, testSecret, header, payload)}
		for _, token := range tokens {
			caller, err := v.Verify(token)
			again, errAgain := v.Verify(token)
			if again != caller || (err == nil) != (errAgain == nil) {
				t.Fatalf("first %+v, %v; then %+v, %v", caller, err, again, errAgain)
			}
			switch {
			case err != nil && (!errors.Is(err, ErrUnauthenticated) || caller != Principal{}):
				t.Fatalf("Verify = %+v, %v", caller, err)
			case err == nil && (CheckTenant(caller.Tenant()) != nil || !caller.ExpiresAt().After(noon.Add(-30*time.Second))):
				t.Fatalf("accepted %+v", caller)
			}
		}
	})
}
