package wire

// ResolveRequest settles or releases what no holder will.
type ResolveRequest struct {
	Name
	Tenant     *string   `json:"tenant,omitempty"` // default: the token's; another one needs the scope ops
	To         string    `json:"to"`               // "completed", "failed" or "released"
	Version    string    `json:"version"`          // of the record that was looked at
	Reason     string    `json:"reason"`           // for the audit log: 1 to 1,000 bytes
	Response   *Response `json:"response,omitempty"`
	ResourceID *string   `json:"resource_id,omitempty"`
	Force      *bool     `json:"force,omitempty"` // also while a lease is live
}

// ExpireRequest makes a settled or released key absent before its time.
type ExpireRequest struct {
	Name
	Tenant  *string `json:"tenant,omitempty"`
	Version string  `json:"version"`
	Reason  string  `json:"reason"`
}

// AuditAnswer answers a question for the audit log: a page, newest first.
type AuditAnswer struct {
	Acts       []Act   `json:"acts"`
	NextCursor *string `json:"next_cursor,omitempty"` // absent at the end
}

// Act is what an operator did.
type Act struct {
	ID        string   `json:"id"`
	At        string   `json:"at"`
	Action    string   `json:"action"`     // "resolve" or "expire"
	Actor     string   `json:"actor"`      // the sub of the token
	Address   string   `json:"address"`    // where the call came from
	RequestID string   `json:"request_id"` // of the call
	Tenant    string   `json:"tenant"`
	Operation string   `json:"operation"`
	Subject   string   `json:"subject"`
	Key       string   `json:"key"`
	Reason    string   `json:"reason"`
	Before    Standing `json:"before"`
	After     Standing `json:"after"`
}

// Standing is where a record stood.
type Standing struct {
	State   string `json:"state"`
	Version string `json:"version"`
	Attempt int    `json:"attempt"`
	Fence   int64  `json:"fence"`
}
