package auth

import (
	"errors"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Ensure an error shows its public half and keeps the cause for the log.
func TestErrorHasTwoHalves(t *testing.T) {
	v, _ := verifierAt(t, Config{HS256Secret: testSecret})
	_, err := v.Verify(signed(jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"exp": 1}))
	public, ok := errors.AsType[*Error](err)
	if !ok || public.Error() != "token is expired" {
		t.Fatalf("error = %v, want the public reason", err)
	}
	if !errors.Is(err, ErrUnauthenticated) || !errors.Is(err, jwt.ErrTokenExpired) {
		t.Errorf("error is not both unauthenticated and caused by jwt: %v", errors.Unwrap(err))
	}
}
