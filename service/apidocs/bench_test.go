package apidocs_test

import (
	"testing"

	"github.com/reprise-idempotency/reprise"
	"github.com/reprise-idempotency/reprise/service/apidocs"
)

// BenchmarkNew measures what the pages cost the start of the service.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := apidocs.New(reprise.OpenAPI, "1.0.0"); err != nil {
			b.Fatal(err)
		}
	}
}
