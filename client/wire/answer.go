package wire

// Outcomes of reserve. A client takes an outcome that it does not know for no grant.
const (
	OutcomeAcquired = "acquired" // 201: the lease is the caller's
	OutcomeReplay   = "replay"   // 200: it was done; the record holds the response
)

// ReserveAnswer answers reserve.
type ReserveAnswer struct {
	Outcome string `json:"outcome"`
	Record  Record `json:"record"`
	Lease   *Lease `json:"lease,omitempty"` // with acquired
}

// RecordAnswer answers complete, release and lookup.
type RecordAnswer struct {
	Record Record `json:"record"`
}

// HeartbeatAnswer answers heartbeat.
type HeartbeatAnswer struct {
	Record Record `json:"record"`
	Lease  Lease  `json:"lease"`
}

// Record is what is stored under a name.
type Record struct {
	Tenant         string      `json:"tenant"`
	Operation      string      `json:"operation"`
	Subject        string      `json:"subject"`
	Key            string      `json:"key"`
	State          string      `json:"state"`   // in_progress, completed, failed, released, abandoned or uncertain
	Attempt        int         `json:"attempt"` // 1, 2, 3 …
	Fence          int64       `json:"fence"`   // rises with every acquisition of the name; below 2^53
	Version        string      `json:"version"` // opaque; never comes back
	Fingerprint    string      `json:"fingerprint"`
	Holder         string      `json:"holder"`
	OnLapse        string      `json:"on_lapse"`
	CreatedAt      string      `json:"created_at"`
	UpdatedAt      string      `json:"updated_at"`
	LeaseExpiresAt *string     `json:"lease_expires_at,omitempty"` // while in progress
	SettledAt      *string     `json:"settled_at,omitempty"`
	ExpiresAt      *string     `json:"expires_at,omitempty"` // absent while the record does not expire by itself: live or uncertain
	Checkpoint     *Checkpoint `json:"checkpoint,omitempty"`
	ResourceID     *string     `json:"resource_id,omitempty"`
	LastError      *string     `json:"last_error,omitempty"` // reason of the last release
	Response       *Response   `json:"response,omitzero"`    // {} when one was given that has nothing in it
	// ResponseDropped says that there was a body which was not kept.
	ResponseDropped bool `json:"response_dropped,omitzero"`
	// DroppedHeaders names the header lines that could not be kept.
	DroppedHeaders []string `json:"dropped_headers,omitempty"`
}

// Lease is the right to do the work.
type Lease struct {
	Token       string      `json:"token"` // secret
	Fence       int64       `json:"fence"`
	Attempt     int         `json:"attempt"`
	ExpiresAt   string      `json:"expires_at"`
	RemainingMS int64       `json:"remaining_ms"` // at least this long; count from when the request was sent
	Takeover    bool        `json:"takeover"`     // the holder before lapsed: its work may be half done
	Checkpoint  *Checkpoint `json:"checkpoint,omitempty"`
}

// Checkpoint is the holder's note of how far it came.
type Checkpoint struct {
	Seq  int64   `json:"seq"`  // only a higher one replaces it
	Data *string `json:"data"` // opaque, up to 16 KiB; always there: without it a misspelt name would lose progress
}

// Response is what the work answered. An empty body and none are two things: omitempty would make them one, where the
// encoder follows the second version of encoding/json.
type Response struct {
	Status       *int        `json:"status,omitzero"` // 100 to 999
	Headers      [][2]string `json:"headers,omitempty"`
	Body         *string     `json:"body,omitzero"`
	BodyEncoding *string     `json:"body_encoding,omitzero"` // "utf-8" (default) or "base64"
}
