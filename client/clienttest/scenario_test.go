package clienttest_test

import (
	"net/http"
	"testing"

	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// Ensure that the fake passes the scenarios that the service passes on both stores.
func TestScenarios(t *testing.T) {
	fake := clienttest.New()
	clienttest.RunScenarios(t, clienttest.Target{URL: "http://reprise.test", Token: clienttest.Token("acme"),
		HTTP: &http.Client{Transport: fake}, Pass: fake.Advance})
}
