package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maskedFields differ between two runs of the same story.
var maskedFields = []string{"token", "fence", "version", "request_id", "remaining_ms",
	"created_at", "updated_at", "lease_expires_at", "settled_at", "expires_at"}

// maskedHeaders too.
var maskedHeaders = []string{"X-Request-Id", "Date", "Content-Length"}

// masked gives an answer as a text that is the same in two runs of the same story.
func masked(a *answer) string {
	body, err := json.MarshalIndent(mask(a.json), "", "  ")
	if err != nil {
		a.t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintln(&text, a.status)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		value := strings.Join(a.header[name], " | ")
		if slices.Contains(maskedHeaders, name) {
			value = "(masked)"
		}
		fmt.Fprintf(&text, "%s: %s\n", name, value)
	}
	return text.String() + string(body)
}

func mask(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			if out[name] = mask(value); slices.Contains(maskedFields, name) {
				out[name] = "(masked)"
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mask(v[i])
		}
		return out
	}
	return v
}
