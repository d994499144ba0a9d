package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// row is a row of docs/configuration.md.
type row struct{ key, variable, flag, standard, limits string }

// rows gives the rows of the page's tables; "–" stands for nothing.
func rows(t *testing.T) (found []row) {
	t.Helper()
	cell := "(?:`([^`]+)`|–)"
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| "+cell+" \\| "+cell+" \\| "+cell+" \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(configurationPage(t), -1) {
		found = append(found, row{m[1], m[2], m[3], m[4], m[5]})
	}
	return found
}

// Ensure that the page on the configuration has every setting once, with its variable, its flag and its default, and
// nothing that is no setting.
func TestConfigurationPage(t *testing.T) {
	got := map[string]row{}
	for _, r := range rows(t) {
		if _, twice := got[r.key]; twice {
			t.Errorf("the page has %s twice", r.key)
		}
		got[r.key] = r
	}
	for _, s := range settings {
		want := row{key: s.key, variable: s.env(), standard: s.get(defaultConfig()), limits: got[s.key].limits}
		if !s.noFlag {
			want.flag = "--" + s.flag()
		}
		if got[s.key] != want {
			t.Errorf("%s: the page says %+v, the program %+v", s.key, got[s.key], want)
		}
		delete(got, s.key)
	}
	for key := range got {
		t.Errorf("the page has %s, which is no setting", key)
	}
	rowsAtAll := regexp.MustCompile("(?m)^\\| `").FindAllString(configurationPage(t), -1)
	if len(rowsAtAll) != len(settings) {
		t.Errorf("the page has %d rows, of which some have another form, for %d settings", len(rowsAtAll), len(settings))
	}
}

// Ensure that the limits which the page gives as numbers are those of the program: each end is taken, and what is next to
// it is refused.
func TestConfigurationLimits(t *testing.T) {
	tried := 0
	for _, r := range rows(t) {
		m := regexp.MustCompile(`^(?:(\d+\w*) to|.* to) (\d+\w*)(?:,.*)?$|^(\d+\w*) or more$`).FindStringSubmatch(r.limits)
		if m == nil {
			continue
		}
		if least := m[1] + m[3]; least != "" {
			tryLimit(t, r, least, -1)
			tried++
		}
		if most := m[2]; most != "" {
			tryLimit(t, r, most, +1)
			tried++
		}
	}
	if tried < 30 {
		t.Errorf("only %d limits were tried: the form of the page must have changed", tried)
	}
}

// tryLimit tries a limit, and the value beyond it.
func tryLimit(t *testing.T, r row, limit string, beyond int) {
	t.Helper()
	more := []string{}
	if r.key == "limits.response_body" { // it has to fit into a request
		more = append(more, "REPRISE_LIMITS_REQUEST_BODY=1000000000")
	}
	if o := runProgram(t, append(more, r.variable+"="+limit), "config", "print"); o.code != exitOK {
		t.Errorf("%s: the page allows %s, and the program says: %s", r.key, limit, o.stderr)
	}
	over := next(t, limit, beyond)
	if o := runProgram(t, append(more, r.variable+"="+over), "config", "print"); o.code != exitUsage {
		t.Errorf("%s: the page ends at %s, and the program takes %s", r.key, limit, over)
	}
}

// next gives the number, or the duration in milliseconds, beside one.
func next(t *testing.T, value string, step int) string {
	t.Helper()
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(n + step)
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%dms", d.Milliseconds()+int64(step))
}

// Ensure that the example of a file is one that the program reads, and that every setting in it has an effect.
func TestConfigurationExample(t *testing.T) {
	examples := blocks(configurationPage(t), "yaml")
	if len(examples) != 1 {
		t.Fatalf("the page has %d examples, want 1", len(examples))
	}
	example := strings.Replace(examples[0], "/etc/reprise/keys.pem", publicKeyFile(t), 1)
	o := runProgram(t, nil, "config", "print", "--config", writeFile(t, example))
	if o.code != exitOK {
		t.Fatalf("got %d %s", o.code, o.stderr)
	}
	standard := strings.Split(runProgram(t, nil, "config", "print").stdout, "\n")
	changed := 0
	for i, line := range strings.Split(o.stdout, "\n") {
		if line != standard[i] {
			changed++
		}
	}
	if given := len(regexp.MustCompile(`(?m)^ *\w+: \S`).FindAllString(example, -1)); changed != given {
		t.Errorf("the example gives %d settings, and %d have another value than the default:\n%s", given, changed, o.stdout)
	}
}

func configurationPage(t *testing.T) string {
	t.Helper()
	return pages(t)[filepath.Join("docs", "configuration.md")]
}
