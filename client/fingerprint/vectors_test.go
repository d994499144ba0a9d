package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// vector is an entry of testdata/vectors.json; its README says what is in it.
type vector struct {
	Name, Note string
	SameAs     string `json:"same_as"`
	Request    struct {
		Method, Target string
		Headers        [][2]string
		ContentType    string `json:"content_type"`
		Body           string
		BodyEncoding   string `json:"body_encoding"`
	}
	Canonical   *string
	Fingerprint string
}

func (v vector) request(t testing.TB) Request {
	t.Helper()
	r := v.Request
	body := []byte(r.Body)
	if r.BodyEncoding == "base64" {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			t.Fatal(err)
		}
	}
	return Request{Method: r.Method, Target: r.Target, Headers: r.Headers, ContentType: r.ContentType, Body: body}
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Vectors []vector }
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Vectors) < 100 {
		t.Fatalf("%d vectors: the file is not whole", len(document.Vectors))
	}
	return document.Vectors
}

// The published vectors hold: stored fingerprints stay comparable, and other
// languages can rely on the file.
func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			r := v.request(t)
			if got := Of(r); got != v.Fingerprint {
				t.Errorf("Of is %s, want %s (%s)", got, v.Fingerprint, v.Note)
			}
			if _, isJSON := normalContentType(r.ContentType); !isJSON {
				return
			}
			canonical, ok := Canonical(r.Body)
			if ok != (v.Canonical != nil) {
				t.Fatalf("Canonical says ok = %v, want %v", ok, !ok)
			}
			if ok && string(canonical) != *v.Canonical {
				t.Errorf("Canonical is %q, want %q", canonical, *v.Canonical)
			}
		})
	}
}

// Vectors have one fingerprint exactly when same_as says so, as their README
// promises.
func TestVectorsDiffer(t *testing.T) {
	first := map[string]string{} // by fingerprint
	for _, v := range readVectors(t) {
		want := v.SameAs
		if other, seen := first[v.Fingerprint]; other != want {
			t.Errorf("%s has the fingerprint of %q, and same_as is %q", v.Name, other, want)
		} else if !seen {
			first[v.Fingerprint] = v.Name
		}
	}
}

// The worked example in the README hashes to the fingerprint of its vector.
func TestWorkedExample(t *testing.T) {
	text, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```hex\n")
	digits, _, _ := strings.Cut(after, "```")
	hashed, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	if err != nil || len(hashed) != 143 {
		t.Fatalf("the example has %d bytes, want 143 (error: %v)", len(hashed), err)
	}
	sum := sha256.Sum256(hashed)
	got := version + hex.EncodeToString(sum[:])
	example := readVectors(t)[0]
	if example.Name != "worked-example" || got != example.Fingerprint {
		t.Errorf("the example hashes to %s, vector %s has %s", got, example.Name, example.Fingerprint)
	}
	if !bytes.Contains(text, []byte(got)) {
		t.Errorf("the README does not show %s", got)
	}
}
