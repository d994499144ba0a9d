package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// configurationRow is a row of the page's tables: key, variable, default.
var configurationRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| `([A-Z0-9_]+)` \\| (?:`([^`]+)`|–) \\|")

// Ensure that the page on the configuration has every setting with its variable and its default, and no other.
func TestConfigurationPage(t *testing.T) {
	page := configurationPage(t)
	got := map[string][2]string{}
	for _, row := range configurationRow.FindAllStringSubmatch(page, -1) {
		got[row[1]] = [2]string{row[2], row[3]}
	}
	want := map[string][2]string{}
	defaults := defaultConfig()
	for _, s := range settings {
		want[s.key] = [2]string{s.env(), s.get(defaults)}
	}
	for key, row := range want {
		if got[key] != row {
			t.Errorf("%s: the page says %v, the program %v", key, got[key], row)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("the page has %s, which is no setting", key)
		}
	}
	if t.Failed() {
		t.Logf("settings: %v", slices.Sorted(maps.Keys(want)))
	}
}

// Ensure that the example file of the page is one that the program reads.
func TestConfigurationExample(t *testing.T) {
	_, rest, ok := strings.Cut(configurationPage(t), "```yaml\n")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page has no example")
	}
	file := filepath.Join(t.TempDir(), "reprise.yaml")
	example = strings.Replace(example, "/etc/reprise/keys.pem", publicKeyFile(t), 1)
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	o := runProgram(t, nil, "config", "print", "--config", file)
	if o.code != exitOK || !strings.Contains(o.stdout, `listen: "0.0.0.0:8080"`) || !strings.Contains(o.stdout, `lease_max: "15m0s"`) {
		t.Errorf("got %d %s %s", o.code, o.stdout, o.stderr)
	}
}

func configurationPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
