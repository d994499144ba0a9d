package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/reprise-idempotency/reprise/service/auth"
)

// badEnvelopes are good bodies in a wrong wrapping.
func badEnvelopes(lease string) (all []hostile) {
	types := map[string][]string{
		"none": nil, "empty": {""}, "text": {"text/plain"}, "form": {"application/x-www-form-urlencoded"}, "similar": {"application/jsonx"},
		"suffix": {"application/problem+json"}, "list": {"application/json, text/plain"}, "two lines": {"application/json", "application/json"},
		"other charset": {"application/json; charset=utf-16"}, "broken": {"application/json; charset"}, "multipart": {"multipart/form-data; boundary=x"},
	}
	unsupported := func(id, call string, h http.Header, field string) hostile {
		return hostile{id: call + "/" + id, path: pathOf(call), body: whole(call, lease), headers: h, status: 415, what: "unsupported_media_type", detail: field + ": "}
	}
	for _, call := range append(bodyCalls, "batch") {
		for id, lines := range types {
			all = append(all, unsupported("content type/"+id, call, http.Header{"Content-Type": lines}, "Content-Type"))
		}
		for _, encoding := range []string{"gzip", "identity", "br"} {
			all = append(all, unsupported("encoding/"+encoding, call, http.Header{"Content-Encoding": {encoding}}, "Content-Encoding"))
		}
		if !slices.Contains([]string{"complete", "release", "heartbeat"}, call) { // which ignore a query
			all = append(all, hostile{id: call + "/query/twice", path: pathOf(call) + "?tenant=x&tenant=y", body: whole(call, lease), status: 400,
				what: "invalid_request", detail: "tenant: "})
			all = append(all, hostile{id: call + "/query/malformed", path: pathOf(call) + "?a=%zz", body: whole(call, lease), status: 400,
				what: "invalid_request", detail: "query: "})
			all = append(all, hostile{id: call + "/query/unknown", path: pathOf(call) + "?wait=10s", body: whole(call, lease), status: 400,
				what: "invalid_request", detail: "wait: is not a parameter of this call; it takes none in the query"})
		}
	}
	for _, call := range bodyCalls {
		tooLarge := whole(call, lease) + strings.Repeat(" ", 4<<20)
		all = append(all, hostile{id: call + "/too large", path: pathOf(call), body: tooLarge, status: 413, what: "payload_too_large", detail: "4194304 bytes"})
	}
	return all
}

// badRoutes are methods and paths that there are not.
func badRoutes() (all []hostile) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"} {
		for _, path := range []string{"/v1/keys/reserve", "/v1/keys/lookup", "/v1/keys/batch", "/v1/admin/keys/resolve", "/v1/admin/keys/expire",
			"/v1/keys", "/v1/stats", "/v1/admin/audit"} {
			asked := path == "/v1/keys" || path == "/v1/stats" || path == "/v1/admin/audit"
			if method == "GET" && asked || method == "POST" && !asked {
				continue // it is the method of the call
			}
			h := hostile{id: method + path, method: method, path: path, status: 405, what: "method_not_allowed", detail: "Allow"}
			if method == "HEAD" {
				h.what, h.detail = "", "" // no body
			}
			all = append(all, h)
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/openapi.yaml"} {
		all = append(all, hostile{id: "POST" + path, path: path, status: 405, what: "method_not_allowed", detail: "Allow"})
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/keys/", "/v1/keys//x", "/v1/keys//reserve", "//v1/keys/reserve", "/v1/keys/reserve/", "/v1/keys/Reserve",
		"/v1/keys/reserve%2F", "/v1/keys/%72eserv", "/v1/keys/a%2Fb", "/v1/keys/100%25", "/v1/keys/../keys/reserve", "/v1/keys/%00", "/v2/keys/reserve",
		"/v1/keys/reserve;x", "/livez/", "/openapi.yml", "/v1/admin", "/v1/admin/", "/v1/admin/keys", "/v1/admin/keys/", "/v1/admin/keys/release",
		"/v1/admin/keys/Resolve", "/v1/admin/resolve", "/v1/keys/resolve", "/v1/keys/expire", "/v1/batch", "/v1/keys/batch/", "/v1/stats/", "/metrics"} {
		all = append(all, hostile{id: "POST" + path, path: path, body: whole("reserve", ""), status: 404, what: "no_such_call", detail: "path"})
	}
	for _, path := range []string{"/v1/keys/", "/v1/keys/k", "/v1/Keys", "/v1/stats/x", "/v1/admin/audit/", "/v1/audit", "/metrics", "/debug/pprof/"} {
		all = append(all, hostile{id: "GET" + path, method: "GET", path: path, status: 404, what: "no_such_call", detail: "path"})
	}
	return all
}

// badTokens are callers who are not known, or may not do what they ask.
func badTokens(t *testing.T, lease string) (all []hostile) {
	good := bearer(t, "acme", everyScope...)
	parts := strings.Split(good, ".")
	lines := map[string][]string{
		"none": nil, "empty": {""}, "no scheme": {good}, "other scheme": {"Basic " + good}, "only scheme": {"Bearer"}, "no token": {"Bearer "},
		"two spaces": {"Bearer  " + good}, "space after": {"Bearer " + good + " x"}, "two lines": {"Bearer " + good, "Bearer " + good},
		"list": {"Bearer " + good + ", Bearer " + good}, "quoted": {`Bearer "` + good + `"`}, "cut": {"Bearer " + good[:len(good)-1]},
		"two parts": {"Bearer " + parts[0] + "." + parts[1]}, "four parts": {"Bearer " + good + ".x"}, "no signature": {"Bearer " + parts[0] + "." + parts[1] + "."},
		"other payload": {"Bearer " + parts[0] + "." + strings.Split(bearer(t, "globex", everyScope...), ".")[1] + "." + parts[2]},
		"other secret":  {"Bearer " + signed(jwt.SigningMethodHS256, []byte(strings.Repeat("y", 40)), nil)},
		"none at all":   {"Bearer " + signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil)},
		"HS512":         {"Bearer " + signed(jwt.SigningMethodHS512, tokens.HS256Secret, nil)},
		"expired":       {"Bearer " + signed(jwt.SigningMethodHS256, tokens.HS256Secret, jwt.MapClaims{"exp": 1})},
		"no tenant":     {"Bearer " + signed(jwt.SigningMethodHS256, tokens.HS256Secret, jwt.MapClaims{"tenant_id": omitted})},
		"long":          {"Bearer " + strings.Repeat("a", 17<<10)},
	}
	for id, lines := range lines {
		for _, call := range []string{"reserve", "complete", "lookup", "batch", "resolve", "expire"} {
			all = append(all, hostile{id: call + "/token/" + id, path: pathOf(call), body: whole(call, lease), headers: http.Header{"Authorization": lines}, status: 401, what: "unauthenticated"})
		}
	}
	for _, path := range []string{"/v1/keys", "/v1/stats", "/v1/admin/audit"} {
		for id, lines := range lines {
			all = append(all, hostile{id: path + "/token/" + id, method: "GET", path: path, headers: http.Header{"Authorization": lines}, status: 401, what: "unauthenticated"})
		}
	}
	all = append(all, hostile{id: "unknown path/token/none", path: "/v1/keys/x", headers: http.Header{"Authorization": nil}, status: 404, what: "no_such_call"})
	return append(all, badScopes(t, lease)...)
}

// badScopes are good tokens that do not reach: of too few scopes, or of another tenant.
func badScopes(t *testing.T, lease string) (all []hostile) {
	forbidden := func(call, id, needs string, scopes ...auth.Scope) {
		all = append(all, hostile{id: call + "/scope/" + id, path: "/v1/keys/" + call, body: whole(call, lease), token: bearer(t, "acme", scopes...),
			status: 403, what: "forbidden", detail: needs})
	}
	for _, call := range []string{"reserve", "complete", "release", "heartbeat"} {
		forbidden(call, "none", "keys:write")
		forbidden(call, "read", "keys:write", auth.KeysRead, auth.KeysBody, auth.KeysAdmin, auth.Ops)
	}
	forbidden("lookup", "none", "keys:read")
	forbidden("lookup", "write", "keys:read", auth.KeysWrite, auth.KeysBody, auth.KeysAdmin, auth.Ops)

	theirs := bearer(t, "globex", everyScope...)
	for _, call := range []string{"complete", "release", "heartbeat"} {
		all = append(all, hostile{id: call + "/other tenant", path: "/v1/keys/" + call, body: whole(call, lease), token: theirs, status: 409, what: "lease_lost"})
	}
	return append(all, hostile{id: "lookup/other tenant", path: "/v1/keys/lookup", body: whole("lookup", lease), token: theirs, status: 404, what: "not_found"})
}
