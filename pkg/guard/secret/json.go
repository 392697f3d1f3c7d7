package secret

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// JSON redacts the strings of a JSON value, names of members among them, and
// reports whether there was anything. What is not JSON is redacted as text and
// comes back as a JSON string if that changed it.
func (r *Redactor) JSON(raw json.RawMessage) (json.RawMessage, bool) {
	if r == nil || len(raw) < MinKnown {
		return raw, false
	}
	all := unsafe.String(&raw[0], len(raw)) // nothing below keeps or changes it
	var out []byte
	done := 0 // raw[:done] is in out
	for i := 0; i < len(raw); {
		q := bytes.IndexByte(raw[i:], '"')
		if q < 0 {
			break
		}
		from := i + q
		to, escaped := closing(raw, from)
		if to < 0 {
			return r.text(raw)
		}
		if to-from-2 < MinKnown {
			i = to
			continue
		}
		text := all[from+1 : to-1]
		if escaped {
			var ok bool
			if text, ok = unescaped(raw[from:to]); !ok {
				return r.text(raw)
			}
		}
		if clean, hit := r.String(text); hit {
			out = append(append(out, raw[done:from]...), quote(clean)...)
			done = to
		}
		i = to
	}
	if done == 0 {
		return raw, false
	}
	return append(out, raw[done:]...), true
}

func (r *Redactor) text(raw json.RawMessage) (json.RawMessage, bool) {
	clean, hit := r.String(string(raw))
	if !hit {
		return raw, false
	}
	return quote(strings.ToValidUTF8(clean, string(utf8.RuneError))), true
}

func unescaped(literal []byte) (s string, ok bool) {
	err := json.Unmarshal(literal, &s)
	return s, err == nil
}

// closing finds the end of the string literal that begins at raw[from], -1 if
// it has none.
func closing(raw []byte, from int) (to int, escaped bool) {
	for i := from + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			return i + 1, escaped
		}
	}
	return -1, escaped
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // strings always encode
	}
	return b
}
