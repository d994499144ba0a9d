package auth_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// A development setup: the same configuration signs and verifies.
func Example() {
	cfg := auth.Config{
		HS256Secret: []byte("a secret for this example, from `openssl rand`"),
		Audience:    "reprise",
	}
	signer, err := auth.NewSigner(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier, err := auth.NewVerifier(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}

	token, err := signer.Sign("acme", []auth.Scope{auth.KeysWrite}, time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	caller, err := verifier.Verify(token)
	fmt.Println(caller.Tenant(), caller.Has(auth.KeysWrite), caller.Has(auth.KeysAdmin), err)

	_, err = verifier.Verify(token + "x")
	fmt.Println(errors.Is(err, auth.ErrUnauthenticated), err)
	// Output:
	// acme true false <nil>
	// true token's signature is not valid for the configured key
}

// All mistakes of a configuration are named at once.
func ExampleConfig_Validate() {
	cfg := auth.Config{HS256Secret: []byte("secret"), Audience: " "}
	fmt.Println(cfg.Validate())
	// Output:
	// the HS256 secret is blank or shorter than 32 bytes (RFC 7518 section 3.2): make one with `openssl rand -hex 32`
	// the audience is blank: give its value, or leave it out
}
