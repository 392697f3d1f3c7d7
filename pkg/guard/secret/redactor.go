package secret

import (
	"iter"
	"slices"
	"strings"
)

// A Known is a value that must not be shown and the name it is shown as.
type Known struct{ Name, Value string }

// Options add what to look for beside the well-known shapes. The zero value
// is good.
type Options struct {
	Known []Known
	// Allow has the fingerprints of findings that are not secrets; see [Fingerprint].
	Allow []string
}

// MinKnown is the length below which a known value is not looked for: so
// short a word stands in texts by chance. In bytes.
const MinKnown = 6

// A Redactor replaces secrets. It does not change and is safe for concurrent
// use. A nil Redactor replaces nothing.
type Redactor struct {
	index
	allow map[string]bool
	exact *Redactor // the same without the shapes
	from  Options
}

// NewRedactor returns a Redactor. Values shorter than [MinKnown] are left out.
func NewRedactor(o Options) *Redactor {
	var lits []entry
	seen := map[string]bool{}
	for _, k := range o.Known {
		if len(k.Value) < MinKnown {
			continue
		}
		for _, form := range forms(k.Value) {
			// A form that stands in the replacement itself would never be gone.
			if !seen[form] && !strings.Contains(mark(k.Name), form) {
				seen[form] = true
				lits = append(lits, entry{lit: form, kind: k.Name})
			}
		}
	}
	r := &Redactor{index: build(slices.Concat(lits, anchors())), allow: map[string]bool{}, from: o}
	for _, a := range o.Allow {
		r.allow[a] = true
	}
	r.exact = &Redactor{index: build(lits)}
	r.exact.exact = r.exact
	return r
}

// With returns a Redactor that knows more values too. A nil Redactor stays nil.
func (r *Redactor) With(more ...Known) *Redactor {
	if r == nil || len(more) == 0 {
		return r
	}
	o := r.from
	o.Known = slices.Concat(o.Known, more)
	return NewRedactor(o)
}

// Known returns a Redactor of the known values alone, for text that must not
// be changed because of a mere resemblance.
func (r *Redactor) Known() *Redactor {
	if r == nil {
		return nil
	}
	return r.exact
}

// String returns s without secrets and whether there were any.
func (r *Redactor) String(s string) (string, bool) {
	if r == nil || len(s) < MinKnown {
		return s, false
	}
	if !r.begins(s) {
		return s, false
	}
	m := machine{index: &r.index, allow: r.allow, prev: "\n\n"}
	m.run(s, true)
	if !m.hit {
		return s, false
	}
	return string(m.out), true
}

// A Finding is a secret in a text. It does not hold the secret.
type Finding struct {
	Kind        string
	Line        int // counted from 1
	Fingerprint string
}

// Find lists the secrets in a text, none of those that are allowed.
func (r *Redactor) Find(text string) []Finding {
	if r == nil {
		return nil
	}
	m := machine{index: &r.index, allow: r.allow, prev: "\n\n", note: true}
	m.run(text, true)
	var out []Finding
	line, at := 1, 0
	for _, s := range m.spans {
		f := Fingerprint(text[s.from:s.to])
		if r.allow[f] {
			continue
		}
		line, at = line+strings.Count(text[at:s.from], "\n"), s.from
		out = append(out, Finding{Kind: s.kind, Line: line, Fingerprint: f})
	}
	return out
}

// Lines are the lines of a file that must not be shown, and the values in them behind an
// equals sign or a colon, without the spaces around. Left out are values shorter than
// [MinKnown], and plain words. name is the file's.
func Lines(name, text string) []Known {
	kind := "line of " + name
	if len(kind) > maxKind || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\]`, r) }) {
		kind = "line of a denied file"
	}
	var out []Known
	for value := range LineValues(text) {
		out = append(out, Known{Name: kind, Value: value})
	}
	return out
}

// LineValues yields the values of [Lines].
func LineValues(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if len(line) >= MinKnown && !yield(line) {
				return
			}
			if i := strings.IndexAny(line, "=:"); i >= 0 {
				if value := strings.Trim(line[i+1:], " \t\"',;"); len(value) >= MinKnown && !plain(value) && !yield(value) {
					return
				}
			}
		}
	}
}
