package publish

import (
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

// A block is one of Notion's. Body is what stands under its type.
type block struct {
	Type string
	Body body
}

// A body has what the blocks that posts need are made of.
type body struct {
	Text     []span    `json:"rich_text,omitempty"`
	Language string    `json:"language,omitempty"`
	Checked  *bool     `json:"checked,omitempty"`
	Kind     string    `json:"type,omitempty"` // of an image
	External *external `json:"external,omitempty"`
	Caption  []span    `json:"caption,omitempty"`
	Width    int       `json:"table_width,omitempty"`
	Header   bool      `json:"has_column_header,omitempty"`
	Cells    [][]span  `json:"cells,omitempty"`
	Children []block   `json:"children,omitempty"`
}

type external struct {
	URL string `json:"url"`
}

// MarshalJSON puts the body under the block's type.
func (b block) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"object": "block", "type": b.Type, b.Type: b.Body})
}

// total counts a block and those in it.
func (b block) total() int {
	n := 1
	for _, c := range b.Body.Children {
		n += c.total()
	}
	return n
}

var (
	headingLine = lazyregexp.New(`^(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	listLine    = lazyregexp.New(`^([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(.*)$`)
	taskText    = lazyregexp.New(`^\[([ xX])\][ \t]+(.*)$`)
	ruleLine    = lazyregexp.New(`^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	tableRule   = lazyregexp.New(`^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$`)
	imageLine   = lazyregexp.New(`^!\[([^\]]*)\]\((https?://[^\s)]+)(?:[ \t]+"[^"]*")?\)$`)
)

// blocks reads the Markdown that posts are written in. What it does not know
// stays as it is written, so that nothing is lost.
func blocks(text string) []block {
	r := &reader{lines: strings.Split(text, "\n")}
	var out []block
	for r.at < len(r.lines) {
		out = append(out, r.next()...)
	}
	return out
}

type reader struct {
	lines []string
	at    int
}

func (r *reader) next() []block {
	line := r.lines[r.at]
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		r.at++
		return nil
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		return r.code(trimmed)
	case ruleLine.MatchString(line):
		r.at++
		return []block{{Type: "divider"}}
	case headingLine.MatchString(line):
		r.at++
		m := headingLine.FindStringSubmatch(line)
		return prose([]string{"heading_1", "heading_2", "heading_3"}[min(len(m[1]), 3)-1], m[2])
	case imageLine.MatchString(trimmed):
		r.at++
		m := imageLine.FindStringSubmatch(trimmed)
		if len(m[2]) > maxText {
			return prose("paragraph", trimmed)
		}
		return []block{{"image", body{Kind: "external", External: &external{m[2]}, Caption: plainText(m[1])}}}
	case strings.HasPrefix(trimmed, ">"):
		return r.quote()
	case listLine.MatchString(line):
		return r.list(0)
	case strings.Contains(line, "|") && r.at+1 < len(r.lines) && strings.Contains(r.lines[r.at+1], "-") && tableRule.MatchString(strings.TrimSpace(r.lines[r.at+1])):
		return r.table()
	}
	return r.paragraph()
}

// prose is a block of text, or several if the text is too long for one.
func prose(kind, text string) []block {
	spans := inline(text)
	if len(spans) == 0 {
		return nil
	}
	var out []block
	for len(spans) > 0 {
		n := min(len(spans), maxSpans)
		out = append(out, block{kind, body{Text: spans[:n:n]}})
		spans = spans[n:]
	}
	return out
}

func (r *reader) paragraph() []block {
	var text []string
	for ; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		trimmed := strings.TrimSpace(line)
		if len(text) > 0 && (trimmed == "" || headingLine.MatchString(line) || ruleLine.MatchString(line) || listLine.MatchString(line) ||
			strings.HasPrefix(trimmed, ">") || strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")) {
			break
		}
		// Two spaces or a backslash at the end break the line.
		if strings.HasSuffix(line, "  ") || strings.HasSuffix(line, "\\") {
			trimmed = strings.TrimSuffix(trimmed, "\\") + "\n"
		}
		text = append(text, trimmed)
	}
	return prose("paragraph", strings.ReplaceAll(strings.Join(text, " "), "\n ", "\n"))
}

func (r *reader) quote() []block {
	var text []string
	for ; r.at < len(r.lines); r.at++ {
		rest, ok := strings.CutPrefix(strings.TrimSpace(r.lines[r.at]), ">")
		if !ok {
			break
		}
		text = append(text, strings.TrimPrefix(rest, " "))
	}
	return prose("quote", strings.TrimSpace(strings.Join(text, "\n")))
}

func (r *reader) code(open string) []block {
	mark := open[:len(open)-len(strings.TrimLeft(open, open[:1]))]
	info := strings.Fields(strings.TrimLeft(open, open[:1]))
	lang := ""
	if len(info) > 0 {
		lang = info[0]
	}
	var text []string
	for r.at++; r.at < len(r.lines); r.at++ {
		t := strings.TrimSpace(r.lines[r.at])
		if strings.HasPrefix(t, mark) && strings.Trim(t, mark[:1]) == "" {
			r.at++
			break
		}
		text = append(text, r.lines[r.at])
	}
	spans := plainText(strings.Join(text, "\n"))
	var out []block
	for len(spans) > 0 {
		n := min(len(spans), maxSpans)
		out = append(out, block{"code", body{Text: spans[:n:n], Language: language(lang)}})
		spans = spans[n:]
	}
	return out
}

// maxDepth is how deep blocks may nest in one request. Lists go no deeper than
// that; what is further in stands beside it.
const maxDepth = 2

func (r *reader) list(depth int) []block {
	var out []block
	indent := -1
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		m := listLine.FindStringSubmatch(line)
		if m == nil || ruleLine.MatchString(line) {
			rest := strings.TrimSpace(line)
			// A blank line ends a list unless it goes on right after.
			if rest == "" && r.at+1 < len(r.lines) && listLine.MatchString(r.lines[r.at+1]) {
				r.at++
				continue
			}
			if rest != "" && len(out) > 0 && strings.HasPrefix(line, "  ") {
				r.at++
				last := &out[len(out)-1]
				if more := inline(" " + rest); len(last.Body.Text)+len(more) <= maxSpans {
					last.Body.Text = append(last.Body.Text, more...)
				} else {
					out = append(out, prose("paragraph", rest)...)
				}
				continue
			}
			break
		}
		in := len(strings.ReplaceAll(m[1], "\t", "    "))
		if indent < 0 {
			indent = in
		}
		switch {
		case in >= indent+2 && depth < maxDepth-1 && len(out) > 0:
			last := &out[len(out)-1]
			kids := r.list(depth + 1)
			room := min(len(kids), maxChildren-len(last.Body.Children))
			last.Body.Children = append(last.Body.Children, kids[:room]...)
			out = append(out, kids[room:]...)
			continue
		case in < indent-1:
			return out
		}
		r.at++
		out = append(out, item(m)...)
	}
	return out
}

func item(m []string) []block {
	kind, text := "bulleted_list_item", m[4]
	if m[3] != "" {
		kind = "numbered_list_item"
	}
	if t := taskText.FindStringSubmatch(text); t != nil {
		done := t[1] != " "
		out := prose("to_do", t[2])
		for i := range out {
			out[i].Body.Checked = &done
		}
		return out
	}
	return prose(kind, text)
}

func (r *reader) table() []block {
	width := min(len(cells(r.lines[r.at])), maxChildren)
	var rows []block
	for start := r.at; r.at < len(r.lines) && strings.Contains(r.lines[r.at], "|"); r.at++ {
		if r.at == start+1 {
			continue
		}
		row := make([][]span, width)
		for i, c := range cells(r.lines[r.at]) {
			if i < width {
				row[i] = inline(c)
			}
		}
		for i := range row {
			if row[i] == nil {
				row[i] = []span{}
			}
			row[i] = row[i][:min(len(row[i]), maxSpans)]
		}
		rows = append(rows, block{"table_row", body{Cells: row}})
	}
	var out []block
	for first := true; len(rows) > 0; first = false {
		n := min(len(rows), maxChildren)
		out = append(out, block{"table", body{Width: width, Header: first, Children: rows[:n:n]}})
		rows = rows[n:]
	}
	return out
}

// cells are those of a row; \| is no border.
func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var out []string
	for _, c := range strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|"))
	}
	return out
}
