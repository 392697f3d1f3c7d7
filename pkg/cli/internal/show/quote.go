package show

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"

	"slices"
	"strings"
	"unicode"
)

// Quote is lines for text that a person is to approve: nothing in it is
// unseen, and no run of spaces pushes the rest out of sight.
func Quote(s string) string {
	var b strings.Builder
	for _, r := range kit.Sanitize(s) {
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

// Readable is JSON as a person would write it: < and > for themselves.
func Readable(raw json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	b, err := jsontext.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

var spaces = lazyregexp.New(` {9,}`)
