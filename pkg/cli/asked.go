package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// about is what a question about a tool call shows, nil if it is about
// something else.
func about(q *jobs.Question) *executor.Question {
	var e executor.Question
	if q == nil || json.Unmarshal(q.About, &e) != nil || e.Tool == "" {
		return nil
	}
	return &e
}

// question says in one line what a person is asked.
func question(q *jobs.Question) string {
	if q == nil {
		return "see adroit jobs show"
	}
	if e := about(q); e != nil {
		text := fmt.Sprintf("may %s run with %s", e.Tool, plainly(readable(e.Args)))
		if n := len([]rune(text)); n > 240 {
			text = fmt.Sprintf("%s (%s in all; adroit jobs show shows them)", cut(text, 240), plural(n, "character"))
		}
		if e.Why != "" {
			text += "; " + e.Why
		}
		return text
	}
	if w := inWords(q); w != "" {
		return w
	}
	var names []string
	for _, s := range q.Signals {
		names = append(names, bare(s))
	}
	return "one of " + strings.Join(names, ", ")
}

// inWords is a question that a workflow puts in words, such as the step of a
// pipeline that waits.
func inWords(q *jobs.Question) string {
	var e struct{ Question string }
	if json.Unmarshal(q.About, &e) != nil {
		return ""
	}
	return plainly(line(e.Question))
}

// asked shows what exactly will run, each argument on lines of its own, and
// where; at most limit characters of each argument, all of it if limit is
// negative. whole says that nothing was left out.
func asked(q *jobs.Question, limit int) (text string, whole bool) {
	e := about(q)
	if w := inWords(q); e == nil && w != "" {
		return fmt.Sprintf("     asks: %s\n", w), true
	}
	if e == nil {
		return fmt.Sprintf("     asks: %s\n", plainly(string(q.About))), true
	}
	whole = true
	var b strings.Builder
	fmt.Fprintf(&b, "     %s wants to run:\n", plainly(line(e.Tool)))
	put := func(name, text string) {
		if text != "" {
			text = strings.ReplaceAll(plainly(text), "\n", "\n         ")
			fmt.Fprintf(&b, "       %s: %s\n", plainly(line(name)), text)
		}
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(e.Args, &args) != nil {
		put("arguments", string(e.Args))
	}
	all := ""
	for _, name := range slices.Sorted(maps.Keys(args)) {
		text := readable(args[name])
		var s string
		if json.Unmarshal(args[name], &s) == nil {
			text = s
		}
		all += text + " "
		if n := len([]rune(text)); limit >= 0 && n > limit {
			whole = false
			text = fmt.Sprintf("%s (%s in all; v shows them)", cut(text, limit), plural(n, "character"))
		}
		put(name, text)
	}
	if alike := lookalikes(all); len(alike) > 0 {
		put("look", "letters of several alphabets in one word: "+strings.Join(alike, ", "))
	}
	put("in", e.Dir)
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		put("publishes", fmt.Sprintf("%s (sha256 %.12s)", name, e.Files[name]))
	}
	around := ""
	if e.Sandbox != "" {
		around = e.Sandbox
		if e.Network != "" {
			around += ", "
		}
	}
	if e.Network != "" {
		around += "network " + e.Network
	}
	put("sandbox", around)
	put("may", strings.Join(e.Needs.Names(), ", "))
	put("because", e.Why)
	return b.String(), whole
}

var spaces = lazyregexp.New(` {9,}`)

// plainly is lines for text that a person is to approve: nothing in it is
// unseen, and no run of spaces pushes the rest out of sight.
func plainly(s string) string {
	var b strings.Builder
	for _, r := range lines(s) {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
			r != ' ' && unicode.Is(unicode.Z, r), unicode.Is(unicode.Co, r), r == 0x2800:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return spaces.ReplaceAllStringFunc(b.String(), func(run string) string { return fmt.Sprintf(" [%d spaces] ", len(run)) })
}

// lookalikes are words that mix ASCII letters with those of alphabets that have
// the same shapes, each with the strange letter by number.
func lookalikes(s string) []string {
	const most = 8
	var out []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		ascii, strange := false, rune(0)
		for _, r := range w {
			ascii = ascii || r < 0x80
			if unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu) || r >= 0xff21 && r <= 0xff5a || r >= 0x1d400 && r <= 0x1d7ff {
				strange = r
			}
		}
		if text := fmt.Sprintf("%s (U+%04X)", w, strange); ascii && strange != 0 && len(out) < most && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// readable is JSON as a person would write it: < and > for themselves.
func readable(raw json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// bare is the name of a signal without the step it is for.
func bare(signal string) string {
	name, _, _ := strings.Cut(signal, "@")
	return name
}
