package apidocs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Ensure that every code has a page that says what it means and what to do, and that the table links to all of them.
func TestEveryProblem(t *testing.T) {
	var linked []string
	for _, a := range all(byID(read(t, ours(t), "/docs/problems"), "content"), "a") {
		if code, ok := strings.CutPrefix(attribute(a, "href"), "problems/"); ok {
			linked = append(linked, code)
		}
	}
	slices.Sort(linked)
	codes := problemCodes(t)
	if !slices.Equal(linked, codes) {
		t.Errorf("the table links to %v, want %v", linked, codes)
	}
	for _, code := range codes {
		page := read(t, ours(t), "/docs/problems/"+code)
		explained := explanation(t, code)
		got := text(byID(page, "content"))
		for _, part := range []string{"title", "advice", "meaning", "action", "operator"} {
			if want, _ := explained[part].(string); !strings.Contains(got, firstWords(want)) {
				t.Errorf("%s: the page is without its %s: %q", code, part, firstWords(want))
			}
		}
		if want := fmt.Sprint(explained["status"]); !strings.Contains(got, want) {
			t.Errorf("%s: the page is without its status %s", code, want)
		}
	}
}

// Ensure that the page of a problem names every call that can answer it, once, and leads to it.
func TestCallsOfAProblem(t *testing.T) {
	for code, want := range map[string][]string{
		"lease_lost":       {"reserve", "complete", "release", "heartbeat"},
		"in_progress":      {"reserve", "resolve", "expire"},
		"version_conflict": {"resolve", "expire"},
		"not_found":        {"lookup", "resolve", "expire"},
	} {
		var got []string
		for _, a := range all(read(t, ours(t), "/docs/problems/"+code), "a") {
			if id, ok := strings.CutPrefix(attribute(a, "href"), "../api#"); ok && id == text(a) {
				got = append(got, id)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the calls are %v, want %v", code, got, want)
		}
	}
}

// Ensure that the example of a problem is JSON that says the same of its code as the explanation.
func TestProblemExamples(t *testing.T) {
	for _, code := range problemCodes(t) {
		shown := all(read(t, ours(t), "/docs/problems/"+code), "pre")
		if len(shown) != 1 {
			t.Fatalf("%s: %d examples, want 1", code, len(shown))
		}
		var got struct {
			Type, Title, Code, Advice string
			Status                    int
		}
		if err := json.Unmarshal([]byte(literal(shown[0])), &got); err != nil {
			t.Errorf("%s: the example is no JSON: %v", code, err)
		}
		explained := explanation(t, code)
		if got.Type != "/docs/problems/"+code || got.Code != code || got.Title != explained["title"] || got.Advice != explained["advice"] ||
			fmt.Sprint(got.Status) != fmt.Sprint(explained["status"]) {
			t.Errorf("%s: the example says %+v, and x-problems %v", code, got, explained)
		}
	}
}

// Ensure that a problem is explained with the status, title and advice that the API answers with: its one table says so.
func TestProblemsAreThoseOfTheAPI(t *testing.T) {
	answered := tableOfProblems(t)
	if len(answered) < 17 {
		t.Fatalf("%d problems were found in problem.go, want at least 17", len(answered))
	}
	for code, said := range answered {
		explained := explanation(t, code)
		want := fmt.Sprintf("%v %v %v", explained["status"], explained["title"], explained["advice"])
		if said != want {
			t.Errorf("%s: the API answers %q, and x-problems says %q", code, said, want)
		}
	}
	for _, code := range problemCodes(t) {
		if _, ok := answered[code]; !ok {
			t.Errorf("%s is explained, and the API does not have it", code)
		}
	}
}

// tableOfProblems reads status, title and advice by code from the sources of the API, which this package must not import.
func tableOfProblems(t *testing.T) map[string]string {
	t.Helper()
	codes, advices := constants(t, "../errors.go"), constants(t, "../../client/wire/problem.go")
	table := map[string]string{}
	ast.Inspect(parsedFile(t, "../httpapi/problem.go"), func(n ast.Node) bool {
		row, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, isCode := row.Key.(*ast.SelectorExpr)
		value, isRow := row.Value.(*ast.CompositeLit)
		if !isCode || !isRow || len(value.Elts) != 3 {
			return true
		}
		status, title := value.Elts[0].(*ast.BasicLit).Value, strings.Trim(value.Elts[1].(*ast.BasicLit).Value, `"`)
		table[codes[key.Sel.Name]] = status + " " + title + " " + advices[value.Elts[2].(*ast.SelectorExpr).Sel.Name]
		return true
	})
	return table
}

// constants reads the texts that a file gives names to.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	all := map[string]string{}
	ast.Inspect(parsedFile(t, file), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				all[spec.Names[0].Name] = strings.Trim(value.Value, `"`)
			}
		}
		return true
	})
	return all
}

func parsedFile(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func explanation(t *testing.T, code string) map[string]any {
	t.Helper()
	explained, ok := description(t).Extensions["x-problems"].(map[string]any)[code].(map[string]any)
	if !ok {
		t.Errorf("x-problems does not have %s", code)
	}
	return explained
}

// literal gives the text of an element as it is.
func literal(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
