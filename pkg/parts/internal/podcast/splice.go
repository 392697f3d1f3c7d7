package podcast

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
)

// splice puts an entry into a feed, or in the place of the one with its guid,
// and leaves every other byte as it is. What an entry has that e says nothing
// about stays, too. It reports what it did.
func splice(feed []byte, e entry) (out []byte, did string, err error) {
	mark := []byte("\xef\xbb\xbf")
	body, marked := bytes.CutPrefix(feed, mark)
	o, err := survey(body)
	if err != nil {
		return nil, "", err
	}
	var same []item
	for _, it := range o.items {
		if it.guid == e.guid {
			same = append(same, it)
		}
	}
	if len(same) > 1 {
		return nil, "", fmt.Errorf("it has %d entries with the guid %s; there may be one", len(same), e.guid)
	}
	nl := "\n"
	if bytes.Contains(body, []byte("\r\n")) {
		nl = "\r\n"
	}
	from, to := o.end, o.end
	var text string
	switch {
	case len(same) == 1:
		it := same[0]
		from, to, did = it.start, it.end, "entry updated"
		text = o.write(e, &it, body, indent(body, from), nl)
	case len(o.items) > 0:
		from = o.items[0].start
		to, did = from, "entry added"
		in := indent(body, from)
		text = o.write(e, nil, body, in, nl) + nl + in
	default:
		did = "entry added"
		if in := indent(body, o.end); body[o.end-len(in)-1] == '\n' {
			text = "  " + o.write(e, nil, body, in+"  ", nl) + nl + in
		} else {
			text = nl + "    " + o.write(e, nil, body, "    ", nl) + nl + "  "
		}
	}
	new := slices.Concat(body[:from], []byte(text), body[to:])
	after, err := survey(new)
	if err != nil || len(after.items) != len(o.items)+1-len(same) {
		return nil, "", fmt.Errorf("the entry cannot be put into this file without breaking it (%v)", err)
	}
	if marked {
		new = append(mark, new...)
	}
	return new, did, nil
}

// indent is the white space before an offset, up to the line's beginning.
func indent(b []byte, at int) string {
	i := at
	for i > 0 && (b[i-1] == ' ' || b[i-1] == '\t') {
		i--
	}
	if i > 0 && b[i-1] != '\n' {
		return ""
	}
	return string(b[i:at])
}

// write returns the entry as an item; old is the replaced one, or nil.
func (o *outline) write(e entry, old *item, body []byte, in, nl string) string {
	spaces := maps.Clone(o.spaces)
	open := "<item>"
	if old != nil {
		open = string(body[old.start:old.open])
		maps.Copy(spaces, old.tag)
	}
	prefix := map[string]string{"": ""}
	for _, want := range []struct{ uri, prefix string }{{itunes, "itunes"}, {podcastNS, "podcast"}} {
		if !slices.ContainsFunc(e.parts, func(p part) bool { return p.space == want.uri }) {
			continue
		}
		p := prefixOf(spaces, want.uri)
		for p == "" {
			if _, taken := spaces[want.prefix]; taken {
				want.prefix += "x"
				continue
			}
			p = want.prefix
			spaces[p] = want.uri
			open = strings.TrimSuffix(open, ">") + " xmlns:" + p + `="` + want.uri + `">`
		}
		prefix[want.uri] = p + ":"
	}
	step := nl + in + "  "
	if in == "" {
		step = nl
	}
	var b strings.Builder
	b.WriteString(open)
	for _, p := range e.parts {
		if p.weak && old != nil && slices.ContainsFunc(old.parts, func(q piece) bool { return q.space == p.space && q.name == p.name }) {
			continue
		}
		b.WriteString(step)
		if q := e.same(p, old); q != nil && p.holds(*q) {
			b.Write(body[q.start:q.end])
			continue
		} else if q != nil {
			p.attrs = p.merged(*q, spaces)
		}
		b.WriteString(p.xml(prefix[p.space]))
	}
	if old != nil {
		for _, p := range old.parts {
			if !e.replaces(p) {
				b.WriteString(step)
				b.Write(body[p.start:p.end])
			}
		}
	}
	b.WriteString(nl + in + "</item>")
	return b.String()
}

func prefixOf(spaces map[string]string, uri string) string {
	var found []string
	for p, u := range spaces {
		if u == uri {
			found = append(found, p)
		}
	}
	slices.Sort(found)
	return append(found, "")[0]
}

// same is the element that p stands in the place of, nil if there is none.
func (e entry) same(p part, old *item) *piece {
	if old == nil {
		return nil
	}
	i := slices.IndexFunc(old.parts, func(q piece) bool { return entry{parts: []part{p}}.replaces(q) })
	if i < 0 {
		return nil
	}
	return &old.parts[i]
}

// holds reports whether an element of a feed says what p does. What p says by default
// only does not count.
func (p part) holds(q piece) bool {
	if p.inner != nil || strings.TrimSpace(q.text) != strings.TrimSpace(p.text) {
		return false
	}
	for i := 0; i < len(p.attrs); i += 2 {
		if v, _ := valueOf(q.attrs, p.attrs[i]); v != p.attrs[i+1] && !slices.Contains(p.defaults, p.attrs[i]) {
			return false
		}
	}
	return true
}

// merged are the attributes of p, with those of the element before it that p says
// nothing about.
func (p part) merged(q piece, spaces map[string]string) []string {
	out := slices.Clone(p.attrs)
	for _, a := range q.attrs {
		name := a.Name.Local
		switch prefix := prefixOf(spaces, a.Name.Space); {
		case a.Name.Space == "http://www.w3.org/XML/1998/namespace":
			name = "xml:" + name
		case a.Name.Space == "xmlns", a.Name.Space != "" && prefix == "":
			continue
		case a.Name.Space != "":
			name = prefix + ":" + name
		}
		if !slices.Contains(p.attrs, name) {
			out = append(out, name, a.Value)
		}
	}
	return out
}

// replaces reports whether the entry has something in the place of p.
func (e entry) replaces(p piece) bool {
	return slices.ContainsFunc(e.parts, func(q part) bool {
		if q.weak || p.name == "" || p.name != q.name || p.space != q.space {
			return false
		}
		if !q.several {
			return true
		}
		return strings.TrimSpace(p.text) == q.text && urlOf(p.attrs) == q.attr("url")
	})
}

func urlOf(attrs []xml.Attr) string {
	v, _ := valueOf(attrs, "url")
	return v
}

func valueOf(attrs []xml.Attr, name string) (string, bool) {
	for _, a := range attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value, true
		}
	}
	return "", false
}

func (p part) attr(name string) string {
	for i := 0; i < len(p.attrs); i += 2 {
		if p.attrs[i] == name {
			return p.attrs[i+1]
		}
	}
	return ""
}

// xml writes a part; what is in it is of the same namespace.
func (p part) xml(prefix string) string {
	name := prefix + p.name
	var b strings.Builder
	b.WriteString("<" + name)
	for i := 0; i < len(p.attrs); i += 2 {
		b.WriteString(" " + p.attrs[i] + `="` + escape(p.attrs[i+1]) + `"`)
	}
	if p.text == "" && p.inner == nil {
		b.WriteString("/>")
		return b.String()
	}
	b.WriteString(">" + escape(p.text))
	for _, in := range p.inner {
		b.WriteString(in.xml(prefix))
	}
	b.WriteString("</" + name + ">")
	return b.String()
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(transcript.Printable(s))) // a buffer takes everything
	return b.String()
}
