package reprise_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/reprise-idempotency/reprise"

// layers says what a package of this repository may import of it, tests apart. Packages are named by their folder; a
// package that is not listed may import nothing of the repository.
var layers = map[string][]string{
	".":                              {},
	"client/wire":                    {},
	"client/fingerprint":             {},
	"client":                         {"client/wire", "client/fingerprint"},
	"client/clienttest":              {"client", "client/wire", "client/fingerprint"},
	"migrations":                     {},
	"storage":                        {},
	"storage/column":                 {"storage"},
	"storage/life":                   {"storage"},
	"storage/cas":                    {"storage", "storage/life"},
	"storage/browse":                 {"storage"},
	"storage/postgres":               {"storage", "storage/browse", "storage/cas", "storage/column", "migrations"},
	"storage/sqlite":                 {"storage", "storage/browse", "storage/cas", "storage/column", "migrations"},
	"storage/storagetest":            {"storage", "storage/cas", "storage/storagetest/linear", "storage/storagetest/model"},
	"storage/storagetest/faultproxy": {},
	"storage/storagetest/faultstore": {"storage"},
	"storage/storagetest/lab":        {"storage/storagetest/pgtest"},
	"storage/storagetest/linear":     {"storage"},
	"storage/storagetest/model":      {"storage"},
	"storage/storagetest/pgtest":     {},
	"service":                        {"storage", "service/auth", "service/waiting", "client/fingerprint"},
	"service/waiting":                {"storage"},
	"service/sweeper":                {"storage"},
	"service/metrics":                {"storage", "service/sweeper", "service/waiting"},
	"service/auth":                   {},
	"service/apidocs":                {},
	"service/httpapi":                {"service", "service/auth", "service/httpapi/hangup", "storage", "client/wire", "client/fingerprint"},
	"service/httpapi/hangup":         {},
	"cmd/reprise": {".", "client/wire", "service", "service/apidocs", "service/auth", "service/httpapi", "service/metrics",
		"service/sweeper", "storage", "storage/postgres", "storage/sqlite", "migrations"},
}

// outside says which packages alone may import a library.
var outside = map[string][]string{
	"github.com/labstack/echo":       {"service/httpapi"},
	"github.com/jackc/pgx":           {"storage/postgres", "storage/storagetest/pgtest", "bench", "crash"},
	"github.com/ory/dockertest":      {"storage/storagetest/pgtest"},
	"modernc.org/sqlite":             {"storage/sqlite", "bench", "crash"},
	"database/sql":                   {"storage/sqlite", "migrations", "bench", "crash"},
	"golang.org/x/sys":               {"service/httpapi/hangup"},
	"net/http":                       {"client", "client/clienttest", "service/apidocs", "service/httpapi", "cmd/reprise", "bench", "crash"},
	"github.com/golang-jwt/jwt":      {"service/auth"},
	"github.com/pressly/goose":       {"migrations", "storage/postgres", "storage/sqlite", "cmd/reprise"},
	"github.com/spf13/cobra":         {"cmd/reprise"},
	"github.com/knadh/koanf":         {"cmd/reprise"},
	"github.com/prometheus/":         {"service/metrics", "cmd/reprise"},
	"github.com/anishathalye/":       {"storage/storagetest/linear"},
	"testing":                        {"client/clienttest", "storage/storagetest", "storage/storagetest/lab", "storage/storagetest/model", "storage/storagetest/pgtest", "bench", "crash"},
	"github.com/getkin/kin-openapi":  {},
	"go.yaml.in/yaml":                {"service/apidocs"},
	"github.com/go-json-experiment/": {"service/httpapi"},
}

// programs are tools of this repository, which nothing imports and which may import anything of it.
var programs = []string{"bench", "crash", "mutants"}

// Ensure that every package imports only what its layer allows, and that a library stays in its room. The files are
// parsed: the answer of the go command may be a cached one.
func TestImports(t *testing.T) {
	seen := map[string]bool{}
	eachImport(t, func(folder, path string) {
		seen[folder] = true
		if own, ok := strings.CutPrefix(path+"/", module+"/"); ok {
			own = strings.TrimSuffix(own, "/")
			if own == "" {
				own = "."
			}
			if !slices.Contains(programs, folder) && !slices.Contains(layers[folder], own) {
				t.Errorf("%s imports %s, which its layer does not allow", folder, own)
			}
			return
		}
		for library, rooms := range outside {
			if (path == library || strings.HasPrefix(path, strings.TrimSuffix(library, "/")+"/")) && !slices.Contains(rooms, folder) {
				t.Errorf("%s imports %s, which belongs in %v", folder, path, rooms)
			}
		}
	})
	for folder := range layers {
		if !seen[folder] {
			t.Errorf("%s is in the table of layers and has no files that import anything: is its name right?", folder)
		}
	}
}

// Ensure that the client's packages import nothing but the standard library, and wire nothing at all.
func TestClientImports(t *testing.T) {
	eachImport(t, func(folder, path string) {
		if strings.HasPrefix(folder+"/", "client/") && strings.Contains(path, ".") && !strings.HasPrefix(path, module+"/client") {
			t.Errorf("%s imports %s: the client needs nothing but the standard library", folder, path)
		}
		if folder == "client/wire" && path != "" {
			t.Errorf("client/wire imports %s: it is shapes alone", path)
		}
	})
}

// eachImport visits the imports of all files but tests; a file without any is visited once, with an empty path.
func eachImport(t *testing.T, visit func(folder, path string)) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(file))
		visit(folder, "")
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			visit(folder, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
