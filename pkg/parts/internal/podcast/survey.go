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
)

const (
	itunes    = "http://www.itunes.com/dtds/podcast-1.0.dtd"
	podcastNS = "https://podcastindex.org/namespace/1.0"
	atomNS    = "http://www.w3.org/2005/Atom"
)

// spaceOf makes one of the names that a namespace goes by.
func spaceOf(uri string) string {
	_, plain, _ := strings.Cut(strings.ToLower(strings.TrimRight(uri, "/")), "://")
	switch {
	case uri == "http://backend.userland.com/rss2":
		return ""
	case plain == "www.itunes.com/dtds/podcast-1.0.dtd":
		return itunes
	case plain == "podcastindex.org/namespace/1.0", strings.Contains(uri, "/podcast-namespace/") && strings.HasSuffix(uri, "1.0.md"):
		return podcastNS
	}
	return uri
}

// An outline has the positions of the parts of a feed, in bytes.
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
