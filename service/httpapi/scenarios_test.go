package httpapi_test

import (
	"testing"

	"github.com/reprise-idempotency/reprise/client/clienttest"
)

// Ensure that the service passes, on both stores, the scenarios that the SDK's fake passes, so that the two cannot drift.
func TestScenarios(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		clienttest.RunScenarios(t, clienttest.Target{URL: c.url, Token: c.token})
	})
}
