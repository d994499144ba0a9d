package apidocs

import (
	"regexp"
	"strings"
)

// Descriptions are written with a little of Markdown: paragraphs, lists, tables, `code`, *emphasis*, **weight**. They are
// taken apart here and put together by the templates, so that nothing of them is ever taken for HTML.

// block is a paragraph, a list or a table.
type block struct {
	Paragraph []span
	List      [][]span
	Head      [][]span // of a table
	Rows      [][][]span
}

// span is a piece of text of one kind.
type span struct {
	Kind string // empty, "code", "em", "strong" or "link"
	Text string
	Href string // of a link, or of code that leads somewhere
}

// textOf takes a description apart; link gives where code leads, or nothing.
func textOf(s string, link func(code string) string) (blocks []block) {
	for _, paragraph := range strings.Split(strings.TrimSpace(s), "\n\n") {
		lines := strings.Split(strings.TrimSpace(paragraph), "\n")
		switch {
		case lines[0] == "":
		case strings.HasPrefix(lines[0], "|"):
			blocks = append(blocks, table(lines, link))
		case strings.HasPrefix(lines[0], "- "):
			blocks = append(blocks, list(lines, link))
		default:
			blocks = append(blocks, block{Paragraph: spans(strings.Join(trimmed(lines), " "), link)})
		}
	}
	return blocks
}

func trimmed(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// list reads items that begin with a dash; a line without one goes on with the item before.
func list(lines []string, link func(string) string) (b block) {
	var items []string
	for _, line := range lines {
		if item, ok := strings.CutPrefix(line, "- "); ok {
			items = append(items, item)
		} else {
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	for _, item := range items {
		b.List = append(b.List, spans(item, link))
	}
	return b
}

// table reads rows of cells between bars; the second line, of dashes, tells the first from the rest.
func table(lines []string, link func(string) string) (b block) {
	for i, line := range lines {
		var cells [][]span
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, spans(strings.TrimSpace(cell), link))
		}
		switch {
		case i == 0:
			b.Head = cells
		case i > 1:
			b.Rows = append(b.Rows, cells)
		}
	}
	return b
}

// mark finds what is more than plain text. An asterisk that no letter follows is one, as in Proxy-*.
var mark = regexp.MustCompile("`([^`]+)`|\\*\\*([^*]+)\\*\\*|\\*(\\pL[^*]*)\\*|\\bRFC ([0-9]{3,5})\\b")

func spans(s string, link func(string) string) (all []span) {
	at := 0
	for _, m := range mark.FindAllStringSubmatchIndex(s, -1) {
		if m[0] > at {
			all = append(all, span{Text: s[at:m[0]]})
		}
		at = m[1]
		group := func(n int) string { return s[m[2*n]:m[2*n+1]] }
		switch {
		case m[2] >= 0:
			all = append(all, span{Kind: "code", Text: group(1), Href: link(group(1))})
		case m[4] >= 0:
			all = append(all, span{Kind: "strong", Text: group(2)})
		case m[6] >= 0:
			all = append(all, span{Kind: "em", Text: group(3)})
		default:
			all = append(all, span{Kind: "link", Text: group(0), Href: "https://www.rfc-editor.org/rfc/rfc" + group(4)})
		}
	}
	if at < len(s) {
		all = append(all, span{Text: s[at:]})
	}
	return all
}
