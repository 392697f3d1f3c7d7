package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
)

// A Matter is the front matter of a post. What is not set stays as it was
// written, to the byte.
type Matter struct {
	TOML   bool           // between +++, else YAML between ---
	JSON   bool           // an object, else the same
	Values map[string]any // as they were read; nil if they could not be
	blocks []block
	tail   string               // of JSON, between its last value and its end
	front  markdown.FrontMatter // as it was read, for its fences
}

// A block is a top-level key with its lines, or lines without a key.
type block struct{ key, raw string }

// Split takes front matter off a text. The Matter is empty if there is none.
func Split(text string) (m Matter, body string) {
	text = strings.TrimPrefix(lineEnds.Replace(text), "\uFEFF")
	if m, body, ok := splitJSON(text); ok {
		return m, body
	}
	front, body, ok := markdown.CutMatter(text)
	if !ok {
		return Matter{}, strings.TrimSpace(text)
	}
	m = Matter{TOML: front.Open == "+++" || front.Open == "---toml", front: front}
	head := front.Lines
	if m.TOML {
		_ = toml.Unmarshal([]byte(head), &m.Values)
	} else {
		_ = yaml.UnmarshalWithOptions([]byte(head), &m.Values, yaml.AllowDuplicateMapKey()) // the last one counts, as for most generators
	}
	m.blocks = blocks(head, m.TOML)
	return m, strings.TrimSpace(body)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// splitJSON takes an object off a text that begins with one.
func splitJSON(text string) (m Matter, body string, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return Matter{}, "", false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return Matter{}, "", false
	}
	m = Matter{JSON: true, Values: map[string]any{}}
	last := dec.InputOffset()
	for dec.More() {
		key, err := dec.Token()
		name, isText := key.(string)
		var v any
		if err != nil || !isText || dec.Decode(&v) != nil {
			return Matter{}, "", false
		}
		m.Values[name] = v
		m.blocks = append(m.blocks, block{name, strings.TrimPrefix(text[last:dec.InputOffset()], ",")})
		last = dec.InputOffset()
	}
	if _, err := dec.Token(); err != nil || len(m.blocks) == 0 {
		return Matter{}, "", false
	}
	end := dec.InputOffset()
	m.tail = text[last : end-1]
	rest := text[end:]
	if line, _, _ := strings.Cut(rest, "\n"); strings.TrimSpace(line) != "" {
		return Matter{}, "", false // it is text in braces
	}
	return m, strings.TrimSpace(rest), true
}

var (
	yamlKey = lazyregexp.New(`^["']?([A-Za-z_][\w.-]*)["']?\s*:(?:\s|$)`)
	tomlKey = lazyregexp.New(`^["']?([A-Za-z_][\w-]*)["']?\s*=`)
)

// blocks divides front matter at its top-level keys. In TOML everything from the
// first table on is one block.
func blocks(head string, inTOML bool) []block {
	var out []block
	key, table := yamlKey, false
	if inTOML {
		key = tomlKey
	}
	for line := range strings.Lines(head) {
		line = strings.TrimSuffix(line, "\n") + "\n"
		table = table || inTOML && strings.HasPrefix(line, "[")
		m := key.FindStringSubmatch(line)
		switch {
		case table && (len(out) == 0 || out[len(out)-1].key != tables):
			out = append(out, block{tables, line})
		case m != nil && !table:
			out = append(out, block{m[1], line})
		case len(out) == 0 || strings.HasPrefix(line, "#") && !table:
			out = append(out, block{"", line})
		case len(out) > 1 && out[len(out)-1].key == "" && strings.TrimSpace(line) != "":
			// The comment stands within the value before it.
			out[len(out)-2].raw += out[len(out)-1].raw + line
			out = out[:len(out)-1]
		default:
			out[len(out)-1].raw += line
		}
	}
	return out
}

// tables is the key of the block with the tables of TOML.
const tables = "["

// Empty reports whether there is no front matter.
func (m Matter) Empty() bool { return len(m.blocks) == 0 }

// Keys are the top-level keys in order.
func (m Matter) Keys() []string {
	var out []string
	for _, b := range m.blocks {
		if b.key != "" && b.key != tables {
			out = append(out, b.key)
		}
	}
	return out
}

// Raw is the text of a value as it was written, "" if the key is not there.
func (m Matter) Raw(key string) string {
	for _, b := range m.blocks {
		if b.key == key {
			_, v, _ := strings.Cut(b.raw, map[bool]string{true: "=", false: ":"}[m.TOML])
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Has reports whether there is a key at the top.
func (m Matter) Has(key string) bool { return slices.Contains(m.Keys(), key) }

// A Date is written as it is, without quotes.
type Date string

// Set gives a key a value: a string, a Date, a bool, a list of strings, or a
// map of strings. Its place stays; new keys come last.
func (m *Matter) Set(key string, v any) {
	raw := key + ": " + m.encode(v) + "\n"
	switch {
	case m.TOML:
		raw = key + " = " + m.encode(v) + "\n"
	case m.JSON:
		raw = "\n  " + m.encode(key) + ": " + m.encode(v)
	}
	for i := range m.blocks {
		if m.blocks[i].key == key {
			m.blocks[i].raw = raw
			return
		}
	}
	at := len(m.blocks)
	if at > 0 && m.blocks[at-1].key == tables {
		at--
	}
	m.blocks = slices.Insert(m.blocks, at, block{key, raw})
}

// Copy takes a key over from another Matter of the same format as it is written
// there.
func (m *Matter) Copy(from Matter, key string) {
	if m.TOML != from.TOML || m.JSON != from.JSON || m.Has(key) {
		return
	}
	for _, b := range from.blocks {
		if b.key == key {
			m.blocks = append(m.blocks, b)
		}
	}
}

// Drop removes a key.
func (m *Matter) Drop(key string) {
	m.blocks = slices.DeleteFunc(m.blocks, func(b block) bool { return b.key == key })
}

func (m *Matter) encode(v any) string {
	switch v := v.(type) {
	case Date:
		if m.JSON && !strings.HasPrefix(string(v), `"`) {
			return `"` + string(v) + `"`
		}
		return string(v)
	case map[string]string:
		if m.JSON {
			break
		}
		var parts []string
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			parts = append(parts, k+map[bool]string{true: " = ", false: ": "}[m.TOML]+m.encode(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	raw, err := jsontext.Marshal(v) // YAML and TOML read its strings, lists and booleans
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(raw))
}

// String is the front matter with its fences.
func (m Matter) String() string {
	if m.JSON {
		var raws []string
		for _, x := range m.blocks {
			raws = append(raws, x.raw)
		}
		return "{" + strings.Join(raws, ",") + cmp.Or(m.tail, "\n") + "}\n"
	}
	fence := map[bool]string{true: "+++", false: "---"}[m.TOML]
	var b strings.Builder
	b.WriteString(cmp.Or(m.front.Open, fence) + "\n")
	for _, x := range m.blocks {
		b.WriteString(x.raw)
	}
	b.WriteString(cmp.Or(m.front.Close, fence) + "\n")
	return b.String()
}

// Text is a value as one line: lists are joined.
func (m Matter) Text(key string) string {
	switch v := m.Values[key].(type) {
	case nil:
		return ""
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
		return strings.Join(out, ", ")
	case time.Time:
		return v.Format(time.RFC3339)
	default:
		return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
	}
}

// List is a value as a list of strings; a string is a list of one.
func (m Matter) List(key string) []string {
	switch v := m.Values[key].(type) {
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
		return out
	case string:
		if v != "" {
			return []string{v}
		}
	}
	return nil
}

// fields are the names that generators and themes give to what a post says of
// itself, the usual ones first.
var fields = map[string][]string{
	"date":        {"date", "pubDate", "pubDatetime", "publishDate", "published"},
	"updated":     {"lastmod", "updatedDate", "modDatetime", "last_modified_at", "updated", "modified"},
	"description": {"description", "summary", "excerpt"},
	"tags":        {"tags", "keywords"},
	"author":      {"author", "authors"},
	"canonical":   {"canonicalURL", "canonical_url", "canonical", "canonicalUrl"},
	"cover":       {"cover", "image", "heroImage", "ogImage", "featured_image", "featuredImage", "thumbnail", "images"},
	"series":      {"series"},
	"draft":       {"draft"},
}

// Key is the name that a site gives a field: the one in m, else the generator's.
func (m Matter) Key(field, style string) string {
	for _, k := range fields[field] {
		if m.Has(k) {
			return k
		}
	}
	switch style + " " + field {
	case Astro + " date":
		return "pubDate"
	case Astro + " cover":
		return "heroImage"
	case Jekyll + " cover":
		return "image"
	case Jekyll + " canonical":
		return "canonical_url"
	case Eleventy + " canonical":
		return "canonical"
	}
	return fields[field][0]
}

// Date returns the date of the post, the zero time if it has none.
func (m Matter) Date() time.Time {
	for _, k := range fields["date"] {
		switch v := m.Values[k].(type) {
		case time.Time:
			return v
		case toml.LocalDate:
			return v.AsTime(time.UTC)
		case toml.LocalDateTime:
			return v.AsTime(time.UTC)
		case string:
			if t, err := ParseDate(v); err == nil {
				return t
			}
			if t, ok := fetch.FeedDate(v); ok { // as generators take it, with the name of a zone
				return t
			}
		}
	}
	return time.Time{}
}

// NewDate is a day or a point in time in the form that all generators read.
func NewDate(s string) Date {
	t, err := ParseDate(s)
	switch s = strings.TrimSpace(s); {
	case err != nil || len(s) == len(time.DateOnly):
		return Date(s)
	case !strings.Contains(s, ":"):
		return Date(t.Format(time.DateOnly))
	case hasZone.MatchString(strings.ToUpper(s)):
		return Date(t.Format(time.RFC3339))
	}
	return Date(t.Format("2006-01-02T15:04:05"))
}

var hasZone = lazyregexp.New(`(?:Z|[+-]\d\d:?\d\d)$`)

// ParseDate reads a day or a point in time as front matter has them.
func ParseDate(s string) (t time.Time, err error) {
	given, late := fetch.Midnight(strings.Replace(strings.ToUpper(strings.TrimSpace(s)), "T", " ", 1))
	for _, clock := range []string{"", " 15:04:05", " 15:04"} {
		for _, zone := range []string{"", "Z07:00", " Z07:00", "Z0700", " Z0700"} {
			if t, err = time.Parse("2006-1-2"+clock+zone, given); err == nil && (clock != "" || zone == "") {
				return t.Add(late), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date: write it as 2026-11-21 or 2026-11-21T09:00:00+01:00", s)
}
