// Package client makes retries safe, by the Reprise service. Put [Do] around what must not happen twice:
//
//	c, err := client.New("https://reprise.internal", client.TokenFile("/var/run/secrets/reprise/token"))
//	…
//	invoice, err := client.Do(ctx, c, client.Op{
//		Operation: "job:send-invoice",
//		Subject:   customerID, // on whose behalf
//		Key:       orderID,    // which one
//		Input:     order,      // what makes a retry the same request
//	}, func(ctx context.Context, lease *client.Lease) (Invoice, error) {
//		return provider.Send(ctx, order, lease.DownstreamKey("send"))
//	})
//
// The first call runs the function, others with the same name wait and get its result, and so does every retry while the
// result is kept. Below Do are the calls of the HTTP API, each of which is safe to repeat and is repeated: [Client.Reserve],
// [Client.Complete], [Client.Release], [Client.Heartbeat], [Client.Lookup], [Client.Batch].
//
// # What it cannot do
//
// No service that hands out leases can make a function run once: one that is paused for longer than its lease may still be at work when another
// attempt takes over. Its context ends in time, with the cause [ErrLeaseLost]; whether it looks is up to it. What helps, from the
// weakest to the strongest: [Lease.DownstreamKey] for a provider that knows idempotency keys, [Lease.Fence] for what you can ask to
// refuse a lower one, [Lease.PointOfNoReturn] for what nothing else protects.
//
// # Errors
//
// A refusal is one of the errors of this package for errors.Is, and an [*Error] for errors.As, with the status, the code, the
// advice and the id of the request in the service's log. Two need care: [ErrNotRecorded], which comes with a result, says that the work
// was done, and another attempt may do it again; [ErrOutcomeUnknown] says that a call may have been stored, and the same call
// with the same ids tells.
//
// # Time
//
// A lease is counted from when its request was sent, by the monotonic clock of this process; no two clocks have to agree. What
// a suspended machine sleeps does not count on all systems: do not suspend machines that hold leases.
package client
