package permit

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is a word of a command as it is known before anything runs.
type word struct {
	text   string // what it is; if not static, what it begins with
	static bool   // nothing in it is made up at run time
	glob   bool   // it has wildcards: it may become several words
	spread bool   // something in it is made up and unquoted: it may become several words, or none
	number bool   // it is a number that the shell makes up, as $? and $!
}

// String is the word for people: three dots stand for what is not known.
func (w word) String() string {
	if w.known() || w.text != "" && w.spread {
		return w.text
	}
	return "…"
}

// known reports whether the word is exactly its text.
func (w word) known() bool { return w.static && !w.glob }

// single reports whether the word is one word, whatever it turns out to be.
func (w word) single() bool { return !w.glob && !w.spread }

// plain reports whether the word can be written in a rule as it is.
func (w word) plain() bool {
	return w.known() && w.text != "" && !strings.ContainsAny(w.text, "* \t\n|;&<>()`\"'\\")
}

// mayBeOption reports whether the word, or one that it becomes, may be an
// option as far as is known.
func (w word) mayBeOption() bool {
	return w.spread || strings.HasPrefix(w.text, "-") || !w.static && w.text == "" || w.glob && strings.IndexAny(w.text, "*?[") == 0
}

// readWord reads a word without running anything. It looks at every part: what
// is unquoted at the end can split what is quoted at the beginning.
func readWord(w *syntax.Word) word {
	r := wordReader{word: word{static: true}}
	if w == nil {
		return r.word
	}
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			r.literal(p.Value, i == 0)
		case *syntax.SglQuoted:
			if p.Dollar {
				r.static = false
			} else {
				r.add(p.Value)
			}
		case *syntax.DblQuoted:
			r.quoted(p)
		case *syntax.ParamExp:
			r.static, r.spread = false, true
			if p.Param != nil && p.Short && len(w.Parts) == 1 && strings.Contains("?!#$", p.Param.Value) {
				r.spread, r.number = false, true
			}
		default:
			r.static, r.spread = false, true
		}
	}
	r.text = r.b.String()
	r.glob = r.glob && w.Lit() != "[" // that is a command
	return r.word
}

type wordReader struct {
	word
	b strings.Builder
}

// add takes literal text, as long as nothing before it is made up.
func (r *wordReader) add(s string) {
	if r.static {
		r.b.WriteString(s)
	}
}

// literal takes unquoted text.
func (r *wordReader) literal(s string, first bool) {
	if first && strings.HasPrefix(s, "~") || strings.Contains(strings.ReplaceAll(s, "{}", ""), "{") {
		r.static, r.spread = false, true
		return
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				r.add(s[i : i+1])
			}
		case '*', '?', '[':
			r.glob = true
			r.add(s[i : i+1])
		default:
			r.add(s[i : i+1])
		}
	}
	if r.glob && !r.static {
		r.spread = true // it may become the names of any files
	}
}

func (r *wordReader) quoted(q *syntax.DblQuoted) {
	if q.Dollar {
		r.static = false
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			r.static = false
			// "$@" is a word for each, also where it stands in for something else.
			if p, isParam := part.(*syntax.ParamExp); isParam && (p.Param != nil && p.Param.Value == "@" || p.Exp != nil && p.Exp.Word != nil && p.Exp.Word.Lit() == "") {
				r.spread = true
			}
			continue
		}
		s := lit.Value
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
				if i++; s[i] == '\n' {
					continue
				}
			}
			r.add(s[i : i+1])
		}
	}
}
