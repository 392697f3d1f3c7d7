package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
)

// minForm keeps the pieces of a value that base64 leaves whole from being so
// short that they stand in texts by chance.
const minForm = 8

// forms are the ways in which a value turns up in texts, the value first.
func forms(v string) []string {
	out := []string{v}
	quoted := func(s string) string { return inner(strconv.Quote(s)) }
	once := []string{jsonForm(v, true), jsonForm(v, false), quoted(v), strings.ReplaceAll(v, "/", `\/`)}
	out = append(out, once...)
	out = append(out, jsonForm(once[0], true), jsonForm(once[1], false)) // JSON in JSON
	for _, u := range []string{url.QueryEscape(v), url.PathEscape(v)} {
		out = append(out, u, lowerHex(u), url.QueryEscape(u))
	}
	out = append(out, html.EscapeString(v))
	if h := hex.EncodeToString([]byte(v)); len(v) >= minForm {
		out = append(out, h, strings.ToUpper(h))
	}
	for lead := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if p := piece(enc, v, lead); len(p) >= minForm {
				out = append(out, p)
			}
		}
	}
	return out
}

// piece is the part of the base64 form of a text that v alone decides, when
// lead bytes of a group of three stand before v.
func piece(enc *base64.Encoding, v string, lead int) string {
	s := enc.EncodeToString(append(make([]byte, lead), v...))
	from := (lead*8 + 5) / 6
	to := (lead + len(v)) * 8 / 6
	return s[min(from, to):to]
}

func jsonForm(v string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(v) != nil {
		return v
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// lowerHex writes the escapes of a URL as some programs do.
func lowerHex(u string) string {
	b := []byte(u)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}
