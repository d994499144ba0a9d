package apidocs

import "strings"

// headerView is a header of answers.
type headerView struct {
	ID, Name    string
	Limits      []string
	Values      []string
	Pattern     string
	Description []block

	ref string
}

// headers gives the headers of answers: those of more than half of them, which are told once, and the others.
func (b *builder) headers() (usual, unusual []headerView) {
	names, uses, answers := map[string]string{}, map[string]int{}, 0
	b.doc.eachAnswer(func(_ string, r *response) {
		answers++
		for _, h := range r.Headers {
			names[h.Value.Ref] = h.Name
			uses[h.Value.Ref]++
		}
	})
	for _, c := range b.doc.Components.Headers {
		ref := "#/components/headers/" + c.Name
		if uses[ref] == 0 {
			continue
		}
		sh := b.doc.shape(c.Value.Schema)
		v := headerView{ID: "header-" + c.Name, Name: names[ref], Limits: sh.limits, Description: b.text(c.Value.Description), Pattern: sh.pattern, ref: ref}
		for _, value := range sh.enum {
			v.Values = append(v.Values, strings.Trim(value, `"`))
		}
		if uses[ref]*2 > answers {
			usual = append(usual, v)
		} else {
			unusual = append(unusual, v)
		}
	}
	return usual, unusual
}
