package apidocs

import "slices"

// problemView is the page of a problem.
type problemView struct {
	Code, Title, Advice       string
	Status                    int
	Meaning, Action, Operator []block
	Calls                     []callLink // that it can answer
	Example                   string
}

type callLink struct{ Name, Href string }

// problems makes the pages of problems. folder is where they are, as seen from the page that shows a view; api is the API page.
func (b *builder) problems(folder, api string) (all []problemView) {
	for _, p := range b.doc.Problems {
		v := problemView{Code: p.Name, Title: p.Value.Title, Advice: p.Value.Advice, Status: p.Value.Status, Calls: b.callsWith(p.Name, api),
			Meaning: b.textOnProblems(p.Value.Meaning, folder), Action: b.textOnProblems(p.Value.Action, folder),
			Operator: b.textOnProblems(p.Value.Operator, folder), Example: jsonOf(p.Value.example)}
		all = append(all, v)
	}
	return all
}

// callsWith gives the calls that a problem can answer.
func (b *builder) callsWith(code, api string) (all []callLink) {
	for _, o := range b.callers[code] {
		all = append(all, callLink{Name: o.ID, Href: api + "#" + o.ID})
	}
	return all
}

// callersOf gives the calls that each problem can answer, by its code.
func callersOf(d *document) map[string][]*operation {
	callers := map[string][]*operation{}
	for _, o := range d.operations {
		for _, r := range o.Responses {
			for _, c := range d.response(r.Value).Content {
				for _, code := range d.codes(c.Value.Schema) {
					if !slices.Contains(callers[code], o) {
						callers[code] = append(callers[code], o)
					}
				}
			}
		}
	}
	return callers
}
