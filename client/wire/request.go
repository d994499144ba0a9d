package wire

// Name identifies a key within the caller's tenant, which comes from the token and never from a body.
type Name struct {
	Operation string `json:"operation"`         // what is being done, such as "POST /v1/orders": 1 to 200 bytes
	Subject   string `json:"subject,omitempty"` // on whose behalf within the tenant: 0 to 200 bytes
	Key       string `json:"key"`               // the caller's name for one logical operation: 1 to 255 bytes
}

// KeyName gives the name of every request that has one.
func (n Name) KeyName() Name { return n }

// ReserveRequest asks for the right to do the work. Exactly one of Fingerprint and Request is given.
type ReserveRequest struct {
	Name
	Fingerprint *string  `json:"fingerprint,omitempty"` // 1 to 128 visible ASCII bytes, compared as it is
	Request     *Request `json:"request,omitempty"`     // the service computes the fingerprint
	AttemptID   *string  `json:"attempt_id,omitempty"`  // made afresh for each acquisition: 8 to 128 visible ASCII bytes
	Lease       *string  `json:"lease,omitempty"`       // default 30s
	Retention   *string  `json:"retention,omitempty"`   // default 24h
	OnLapse     *string  `json:"on_lapse,omitempty"`    // "retry" (default) or "hold"
	Holder      *string  `json:"holder,omitempty"`      // who holds it, for people: up to 255 bytes
	Wait        *string  `json:"wait,omitempty"`        // how long to wait while another attempt is in progress: up to 20s; default not at all
}

// Request is what makes a retry the same request.
type Request struct {
	Method       *string     `json:"method,omitempty"`
	Target       *string     `json:"target,omitempty"` // path and query as sent
	Headers      [][2]string `json:"headers,omitempty"`
	ContentType  *string     `json:"content_type,omitempty"`
	Body         *string     `json:"body,omitempty"`
	BodyEncoding *string     `json:"body_encoding,omitempty"` // "utf-8" (default) or "base64"
}

// CompleteRequest settles a key.
type CompleteRequest struct {
	Name
	LeaseToken string    `json:"lease_token"`
	Result     *string   `json:"result,omitempty"` // "completed" (default) or "failed"
	Response   *Response `json:"response,omitempty"`
	// ResponseDropped says that there was a body which is not sent, such as one over the limit of the request: a retry
	// is then told that the work was done, and is not answered as if the body had been empty.
	ResponseDropped *bool   `json:"response_dropped,omitempty"`
	ResourceID      *string `json:"resource_id,omitempty"` // of what the work made: up to 255 bytes
	Retention       *string `json:"retention,omitempty"`   // default: what the reservation set
}

// ReleaseRequest gives a key back undone.
type ReleaseRequest struct {
	Name
	LeaseToken string  `json:"lease_token"`
	Reason     *string `json:"reason,omitempty"` // shown as last_error: up to 1,000 bytes
	Forget     *bool   `json:"forget,omitempty"` // also blanks fingerprint and checkpoint
}

// HeartbeatRequest extends a lease, and may note progress or turn on_lapse to hold.
type HeartbeatRequest struct {
	Name
	LeaseToken string      `json:"lease_token"`
	Lease      *string     `json:"lease,omitempty"` // from now; default: what the reservation set
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	OnLapse    *string     `json:"on_lapse,omitempty"` // "hold" turns it to hold; "retry" changes nothing
}

// LookupRequest reads a key.
type LookupRequest struct {
	Name
	Fingerprint *string `json:"fingerprint,omitempty"` // compared when given
}
