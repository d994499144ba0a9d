package httpapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-idempotency/reprise/service"
	"github.com/reprise-idempotency/reprise/service/httpapi"
	"github.com/reprise-idempotency/reprise/storage"
)

// Ensure that at the level debug each call leaves one line, with which request it was, how it ended and whose it was, and a
// hash by which its key is known again; and that above that level only what an operator has to know is logged.
func TestOneLineForEachCall(t *testing.T) {
	hash := regexp.MustCompile(`^[0-9a-f]{16}$`)
	eachStore(t, func(t *testing.T, s *server) {
		log, usual := &logged{}, &logged{}
		s = serveAs(t, s.store, service.DefaultLimits(), httpapi.Config{Log: slog.New(slog.NewMultiHandler(log.at(slog.LevelDebug).Handler(), usual.at(slog.LevelInfo).Handler()))})
		k, another := s.as(t, "acme").key("k"), s.as(t, "acme").key("another")
		named := []*answer{k.reserve(attempt(1)), k.reserve(attempt(2)), k.heartbeat(), k.release(), k.reserve(attempt(3)), k.complete(), k.lookup(), k.lookup(fields{"fingerprint": "a b"})}
		other := another.reserve()
		unnamed := []*answer{k.list(), k.get("/v1/stats"), k.get("/v1/admin/audit"), k.batch(calling("lookup", k.name)), k.get("/v1/keys", "limit", "x"), k.post("reserve", "{"),
			caller{t: t, url: s.url}.get("/v1/keys")}
		acts := []*answer{k.act("expire", fields{"version": "1.1"}), another.act("resolve", fields{"version": "1.1"}, to("completed"))}
		k.send("GET", "/livez", "", nil)
		k.send("GET", "/none", "", nil)

		all := append(append(append(named, other), unnamed...), acts...)
		s.until(t, "all are logged", func() bool { return len(log.all()) >= len(all) })
		lines := map[string]line{}
		for _, l := range log.all() {
			lines[l.text("request_id")] = l
		}
		if len(log.all()) != len(all) || len(lines) != len(all) {
			t.Fatalf("%d lines about %d requests, want one about each of %d", len(log.all()), len(lines), len(all))
		}
		line := func(a *answer) line { return lines[a.header.Get("X-Request-Id")] }
		for _, a := range all {
			outcome := a.what()
			if a.status < 400 && a.text("outcome") == "" {
				outcome = "ok"
			}
			path, _, _ := strings.Cut(a.message.path, "?")
			if l := line(a); l.text("call") != path || l.text("outcome") != outcome || a.status != 401 && l.text("tenant") != "acme" {
				t.Errorf("%s %s, %d %s: the line is %s", a.message.method, path, a.status, a.what(), l.raw)
			}
		}
		first := line(named[0]).text("key_hash")
		for _, a := range append(named, acts[0]) {
			if got := line(a).text("key_hash"); !hash.MatchString(got) || got != first || line(a).text("operation") != "POST /v1/orders" {
				t.Errorf("%s: the line is %s, want the hash %s", a.message.path, line(a).raw, first)
			}
		}
		if line(other).text("key_hash") == first {
			t.Error("two keys have one hash")
		}
		for _, a := range all {
			want := "DEBUG"
			if strings.HasPrefix(a.message.path, "/v1/admin/keys/") {
				want = "INFO"
			}
			if got := line(a).text("level"); got != want {
				t.Errorf("%s is logged at %s, want %s", a.message.path, got, want)
			}
		}
		if n := len(usual.all()); n != len(acts) {
			t.Errorf("%d lines at the usual level, want those of the %d acts", n, len(acts))
		}
	})
}

// Ensure that whatever callers send, good, wrong or broken, and however the store answers, no line of the log has the key,
// the token of a lease or of a caller, or anything of a body in it.
func TestLogHoldsNoSecret(t *testing.T) {
	secrets := []string{"secret-key", "secret-subject", "secret-body", "secret-header", "secret-data", "secret-holder", "secret-resource", "secret-attempt",
		"secret-fingerprint", "secret-cursor", "secret-value"}
	holds := func(t *testing.T, log *logged, tokens ...string) {
		t.Helper()
		text := log.String()
		for _, secret := range append(tokens, secrets...) {
			if secret != "" && strings.Contains(text, secret) {
				i := strings.Index(text, secret)
				t.Errorf("the log has %q: …%s…", secret, text[max(0, i-300):min(len(text), i+100)])
			}
		}
		if text == "" {
			t.Error("nothing was logged")
		}
	}
	drive := func(t *testing.T, s *server) (tokens []string) {
		k := s.as(t, "acme").key("secret-key")
		k.unchecked = true
		k.name["subject"] = "secret-subject"
		reserve := fields{"fingerprint": omitted, "request": fields{"body": "secret-body", "headers": [][2]string{{"X-A", "secret-header"}}}, "attempt_id": "secret-attempt-1", "holder": "secret-holder"}
		done := fields{"response": fields{"status": 201, "headers": [][2]string{{"X-A", "secret-header"}}, "body": "secret-body"}, "resource_id": "secret-resource"}
		k.reserve(reserve)
		k.reserve(reserve, fields{"attempt_id": "secret-attempt-2", "wait": "1ms"})
		k.heartbeat(fields{"checkpoint": fields{"seq": 1, "data": "secret-data"}})
		k.reserve(fields{"fingerprint": "secret-fingerprint"})
		k.release(fields{"lease_token": "secret-value"})
		k.complete(done)
		k.complete(done, fields{"resource_id": "secret-resource-2"})
		k.lookup()
		k.reserve(reserve)
		k.batch(calling("lookup", k.name), calling("complete", k.name, done, fields{"lease_token": k.lease}), calling("reserve", k.name, reserve))
		k.act("resolve", fields{"version": "secret-value", "to": "completed"}, done)
		k.act("expire", fields{"version": "secret-value"})
		k.get("/v1/keys", "key", "secret-key", "subject", "secret-subject", "cursor", "secret-cursor")
		k.get("/v1/keys", "key_prefix", "secret-key", "state", "secret-value")
		k.get("/v1/admin/audit", "operation", "o", "key", "secret-key", "limit", "secret-value")
		for _, body := range []string{
			`{"operation":"o","key":"secret-key","fingerprint":1}`, `{"operation":"o","key":"secret-key","lease":"secret-value","fingerprint":"f"}`,
			`{"operation":"o","key":"secret-key\u0000","fingerprint":"f"}`, `{"operation":"o","key":"secret-key`, `{"key":"secret-key","key":"secret-key"}`,
			`["secret-body"]`, `secret-body`, "{\"key\":\"secret-key\xff\"}", `{"operation":"o","key":"secret-key","fingerprint":"secret value"}`,
			`{"operation":"o","key":"secret-key","lease_token":"secret-value","response":{"body":"secret-body","body_encoding":"secret-value"}}`,
			`{"operation":"o","key":"secret-key","lease_token":"secret-value","response":{"body":"secret-body","body_encoding":"base64"}}`,
			`{"operation":"o","key":"secret-key","lease_token":"secret-value","on_lapse":"secret-value","result":"secret-value","to":"secret-value"}`,
			`{"calls":[{"call":"secret-value","key":"secret-key"},"secret-body",{"call":"lookup","key":"secret-key"}]}`,
		} {
			for _, path := range []string{"reserve", "complete", "release", "heartbeat", "lookup", "batch"} {
				k.post(path, body)
			}
			for _, call := range operatorCalls {
				k.send("POST", "/v1/admin/keys/"+call, body, nil)
			}
		}
		k.send("POST", "/v1/keys/reserve", `{"key":"secret-key"}`, http.Header{"Content-Type": {"secret-value"}, "Content-Encoding": {"secret-value"}})
		k.send("GET", "/v1/keys/secret-key", "", nil)
		k.send("POST", "/v1/keys?key=secret-key", "", nil)
		for _, authorization := range []string{"Bearer secret-value", "secret-value", "Bearer " + k.token + "x", "Basic " + base64.StdEncoding.EncodeToString([]byte("secret-value"))} {
			k.send("GET", "/v1/keys?key=secret-key", "", http.Header{"Authorization": {authorization}})
		}
		parts := strings.Split(k.token, ".")
		return []string{k.lease, k.token, parts[1], parts[2]}
	}
	eachStore(t, func(t *testing.T, s *server) {
		log := &logged{}
		config := httpapi.Config{Log: log.at(slog.LevelDebug - 4)}
		holds(t, log, drive(t, serveAs(t, s.store, service.DefaultLimits(), config))...)
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		down := &logged{}
		holds(t, down, drive(t, serveAs(t, s.store, service.DefaultLimits(), httpapi.Config{Log: down.at(slog.LevelDebug - 4)}))...)
	})
}

// Ensure that a caller cannot write lines or columns of their own into the log.
func TestLogTakesNoControlCharacters(t *testing.T) {
	log := &logged{}
	beforeAnyStore(t, func(t *testing.T, s *server) {
		s = serveAs(t, s.store, service.DefaultLimits(), httpapi.Config{Log: slog.New(plain{log})})
		c := s.as(t, "acme")
		c.unchecked = true
		for _, operation := range []string{"a\nlevel=ERROR", "a\r\n", "\x1b[31mred", "a\x00b", "a\u0085b", "a\u009bb", strings.Repeat("x", 10<<10)} {
			for _, call := range []string{"reserve", "lookup", "complete"} {
				c.call(call, fields{"operation": operation, "key": "k", "fingerprint": mine, "lease_token": unknownToken})
			}
			k := c.key("k")
			k.name["operation"] = operation
			k.act("expire", fields{"version": "1.1"})
		}
		c.post("reserve", "{\"a\\nb\\u009bc\":1}")
		c.send("GET", "/v1/keys?a%0Ab%1B=1", "", nil)
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if len(lines) != 7*4+2 {
			t.Errorf("%d lines, want 30", len(lines))
		}
		for _, l := range lines {
			if i := strings.IndexFunc(l, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }); i >= 0 || len(l) > 1000 {
				t.Errorf("a line of %d bytes, with a control character at %d: %.300q", len(l), i, l)
			}
		}
	})
}

// plain writes lines as they come, as a handler may that leaves it to its callers to send nothing bad.
type plain struct{ log *logged }

func (p plain) Enabled(context.Context, slog.Level) bool { return true }
func (p plain) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p plain) WithGroup(string) slog.Handler            { return p }
func (p plain) Handle(_ context.Context, r slog.Record) error {
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
	_, err := p.log.Write([]byte(text + "\n"))
	return err
}

// Ensure that a fault of the service or an outage of its store is logged as an error under the id that the caller was given,
// with the cause that the caller is not told; in a batch too.
func TestFaultsAreLoggedWithTheirCause(t *testing.T) {
	for id, store := range map[string]fake{
		"fault":  fails(fmt.Errorf("the disk is on fire")),
		"outage": fails(fmt.Errorf("the disk is on fire: %w", storage.ErrUnavailable)),
		"panic":  answers(func([]storage.Call) []storage.Answer { panic("the disk is on fire") }),
	} {
		t.Run(id, func(t *testing.T) {
			log := &logged{}
			s := serveAs(t, store, service.DefaultLimits(), httpapi.Config{Log: log.at(slog.LevelInfo)})
			k := s.as(t, "acme").key("k")
			for _, a := range []*answer{k.lookup(), k.batch(calling("lookup", k.name))} {
				shows(t, a, "fire", false)
				var found []string
				for _, l := range log.all() {
					if l.text("request_id") == a.header.Get("X-Request-Id") && l.text("level") == "ERROR" && strings.Contains(l.text("err"), "the disk is on fire") {
						found = append(found, l.raw)
					}
				}
				if len(found) != 1 {
					t.Errorf("%s: %d lines say why, want one:\n%s", a.message.path, len(found), log.String())
				}
			}
		})
	}
}
