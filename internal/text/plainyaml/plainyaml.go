// Package plainyaml reads the plain part of YAML, that which maps to JSON, into nodes that know
// their place: for files that people write. All mistakes of a file are reported at once, by line
// and column.
//
//	doc, err := plainyaml.Parse(src, 1)
//	root := doc.Read(func(p plainyaml.Place, hint, words string) { … })
//	d := plainyaml.Decoder{Report: …}
//	d.Fields(root, "", map[string]func(*plainyaml.Node){"name": …})
//
// Anchors, references and tags are refused, not followed: the result is never longer than the
// file. It is not for files written by machines.
package plainyaml

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A Kind describes a node, in words for people.
type Kind string

const (
	Null    Kind = "nothing"
	Boolean Kind = "a truth value"
	Number  Kind = "a number"
	Text    Kind = "text"
	List    Kind = "a list"
	Mapping Kind = "a mapping"
)

// A Place is a position in a file; lines and columns count from 1.
type Place struct{ Line, Col int }

// Places are places by key, as in steps.2.onFailure.
type Places map[string]Place

// Of gives the place of a key, or of the closest one around it.
func (ps Places) Of(key string) Place {
	for {
		if p, ok := ps[key]; ok {
			return p
		}
		cut := strings.LastIndexByte(key, '.')
		if cut < 0 {
			return ps[""]
		}
		key = key[:cut]
	}
}

// At returns the place at a line and a column.
func At(line, col int) Place { return Place{Line: line, Col: col} }

// A Node is a value with its place.
type Node struct {
	Place
	Kind Kind
	Text string  // of scalars; of numbers in JSON's spelling
	Raw  string  // of numbers and truth values as they are written: 1.10, 007, True
	Keys []*Node // of a mapping, for Kids
	Kids []*Node // of lists and mappings
}

// A SyntaxError reports where a text stops being readable YAML, in the form "is not valid YAML:
// …".
type SyntaxError struct {
	Place
	Message string
	Hint    string
}

func (e *SyntaxError) Error() string { return "the text " + e.Message }

// A Document is parsed text.
type Document struct {
	file  *ast.File
	start Place

	anchors map[string]*Node // nil: they are refused
}

// WithReferences has Read follow references, as files of other programs have them, unless they add
// more than a thousand nodes or lead to nothing.
func (d *Document) WithReferences() *Document {
	if d.Added() <= 1000 {
		d.anchors = map[string]*Node{}
	}
	return d
}

// maxDepth bounds brackets within brackets and lists begun on one line, on
// which the YAML parser spends time that grows with the square of their number.
const maxDepth = 100

// maxKeys bounds the keys of one mapping written in lines, for the same reason.
const maxKeys = 5000

// Parse reads src, whose first line is line number first of its file. A document that is too deep
// to be read in reasonable time is an error as well. The caller, which knows the purpose of the
// file, bounds the size.
func Parse(src string, first int) (*Document, *SyntaxError) {
	start := Place{first, 1}
	if p, ok := deep(src); ok {
		return nil, &SyntaxError{Place{first + p.Line - 1, p.Col}, "nests more than " + strconv.Itoa(maxDepth) + " deep", "nothing needs that"}
	}
	if line := wide(src); line > 0 {
		return nil, &SyntaxError{Place{first + line - 1, 1}, "has more than " + strconv.Itoa(maxKeys) + " keys in one mapping", "a list takes any number of entries"}
	}
	file, err := parser.ParseBytes([]byte(src), 0)
	if err != nil {
		var ye yaml.Error
		if !errors.As(err, &ye) || ye.GetToken() == nil {
			return nil, &SyntaxError{start, "is not valid YAML: " + err.Error(), ""}
		}
		d := Document{start: start}
		at, hint := d.at(ye.GetToken()), ""
		if lines := strings.Split(src, "\n"); at.Line >= first && at.Line-first < len(lines) {
			line := lines[at.Line-first]
			if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") {
				hint = "the line is indented with a tab; YAML takes blanks"
			}
		}
		return nil, &SyntaxError{at, "is not valid YAML: " + ye.GetMessage(), hint}
	}
	return &Document{file: file, start: start}, nil
}

// deep gives the first place where src nests too deeply: in brackets, in list
// items and keys begun on one line, or in indentation.
func deep(src string) (Place, bool) {
	brackets, line := 0, 0
	var indents []int
	for text := range strings.SplitSeq(src, "\n") {
		line++
		items, indent, begun := 0, 0, false
		for i := range len(text) {
			switch c := text[i]; {
			case c == '[' || c == '{':
				brackets, begun = brackets+1, true
			case c == ']' || c == '}':
				brackets, begun = max(0, brackets-1), true
			case begun:
			case (c == '-' || c == '?' || c == ':') && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t'):
				items++
			case c != ' ' && c != '\t':
				begun, indent = true, i
			}
			if brackets > maxDepth || items > maxDepth {
				return Place{line, i + 1}, true
			}
		}
		if !begun {
			continue
		}
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			indents = indents[:len(indents)-1]
		}
		if indents = append(indents, indent); len(indents) > maxDepth {
			return Place{line, indent + 1}, true
		}
	}
	return Place{}, false
}

// wide gives the first line with a key too many for its mapping, 0 if there is none. Lines of
// block scalars are no keys.
func wide(src string) int {
	keys, scalar, line := map[int]int{}, -1, 0 // keys by indentation, and that of the key of a scalar
	for text := range strings.SplitSeq(src, "\n") {
		line++
		words := strings.TrimLeft(text, " ")
		indent := len(text) - len(words)
		if words == "" || words[0] == '#' || scalar >= 0 && indent > scalar {
			continue
		}
		scalar = -1
		if words[0] != '-' {
			keys[indent]++
		}
		if keys[indent] > maxKeys {
			return line
		}
		maps.DeleteFunc(keys, func(at, _ int) bool { return at > indent })
		if last := words[strings.LastIndexByte(words, ' ')+1:]; strings.ContainsAny(last[:min(1, len(last))], "|>") && len(last) < 4 {
			scalar = indent
		}
	}
	return 0
}

// Added returns the number of nodes that references add to the written ones: a short text can
// stand for billions. A reference to a missing node, or to one that contains the reference, counts
// as endless.
func (d *Document) Added() int {
	total, written, anchors := 0, 0, map[string]int{}
	for _, doc := range d.file.Docs {
		total = min(total+expanded(doc.Body, anchors, &written), endless)
	}
	return total - written
}

// endless is more than can be read.
const endless = math.MaxInt32

// expanded counts the nodes of n with all references written out, and in written those
// that are there.
func expanded(n ast.Node, anchors map[string]int, written *int) int {
	sum := 1
	*written++
	switch n := n.(type) {
	case *ast.AnchorNode:
		sum = expanded(n.Value, anchors, written)
		anchors[n.Name.GetToken().Value] = sum
	case *ast.AliasNode:
		known, ok := anchors[n.Value.GetToken().Value]
		if sum = known; !ok {
			sum = endless
		}
	case *ast.TagNode:
		sum = expanded(n.Value, anchors, written)
	case *ast.SequenceNode:
		for _, kid := range n.Values {
			sum = min(sum+expanded(kid, anchors, written), endless)
		}
	case *ast.MappingNode:
		for _, pair := range n.Values {
			sum = min(sum+expanded(pair, anchors, written), endless)
		}
	case *ast.MappingValueNode:
		sum = min(sum+expanded(n.Key, anchors, written)+expanded(n.Value, anchors, written), endless)
	}
	return sum
}

// Read returns the document's mapping and reports the parts that cannot be used. It returns nil if
// the document is not a mapping; an empty document counts as an empty mapping.
func (d *Document) Read(report func(p Place, hint, words string)) *Node {
	empty := &Node{Place: d.start, Kind: Mapping}
	if len(d.file.Docs) == 0 || d.file.Docs[0].Body == nil {
		return empty
	}
	if len(d.file.Docs) > 1 {
		report(d.start, "", "there is more than one YAML document")
	}
	n := d.read(d.file.Docs[0].Body, report)
	if n.Kind == Null {
		return empty
	}
	if n.Kind != Mapping {
		report(n.Place, "write it like name: builder", "it is "+string(n.Kind)+", not keys with values")
		return nil
	}
	return n
}

func (d *Document) at(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return d.start
	}
	return Place{t.Position.Line + d.start.Line - 1, t.Position.Column}
}

func (d *Document) read(v ast.Node, report func(Place, string, string)) *Node {
	n := &Node{Place: d.at(v.GetToken()), Kind: Null}
	switch v := v.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.Kind, n.Text, n.Raw = Boolean, strconv.FormatBool(v.Value), v.GetToken().Value
	case *ast.IntegerNode:
		n.Kind, n.Text, n.Raw = Number, jsonNumber(v.Value), v.GetToken().Value
	case *ast.FloatNode:
		n.Kind, n.Text, n.Raw = Number, jsonNumber(v.Value), v.GetToken().Value
	case *ast.StringNode:
		n.Kind, n.Text = Text, v.Value
	case *ast.LiteralNode:
		n.Kind, n.Text = Text, v.Value.Value
	case *ast.SequenceNode:
		n.Kind = List
		for _, kid := range v.Values {
			n.Kids = append(n.Kids, d.read(kid, report))
		}
	case *ast.MappingNode:
		n.Kind = Mapping
		for _, pair := range v.Values {
			d.pair(n, pair, report)
		}
		if len(n.Keys) > 0 {
			n.Place = n.Keys[0].Place
		}
	case *ast.MappingValueNode:
		n.Kind = Mapping
		d.pair(n, v, report)
		n.Place = n.Keys[0].Place
	case nil:
	default:
		if known := d.referred(v, report); known != nil {
			return known
		}
		report(n.Place, "write the value out", "anchors, references, tags and special numbers are not used here")
	}
	return n
}

// referred returns the value that an anchor names, or a reference repeats, if they are followed.
func (d *Document) referred(v ast.Node, report func(Place, string, string)) *Node {
	switch v := v.(type) {
	case *ast.AnchorNode:
		if d.anchors != nil && v.Name.GetToken().Position.Column == v.Start.Position.Column+1 { // else it is words
			n := d.read(v.Value, report)
			d.anchors[v.Name.GetToken().Value] = n
			return n
		}
	case *ast.AliasNode:
		if to := d.anchors[v.Value.GetToken().Value]; to != nil {
			n := *to
			n.Place = d.at(v.GetToken())
			return &n
		}
	}
	return nil
}

func (d *Document) pair(n *Node, pair *ast.MappingValueNode, report func(Place, string, string)) {
	key := &Node{Place: d.at(pair.Key.GetToken()), Kind: Text}
	switch k := pair.Key.(type) {
	case *ast.StringNode:
		key.Text = k.Value
	case ast.ScalarNode:
		key.Text = pair.Key.GetToken().Value
	default:
		report(key.Place, "", "a key must be plain text")
	}
	kid := &Node{Place: key.Place, Kind: Null}
	if pair.Value != nil {
		kid = d.read(pair.Value, report)
	}
	n.Keys, n.Kids = append(n.Keys, key), append(n.Kids, kid)
}

func jsonNumber(v any) string {
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return "0"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "0"
	}
	return string(b)
}

// JSON writes n as JSON, keys in the order of the text.
func (n *Node) JSON() json.RawMessage { return n.append(nil) }

func (n *Node) append(b []byte) []byte {
	switch n.Kind {
	case Boolean, Number:
		return append(b, n.Text...)
	case Text:
		return append(b, quote(n.Text)...)
	case List:
		b = append(b, '[')
		for i, kid := range n.Kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.append(b)
		}
		return append(b, ']')
	case Mapping:
		b = append(b, '{')
		for i, kid := range n.Kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.append(append(append(b, quote(n.Keys[i].Text)...), ':'))
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return b
}

// Places records where each key is, as in done.all.2.check, for problems found
// later.
func (n *Node) Places(prefix string, into map[string]Place) {
	into[strings.TrimSuffix(prefix, ".")] = n.Place
	for i, kid := range n.Kids {
		name := strconv.Itoa(i)
		if n.Kind == Mapping {
			name = n.Keys[i].Text
		}
		kid.Places(prefix+name+".", into)
		if n.Kind == Mapping && kid.Kind == Mapping {
			into[prefix+name] = n.Keys[i].Place
		}
	}
}
