package life

import "github.com/reprise-idempotency/reprise/storage"

func lookup(r *storage.Record, c storage.Lookup) storage.Outcome {
	switch {
	case r == nil:
		return storage.OutcomeNotFound
	case c.Fingerprint != "" && !fits(r, c.Fingerprint):
		return storage.OutcomeFingerprintMismatch
	}
	return storage.OutcomeFound
}
