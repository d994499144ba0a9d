package apidocs

import (
	"embed"
	"html/template"
	"net/http"
	"strings"
)

//go:embed templates
var templates embed.FS

//go:embed style.css
var stylesheet []byte

//go:embed icon.svg
var icon []byte

// The templates are part of the program: one that is broken is found by its first test.
var (
	indexPage    = layout("index.html")
	apiPage      = layout("api.html")
	problemsPage = layout("problems.html")
	problemPage  = layout("problem.html")
	missingPage  = layout("missing.html")
)

// layout gives the template of a page within the frame that all have.
func layout(name string) *template.Template {
	functions := template.FuncMap{"lower": strings.ToLower, "statusText": http.StatusText}
	return template.Must(template.New("frame.html").Funcs(functions).ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/"+name))
}
