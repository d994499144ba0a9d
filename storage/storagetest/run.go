// Package storagetest holds every storage backend to the contract of package storage. A backend's own test calls [Run];
// each function of this package that Run lists ensures one promise, and is named after it.
//
// The suite asks a backend nothing but what storage.Store offers, and trusts no clock but the store's: what has to be
// over is made short, what has to last is made long, and the store is asked until its clock has passed the instant in
// question. A time limit only ends a test that hangs.
package storagetest

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/storage"
)

// promise is one function of the suite.
type promise func(t *testing.T, f *fixture)

var topics = []struct {
	name     string
	promises []promise
}{
	{"reserve", reservePromises},
	{"attempts", attemptPromises},
	{"complete", completePromises},
	{"release", releasePromises},
	{"heartbeat", heartbeatPromises},
	{"checkpoints", checkpointPromises},
	{"lookup", lookupPromises},
	{"resolve", resolvePromises},
	{"resolved", resolvedPromises},
	{"expire", expirePromises},
	{"acts", actPromises},
	{"list", listPromises},
	{"filters", filterPromises},
	{"stats", statsPromises},
	{"time", timePromises},
	{"expiry", expiryPromises},
	{"fences", fencePromises},
	{"versions", versionPromises},
	{"names", namePromises},
	{"bytes", bytePromises},
	{"poison", poisonPromises},
	{"groups", groupPromises},
	{"deadlocks", deadlockPromises},
	{"crowds", crowdPromises},
	{"concurrency", concurrencyPromises},
	{"linearizability", linearizabilityPromises},
	{"cancellation", cancellationPromises},
	{"closing", closingPromises},
}

// Run holds a backend to every promise. open gives an empty store that is ready to serve, and arranges for what has to
// be cleaned up; it is called once for all promises that can share a store, whose names keep them apart, and once more
// for each that cannot.
func Run(t *testing.T, open func(t *testing.T) storage.Store) {
	shared := open(t)
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			for _, p := range topic.promises {
				t.Run(nameOf(p), func(t *testing.T) {
					p(t, &fixture{t: t, store: shared, open: open})
				})
			}
		})
	}
}

// nameOf gives the name of a promise's function, which is the name of the promise.
func nameOf(p any) string {
	full := runtime.FuncForPC(reflect.ValueOf(p).Pointer()).Name()
	return full[strings.LastIndexByte(full, '.')+1:]
}
