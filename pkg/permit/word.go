package permit

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is what is known of a word before anything runs.
type word struct {
	text   string // what it is; if not static, what it begins with
	static bool   // nothing in it is made up at run time
	glob   bool   // it has wildcards: it may become several words
	spread bool   // it is unquoted and made up: it may become several words, or none
}

// known reports whether the word is exactly its text.
func (w word) known() bool { return w.static && !w.glob }

// plain reports whether the word can be written in a rule as it is.
func (w word) plain() bool {
	return w.known() && w.text != "" && !strings.ContainsAny(w.text, "* \t\n|;&<>()`\"'\\")
}

// option reports whether the word may be an option, as far as is known.
func (w word) option() bool {
	return strings.HasPrefix(w.text, "-") || !w.static && w.text == "" || w.glob && strings.IndexAny(w.text, "*?[") == 0
}

// still reads a word without running anything.
func still(w *syntax.Word) word {
	out := word{static: true}
	if w == nil {
		return out
	}
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.literal(&b, p.Value, i == 0)
		case *syntax.SglQuoted:
			if p.Dollar {
				out.static = false
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			out.quoted(&b, p)
		default:
			out.static, out.spread = false, true
		}
		if !out.static {
			break
		}
	}
	out.text = b.String()
	return out
}

// literal takes unquoted text.
func (w *word) literal(b *strings.Builder, s string, first bool) {
	if first && strings.HasPrefix(s, "~") || strings.Contains(strings.ReplaceAll(s, "{}", ""), "{") {
		w.static, w.spread = false, true
		return
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[':
			w.glob = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}

func (w *word) quoted(b *strings.Builder, q *syntax.DblQuoted) {
	if q.Dollar {
		w.static = false
		return
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			w.static = false
			if p, isParam := part.(*syntax.ParamExp); isParam && p.Param != nil && p.Param.Value == "@" {
				w.spread = true
			}
			return
		}
		s := lit.Value
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
				if i++; s[i] == '\n' {
					continue
				}
			}
			b.WriteByte(s[i])
		}
	}
}
