// Package secret keeps secrets out of what is kept and shown: prompts, events, journals,
// logs, errors. It is for adroit.Options.Secrets.
//
// A [Redactor] knows values, such as the configured keys, and the shapes of well-known
// tokens. It replaces what it finds by words that name the kind, so that the place of the
// secret stays visible:
//
//	r := secret.New(map[string]string{"PAYMENT_KEY": key})
//	text, hit := r.String("export TOKEN=ghp_…") // export TOKEN=[secret: github token], true
//	w := r.Writer(log)                          // the same for a stream, whatever its chunks
//
// Known values are found in their JSON, URL, base64 and hex forms too. It is not a
// permission system: it is the last net below the deny list and the sandbox, and a secret
// without a known value or shape passes through.
package secret

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// New returns a Redactor of values, each shown as its name, of the values of the
// environment whose names say that they are secrets, and of well-known tokens. allow
// has the fingerprints of findings that are no secrets: git_commit prints one beside
// each finding.
func New(values map[string]string, allow ...string) *Redactor {
	var known []Known
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known = append(known, Known{Name: name, Value: values[name]})
	}
	return NewRedactor(Options{Known: append(known, Environ(os.Environ())...), Allow: allow})
}

type key struct{}

// With returns a context for work that must know r, such as a commit that
// looks for secrets in what it is about to publish.
func With(ctx context.Context, r *Redactor) context.Context { return context.WithValue(ctx, key{}, r) }

// From returns the Redactor of ctx, one for the well-known shapes if it has
// none.
func From(ctx context.Context) *Redactor {
	if r, ok := ctx.Value(key{}).(*Redactor); ok && r != nil {
		return r
	}
	return NewRedactor(Options{})
}

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

// Fingerprint names a secret without telling it: an operator can allow a
// finding by it.
func Fingerprint(value string) string {
	sum := sha256.Sum256([]byte("adroit finding\x00" + value))
	return hex.EncodeToString(sum[:8])
}

// byName is the kind of what only its name shows.
const byName = "named secret"

// maxKind bounds the length of a kind that Marked finds, in bytes.
const maxKind = 64

func mark(kind string) string { return "[secret: " + kind + "]" }

// Sure reports whether text holds a replacement of something that was more than named like a
// secret: what only a name shows may be a cursor or a colour.
func Sure(text string) bool {
	for {
		first, ok := Marked(text)
		if !ok || first != mark(byName) {
			return ok
		}
		_, text, _ = strings.Cut(text, first)
	}
}

// Marked reports whether text holds a replacement, and the first one: what a
// model copies from redacted text must not be written over the secret.
func Marked(text string) (string, bool) {
	for {
		_, rest, ok := strings.Cut(text, "[secret: ")
		if !ok {
			return "", false
		}
		if kind, _, closed := strings.Cut(rest, "]"); closed && len(kind) <= maxKind && !strings.ContainsAny(kind, "\n\"\\") {
			return mark(kind), true
		}
		text = rest
	}
}

// A Replaced is a secret in what somebody sent a job: the job keeps a mark in its place.
type Replaced = struct {
	Where       string `json:"where"` // as in "the prompt"
	Kind        string `json:"kind,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // as secrets.known takes it
}

// ReplacedWords are for who sent it.
func ReplacedWords(r Replaced) string {
	what := ""
	if r.Kind != "" {
		what = fmt.Sprintf(" (%s, fingerprint %s)", r.Kind, r.Fingerprint)
	}
	return r.Where + " has a secret in it" + what + ": the job keeps, and the model gets, [secret: …] in its place. " +
		"An agent can use what a file or a variable has that its commands read; secrets.known in the configuration names what is no secret"
}
