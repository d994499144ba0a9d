package wire

// Problem is an error answer (RFC 9457, application/problem+json).
type Problem struct {
	Type         string  `json:"type"` // /docs/problems/<code>
	Title        string  `json:"title"`
	Status       int     `json:"status"`
	Detail       string  `json:"detail"`
	Code         string  `json:"code"`
	Advice       string  `json:"advice"` // what the caller does next
	RetryAfterMS *int64  `json:"retry_after_ms,omitempty"`
	Record       *Record `json:"record,omitempty"`
	RequestID    string  `json:"request_id"`
}

// What a caller does next, as Problem.Advice says it.
const (
	AdviceNone         = "none"          // nothing: the answer is final
	AdviceFixRequest   = "fix_request"   // the request is wrong; sending it again changes nothing
	AdviceReserveAgain = "reserve_again" // call reserve again, after retry_after_ms where given
	AdviceRepeatCall   = "repeat_call"   // send the same call again with the same ids
	AdviceNewKey       = "new_key"       // the key belongs to another request
	AdviceOperator     = "operator"      // a person has to look
	AdviceLookAgain    = "look_again"    // it changed meanwhile
)
