package podcast

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/podcast/transcript"
)

const (
	itunes    = "http://www.itunes.com/dtds/podcast-1.0.dtd"
	podcastNS = "https://podcastindex.org/namespace/1.0"
	atomNS    = "http://www.w3.org/2005/Atom"
)

// spaceOf makes one of the names that a namespace goes by.
func spaceOf(uri string) string {
	switch {
	case uri == "http://backend.userland.com/rss2":
		return ""
	case strings.Contains(uri, "/podcast-namespace/") && strings.HasSuffix(uri, "1.0.md"):
		return podcastNS
	}
	return uri
}

// An outline is where the parts of a feed are, in bytes.
type outline struct {
	spaces  map[string]string // prefix to namespace, as they hold in the channel
	items   []item
	end     int // of what the channel holds
	channel bool
	// channelNames are the namespaces and names of what the channel holds.
	channelNames [][2]string
}

type item struct {
	start, open, close, end int // of the element, its content, its content's end, its end
	tag                     map[string]string
	guid                    string
	parts                   []piece
}

// A piece is something in an item: an element or a comment.
type piece struct {
	start, end  int
	space, name string // none of a comment
	text        string
	attrs       []xml.Attr
}

const maxDepth = 100

// survey reads a feed and notes where things are. It takes RSS 2.0 in UTF-8.
func survey(b []byte) (*outline, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	o := &outline{spaces: map[string]string{}}
	var path []xml.Name
	var it *item
	for {
		at := int(d.InputOffset())
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is not an RSS file that can be added to: %w; a feed is well-formed XML in UTF-8", err)
		}
		now := int(d.InputOffset())
		switch tok := tok.(type) {
		case xml.Directive:
			if bytes.Contains(tok, []byte("ENTITY")) {
				return nil, errors.New("it declares entities, which a feed has no need of; take them out")
			}
		case xml.StartElement:
			if len(path) >= maxDepth {
				return nil, fmt.Errorf("its elements are more than %d deep", maxDepth)
			}
			tok.Name.Space = spaceOf(tok.Name.Space)
			path = append(path, tok.Name)
			switch {
			case len(path) == 1 && (tok.Name.Space != "" || tok.Name.Local != "rss"):
				return nil, fmt.Errorf("it is <%s>, not RSS 2.0; episodes are added to RSS only", tok.Name.Local)
			case len(path) <= 2:
				maps.Copy(o.spaces, declared(tok))
				if is(path, "rss", "channel") {
					if o.channel {
						return nil, errors.New("it has two channels")
					}
					o.channel = true
					if bytes.HasSuffix(b[at:now], []byte("/>")) {
						return nil, errors.New("its channel is empty; give it at least a title")
					}
				}
			case len(path) == 3 && is(path[:2], "rss", "channel") && !is(path, "rss", "channel", "item"):
				o.channelNames = append(o.channelNames, [2]string{tok.Name.Space, tok.Name.Local})
			case is(path, "rss", "channel", "item"):
				it = &item{start: at, open: now, tag: declared(tok)}
			case len(path) == 4 && it != nil:
				it.parts = append(it.parts, piece{start: at, space: tok.Name.Space, name: tok.Name.Local, attrs: slices.Clone(tok.Attr)})
			}
		case xml.CharData:
			if it != nil && len(path) == 4 {
				p := &it.parts[len(it.parts)-1]
				p.text += string(tok)
			}
		case xml.Comment:
			if it != nil && len(path) == 3 {
				it.parts = append(it.parts, piece{start: at, end: now})
			}
		case xml.EndElement:
			switch {
			case is(path, "rss", "channel"):
				o.end = at
			case is(path, "rss", "channel", "item"):
				it.close, it.end = at, now
				o.items = append(o.items, *it)
				it = nil
			case len(path) == 4 && it != nil:
				p := &it.parts[len(it.parts)-1]
				p.end = now
				if p.name == "guid" && p.space == "" {
					it.guid = strings.TrimSpace(p.text)
				}
			}
			path = path[:len(path)-1]
		}
	}
	if !o.channel {
		return nil, errors.New("it has no channel; it is not RSS 2.0")
	}
	return o, nil
}

func is(path []xml.Name, names ...string) bool {
	if len(path) != len(names) {
		return false
	}
	for i, n := range names {
		if path[i].Local != n || path[i].Space != "" {
			return false
		}
	}
	return true
}

// declared are the prefixes that an element declares.
func declared(tok xml.StartElement) map[string]string {
	out := map[string]string{}
	for _, a := range tok.Attr {
		if a.Name.Space == "xmlns" {
			out[a.Name.Local] = spaceOf(a.Value)
		}
	}
	return out
}

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

// write is the entry as an item; old is what it replaces, or nil.
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
		b.WriteString(step + p.xml(prefix[p.space]))
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
	for _, a := range attrs {
		if a.Name.Local == "url" {
			return a.Value
		}
	}
	return ""
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
