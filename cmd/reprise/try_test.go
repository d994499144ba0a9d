package main

import (
	"regexp"
	"strings"
	"testing"
)

// Ensure that try takes its tour to the end on each store, and shows no token that whoever reads along could use, neither
// its own nor that of a lease.
func TestTry(t *testing.T) {
	for store, configured := range stores(t) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			env := configured(t)
			s := serve(t, env)
			jwt := token(t, env, "--scope", "keys:read keys:write keys:body keys:admin")
			o := runProgram(t, env, "try", "--url", s.url+"/", "--token", jwt)
			if o.code != exitOK || !strings.HasSuffix(o.stdout, "Every call was answered as it must be.\n") {
				t.Fatalf("got %d %s%s", o.code, o.stdout, o.stderr)
			}
			shown := regexp.MustCompile(`"lease_token":"([^"]*)"`).FindAllStringSubmatch(o.stdout, -1)
			if len(shown) < 5 {
				t.Errorf("the requests show %d tokens, want each that was sent:\n%s", len(shown), o.stdout)
			}
			for _, m := range shown {
				if !regexp.MustCompile(`^[0-9a-f]{8}…$`).MatchString(m[1]) || !strings.Contains(o.stdout, "lease.token="+m[1]) {
					t.Errorf("a request shows the token %s, want the beginning of one of those that were given", m[1])
				}
			}
			if whole := regexp.MustCompile(`[0-9a-f]{32}`).FindString(o.stdout); whole != "" || strings.Contains(o.stdout, jwt) {
				t.Errorf("a token is shown whole: %s", o.stdout)
			}
		})
	}
}
