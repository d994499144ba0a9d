package httpapi_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// Ensure that a batch of small calls is not answered with stored bodies of any size together: what is over the limit is
// refused by itself, and shown when it is asked for by itself; what changes a key is always answered.
func TestBatchShowsNoMoreThanItsLimit(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		large, small, busy := c.key("large"), c.key("small"), c.key("busy")
		live(large)
		body := strings.Repeat("\x01", 1<<20) // six times as large in JSON
		large.complete(fields{"response": fields{"status": 200, "body": base64.StdEncoding.EncodeToString([]byte(body)), "body_encoding": "base64"}}).want(200, "completed")
		completed(small)
		live(busy)
		replay := calling("reserve", large.name, fields{"fingerprint": mine})
		whole := c.batch(replay, replay, calling("lookup", large.name), calling("complete", busy.name, fields{"lease_token": busy.lease}),
			calling("lookup", small.name), calling("lookup", busy.name))
		if len(whole.raw) > 9<<20 {
			t.Errorf("the answer has %d bytes", len(whole.raw))
		}
		b := whole.results()
		b[0].want(200, "replay").wantAt("record.response.body", body)
		for _, refused := range []*answer{b[1], b[2], b[4]} {
			refused.want(413, "payload_too_large").wantAt("detail", "the stored bodies of this batch are over 8388608 bytes; send this call by itself")
		}
		b[3].want(200, "completed")
		b[5].want(200, "completed")
		large.reserve(attempt(2)).want(200, "replay").wantAt("record.response.body", body)
	})
}

// Ensure that of a batch with too many calls none is read but those within the limit, whatever the others are.
func TestBatchIsNotReadPastItsLimit(t *testing.T) {
	eachStore(t, func(t *testing.T, s *server) {
		c := s.as(t, "acme")
		for _, calls := range []string{strings.Repeat("{},", 256) + "{}", strings.Repeat("{},", 256) + "{},what is this?"} {
			c.send(http.MethodPost, "/v1/keys/batch", `{"calls":[`+calls+`]}`, nil).want(400, "invalid_request").
				wantAt("detail", "calls: has more than 256 calls; it must have 1 to 256")
		}
		c.send(http.MethodPost, "/v1/keys/batch", `{"calls":[`+strings.Repeat("{},", 255)+`what is this?]}`, nil).want(400, "invalid_request")
	})
}
