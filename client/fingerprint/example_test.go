package fingerprint_test

import (
	"fmt"

	"github.com/reprise-idempotency/reprise/client/fingerprint"
)

func Example() {
	order := fingerprint.Request{
		Method:      "POST",
		Target:      "/v1/orders",
		ContentType: "application/json",
		Body:        []byte(`{"amount": 9007199254740993, "currency": "EUR"}`),
	}
	retry, other := order, order
	retry.Body = []byte(`{"currency":"EUR","amount":9007199254740993}`)
	other.Body = []byte(`{"currency":"EUR","amount":9007199254740992}`)

	fmt.Println(fingerprint.Of(order))
	fmt.Println("retry:", fingerprint.Of(retry) == fingerprint.Of(order))
	fmt.Println("other:", fingerprint.Of(other) == fingerprint.Of(order))
	// Output:
	// v1:974d29a5ffc7d1cbb99d8101023e1a602b9692d57314145c2b1d8db4613dcf99
	// retry: true
	// other: false
}

func ExampleCanonical() {
	for _, body := range []string{`{ "b": 1.0, "a": "\u00e9" }`, `{"a": 1, "a": 2}`} {
		canonical, ok := fingerprint.Canonical([]byte(body))
		fmt.Printf("%s %v\n", canonical, ok)
	}
	// Output:
	// {"a":"é","b":1.0} true
	//  false
}
