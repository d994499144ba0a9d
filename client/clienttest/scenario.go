package clienttest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reprise-idempotency/reprise/client"
)

//go:embed testdata/scenarios
var scenarios embed.FS

// Target is a service that scenarios run against.
type Target struct {
	URL   string
	Token string              // with the scopes keys:write, keys:read, keys:body and keys:admin
	HTTP  *http.Client        // nil: http.DefaultClient
	Pass  func(time.Duration) // lets time pass; nil: time.Sleep
}

// RunScenarios runs every scenario of testdata/scenarios, each as a test of its own, with keys that no run had before.
// testdata/scenarios/README.md says what is in the files.
func RunScenarios(t *testing.T, target Target) {
	files, err := scenarios.ReadDir("testdata/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if path.Ext(file.Name()) != ".json" {
			continue
		}
		text, err := scenarios.ReadFile("testdata/scenarios/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var all []scenario
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		d.UseNumber()
		if err := d.Decode(&all); err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
		for _, s := range all {
			t.Run(strings.TrimSuffix(file.Name(), ".json")+"/"+s.Name, func(t *testing.T) { s.run(t, target) })
		}
	}
}

// scenario is a history of one caller or of several, told call by call.
type scenario struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step is one call, or time that passes.
type step struct {
	Call    string            `json:"call"`
	Send    map[string]any    `json:"send"`
	Status  int               `json:"status"`
	Want    map[string]any    `json:"want"`
	Differs map[string]string `json:"differs"`
	Higher  map[string]string `json:"higher"`
	Keep    map[string]string `json:"keep"`
	Pass    string            `json:"pass"`
}

func (s scenario) run(t *testing.T, target Target) {
	kept := map[string]any{}
	subject := client.NewAttemptID()
	for i, step := range s.Steps {
		if step.Pass != "" {
			target.pass(t, step.Pass)
			continue
		}
		send := substituted(step.Send, kept).(map[string]any)
		if step.Call != "batch" {
			named(send, subject)
		} else {
			for _, one := range send["calls"].([]any) {
				named(one.(map[string]any), subject)
			}
		}
		status, got := target.call(t, step.Call, send)
		if status != step.Status {
			t.Fatalf("step %d, %s: answered %d, want %d: %v", i, step.Call, status, step.Status, got)
		}
		step.judge(t, i, got, kept)
	}
}

// judge compares what a step wants with its answer, and keeps what later steps need.
func (s step) judge(t *testing.T, i int, got any, kept map[string]any) {
	t.Helper()
	for place, want := range s.Want {
		if value, want := at(got, place), substituted(want, kept); !reflect.DeepEqual(value, want) {
			t.Errorf("step %d, %s: %s is %v, want %v", i, s.Call, place, value, want)
		}
	}
	for place, name := range s.Differs {
		if value := at(got, place); value == nil || value == kept[name] {
			t.Errorf("step %d, %s: %s is %v, as before", i, s.Call, place, value)
		}
	}
	for place, name := range s.Higher {
		if value, before := number(at(got, place)), number(kept[name]); value <= before {
			t.Errorf("step %d, %s: %s is %d, not higher than %d", i, s.Call, place, value, before)
		}
	}
	for name, place := range s.Keep {
		if kept[name] = at(got, place); kept[name] == nil {
			t.Fatalf("step %d, %s: there is no %s: %v", i, s.Call, place, got)
		}
	}
}

func number(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

func named(send map[string]any, subject string) {
	for field, value := range map[string]string{"operation": "scenario", "subject": subject, "key": "k"} {
		if _, ok := send[field]; !ok {
			send[field] = value
		}
	}
}

// substituted puts what was kept in the place of "$name", and makes long texts of {"repeat": text, "times": n}.
func substituted(v any, kept map[string]any) any {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return kept[name]
		}
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = substituted(v[i], kept)
		}
		return all
	case map[string]any:
		if text, ok := v["repeat"].(string); ok {
			return strings.Repeat(text, int(number(v["times"])))
		}
		all := map[string]any{}
		for name, value := range v {
			all[name] = substituted(value, kept)
		}
		return all
	}
	return v
}

// at finds "record.response.status" or "results.0.status"; nil when it is not there.
func at(v any, place string) any {
	for name := range strings.SplitSeq(place, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func (target Target) pass(t *testing.T, text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	if target.Pass == nil {
		target.Pass = time.Sleep
	}
	target.Pass(d)
}

func (target Target) call(t *testing.T, call string, send map[string]any) (status int, answer any) {
	t.Helper()
	body, err := json.Marshal(send)
	if err != nil {
		t.Fatal(err)
	}
	prefix := "/v1/keys/"
	if call == "resolve" || call == "expire" {
		prefix = "/v1/admin/keys/"
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, target.URL+prefix+call, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+target.Token)
	r.Header.Set("Content-Type", "application/json")
	h := target.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	got, err := h.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatalf("%d: %s", got.StatusCode, text)
	}
	return got.StatusCode, answer
}
