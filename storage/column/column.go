// Package column writes the parts of a record that take more than a plain value into one column each, the same way in
// every backend.
package column

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reprise-idempotency/reprise/storage"
)

// ErrUnreadable says that a column holds what was never written there. It is that row's fault alone.
var ErrUnreadable = errors.New("the stored row cannot be read")

// AttemptIDs joins attempt ids by a space, which none of them contains: they are visible ASCII.
func AttemptIDs(ids []string) string { return strings.Join(ids, " ") }

// ParseAttemptIDs reads what AttemptIDs wrote.
func ParseAttemptIDs(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, " ")
}

type headers struct {
	Kept    [][2]string `json:"kept,omitempty"`
	Raw     [][2][]byte `json:"raw,omitempty"` // in place of Kept, when JSON text would alter a line
	Dropped []string    `json:"dropped,omitempty"`
}

// Headers writes the header lines of a response; nil, a null column, means that there was no response at all.
func Headers(r *storage.Response) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	h := headers{Kept: r.Headers, Dropped: r.DroppedHeaders}
	if !areText(r.Headers) {
		h.Kept = nil
		for _, line := range r.Headers {
			h.Raw = append(h.Raw, [2][]byte{[]byte(line[0]), []byte(line[1])})
		}
	}
	return json.Marshal(h)
}

// areText tells that lines are valid UTF-8: in JSON text the bytes of any other would be replaced.
func areText(lines [][2]string) bool {
	for _, line := range lines {
		if !utf8.ValidString(line[0]) || !utf8.ValidString(line[1]) {
			return false
		}
	}
	return true
}

// Response puts a response together from its columns.
func Response(status *int16, lines, body []byte, dropped bool) (*storage.Response, error) {
	if lines == nil {
		return nil, nil
	}
	var h headers
	if err := json.Unmarshal(lines, &h); err != nil {
		return nil, fmt.Errorf("%w: its header lines: %w", ErrUnreadable, err)
	}
	for _, line := range h.Raw {
		h.Kept = append(h.Kept, [2]string{string(line[0]), string(line[1])})
	}
	r := &storage.Response{Headers: h.Kept, DroppedHeaders: h.Dropped, Body: body, BodyDropped: dropped}
	if status != nil {
		r.Status = int(*status)
	}
	return r, nil
}

// Status gives the column of a status; null when none was given.
func Status(r *storage.Response) *int16 {
	if r == nil || r.Status == 0 {
		return nil
	}
	s := int16(r.Status)
	return &s
}
