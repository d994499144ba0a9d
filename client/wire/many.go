package wire

// The calls of a batch.
const (
	CallReserve   = "reserve"
	CallComplete  = "complete"
	CallRelease   = "release"
	CallHeartbeat = "heartbeat"
	CallLookup    = "lookup"
)

// BatchAnswer answers a batch: a result for each call, in their order.
type BatchAnswer struct {
	Results []BatchResult `json:"results"`
}

// BatchResult is what the single call would have been answered.
type BatchResult struct {
	Status int `json:"status"`
	Body   any `json:"body"` // the answer of the call, or a Problem
}

// ListAnswer is a page of keys, newest first.
type ListAnswer struct {
	Keys       []Record `json:"keys"`                  // without responses
	NextCursor *string  `json:"next_cursor,omitempty"` // absent at the end; a page may be empty and still have one
}

// StatsAnswer counts keys by state.
type StatsAnswer struct {
	AsOf   string           `json:"as_of"`
	States map[string]Count `json:"states"` // of all six states
}

// Count is how many keys are in a state.
type Count struct {
	Count   int     `json:"count"`
	AtLeast bool    `json:"at_least"`         // counting stopped at a bound
	Oldest  *Oldest `json:"oldest,omitempty"` // of in_progress, abandoned and uncertain, when there is one
}

// Oldest is the key of a state that was made first.
type Oldest struct {
	Operation      string `json:"operation"`
	Subject        string `json:"subject"`
	Key            string `json:"key"`
	CreatedAt      string `json:"created_at"`
	LeaseExpiresAt string `json:"lease_expires_at"`
}
