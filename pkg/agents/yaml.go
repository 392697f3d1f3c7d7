package agents

import (
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/internal/plainyaml"
)

// Kinds of nodes.
const (
	null    = plainyaml.Null
	boolean = plainyaml.Boolean
	number  = plainyaml.Number
	text    = plainyaml.Text
	list    = plainyaml.List
	mapping = plainyaml.Mapping
)

// A node is a value of front matter with its place.
type node struct {
	place
	kind plainyaml.Kind
	text string // of scalars; of numbers in JSON's spelling
	keys []*node
	kids []*node
	of   *plainyaml.Node
}

func nodeOf(n *plainyaml.Node) *node {
	out := &node{place: place{n.Line, n.Col}, kind: n.Kind, text: n.Text, of: n}
	for _, k := range n.Keys {
		out.keys = append(out.keys, nodeOf(k))
	}
	for _, k := range n.Kids {
		out.kids = append(out.kids, nodeOf(k))
	}
	return out
}

// frontMatter reads YAML that begins on the second line of a file.
func frontMatter(src string, rep *report) *node {
	doc, err := plainyaml.Parse(src, 2)
	if err != nil {
		quoted, ok := quoteDescription(src)
		if !ok {
			rep.at(place{err.Line, err.Col}, Error, err.Hint, "the front matter %s", err.Message)
			return nil
		}
		again, worse := plainyaml.Parse(quoted, 2)
		if worse != nil {
			rep.at(place{err.Line, err.Col}, Error, err.Hint, "the front matter %s", err.Message)
			return nil
		}
		p := place{2 + strings.Count(src[:strings.Index("\n"+src, "\ndescription:")], "\n"), 1}
		rep.at(p, Note, "quote it", "the description is not valid YAML and was taken as it is")
		doc = again
	}
	root := doc.Read(func(p plainyaml.Place, hint, words string) {
		rep.at(place{p.Line, p.Col}, Error, hint, "%s", strings.Replace(words, "it is", "the front matter is", 1))
	})
	if root == nil {
		return nil
	}
	return nodeOf(root)
}

// quoteDescription quotes a plain description of one line: descriptions with
// a colon in them are common in agent files, and no valid YAML.
func quoteDescription(src string) (string, bool) {
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		v, ok := strings.CutPrefix(line, "description:")
		if v = strings.TrimSpace(v); !ok || v == "" || strings.ContainsAny(v[:1], `"'|>[{&*!`) {
			continue
		}
		lines[i] = "description: '" + strings.ReplaceAll(v, "'", "''") + "'"
		return strings.Join(lines, "\n"), true
	}
	return "", false
}

// json writes n as JSON, keys in the order of the text.
func (n *node) json() json.RawMessage { return n.of.JSON() }

// places records where each key is, for problems found later.
func (n *node) places(prefix string, into map[string]place) {
	at := map[string]plainyaml.Place{}
	n.of.Places(prefix, at)
	for key, p := range at {
		into[key] = place{p.Line, p.Col}
	}
}
