package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// A piece of a template is text, or the path of a value.
type piece struct {
	text string
	path []string // nil for text
	pos  int      // of the braces, in bytes
}

// split takes a template apart. Values are {{name}}, {{name.field.0}} and
// {{steps.ID.output}}; {{"…"}} is the text itself, for braces that are meant.
func split(tmpl string) ([]piece, *templateError) {
	var out []piece
	rest, at := tmpl, 0
	for {
		i := strings.Index(rest, "{{")
		if i < 0 {
			break
		}
		if i > 0 {
			out = append(out, piece{text: rest[:i], pos: at})
		}
		pos := at + i
		body, after, ok := closed(rest[i+2:])
		if !ok {
			return nil, &templateError{pos, "{{ is not closed by }}", `write {{"{{"}} for the braces themselves`}
		}
		p, err := parsePiece(strings.TrimSpace(body))
		if err != nil {
			err.pos = pos
			return nil, err
		}
		p.pos = pos
		out = append(out, p)
		at += len(rest) - len(after)
		rest = after
	}
	if rest != "" {
		out = append(out, piece{text: rest, pos: at})
	}
	return out, nil
}

// closed cuts s at the braces that close a value, of which a quoted text may
// hold some.
func closed(s string) (body, after string, ok bool) {
	if t := strings.TrimLeft(s, " \t"); strings.HasPrefix(t, `"`) {
		if q, err := strconv.QuotedPrefix(t); err == nil {
			start := len(s) - len(t) + len(q)
			body, after, ok = strings.Cut(s[start:], "}}")
			return s[:start] + body, after, ok
		}
	}
	return strings.Cut(s, "}}")
}

func parsePiece(body string) (piece, *templateError) {
	if strings.HasPrefix(body, `"`) {
		s, err := strconv.Unquote(body)
		if err != nil {
			return piece{}, &templateError{words: fmt.Sprintf("{{%s}} is no text in quotes", body), hint: `write {{"{{"}} for the braces themselves`}
		}
		return piece{text: s}, nil
	}
	path := strings.Split(body, ".")
	for i, part := range path {
		if part == "" || i == 0 && !varRule.MatchString(part) || strings.ContainsAny(part, " \t\n{}|()$\"'") {
			return piece{}, &templateError{words: fmt.Sprintf("{{%s}} is not the name of a value", body),
				hint: `write it like {{plan}}, {{plan.files.0}} or {{steps.scout.output}}; there are no functions; {{"{{"}} is a pair of braces`}
		}
	}
	return piece{path: path}, nil
}

// commandText is the text of a command, in which braces that are meant are quoted as in
// other templates. No value is put into one: what a model wrote would be run.
func commandText(tmpl string) (string, *templateError) {
	const braces = `; braces that the command is to have are written in quotes, as in {{"{{.State}}"}}`
	pieces, err := split(tmpl)
	if err != nil {
		return "", &templateError{err.pos, err.words, "no value is put into a command" + braces}
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.path != nil {
			return "", &templateError{p.pos, "no value is put into a command: what a model wrote would be run",
				"hand the value to a tool: step, for example write_file, and have the command read the file" + braces}
		}
		b.WriteString(p.text)
	}
	return b.String(), nil
}

// A templateError is a template that cannot be used.
type templateError struct {
	pos   int
	words string
	hint  string
}

func (e *templateError) Error() string {
	if e.hint == "" {
		return e.words
	}
	return e.words + "; " + e.hint
}

// A filler puts values into templates, within bounds. What a value contains is
// never looked at again.
type filler struct {
	look func(path string) (json.RawMessage, error)
	each int
	all  int
	cut  int // how many bytes of values were left out
	// genuine refuses values in which something stands for a secret.
	genuine bool
}

// get is a value.
func (f *filler) get(path string) (json.RawMessage, error) {
	v, err := f.look(path)
	if err != nil || !f.genuine {
		return v, err
	}
	if mark, ok := secret.Marked(string(v)); ok {
		return nil, fmt.Errorf("{{%s}} has %s where something was that looks like a secret, which no record keeps; have the command that reads it use it, too", path, mark)
	}
	return v, nil
}

// fill gives the text of a template.
func (f *filler) fill(tmpl string) (string, error) {
	pieces, terr := split(tmpl)
	if terr != nil {
		return "", terr
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.path == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := f.get(strings.Join(p.path, "."))
		if err != nil {
			return "", err
		}
		s := text(v)
		most := min(f.each, max(0, f.all))
		f.all -= min(len(s), most)
		f.cut += max(0, len(s)-most)
		b.WriteString(headAndTail(s, most))
	}
	return b.String(), nil
}

// value gives JSON with its texts filled. A text that is one value and nothing
// else becomes that value, whatever its kind.
func (f *filler) value(raw json.RawMessage) (json.RawMessage, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	v, err := f.walk(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (f *filler) walk(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		pieces, terr := split(v)
		if terr != nil {
			return nil, terr
		}
		if len(pieces) == 1 && pieces[0].path != nil {
			got, err := f.get(strings.Join(pieces[0].path, "."))
			if err != nil || len(got) > f.each || len(got) > f.all {
				if err != nil {
					return nil, err
				}
				return f.fill(v)
			}
			f.all -= len(got)
			return got, nil
		}
		return f.fill(v)
	case []any:
		for i := range v {
			if v[i], err = f.walk(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys) // the budget is spent in the same order always
		for _, k := range keys {
			if v[k], err = f.walk(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// paths lists what the templates in a JSON value name.
func paths(raw json.RawMessage) ([]piece, *templateError) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil, nil // the decoder has reported
	}
	var out []piece
	var terr *templateError
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			ps, err := split(v)
			if err != nil && terr == nil {
				terr = err
			}
			for _, p := range ps {
				if p.path != nil {
					out = append(out, p)
				}
			}
		case []any:
			for _, kid := range v {
				walk(kid)
			}
		case map[string]any:
			for _, kid := range v {
				walk(kid)
			}
		}
	}
	walk(v)
	slices.SortStableFunc(out, func(a, b piece) int { return slices.Compare(a.path, b.path) })
	return out, terr
}
