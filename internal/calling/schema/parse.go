package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/jsontext"
)

// What is read from a model is bounded before it is understood: a validator
// that is asked to compare 1e9999999 allocates a number of that many digits.
const (
	maxDepth    = 64
	maxBytes    = 8 << 20
	maxValues   = 200_000
	maxDigits   = 128
	maxExponent = 308
)

// A Node is a JSON value that keeps the order of its keys and the spelling of
// its numbers.
type Node struct {
	Kind byte     // '{' '[' '"' '0' 't' 'n'
	Keys []string // of an object, in the order written
	Kids []*Node  // an object's values or an array's items
	Text string   // a string's value or a number's spelling
	Yes  bool     // a boolean's value
	Raw  string   // valid JSON that stands for all that when it is written
}

func object() *Node            { return &Node{Kind: '{'} }
func text(s string) *Node      { return &Node{Kind: '"', Text: s} }
func (n *Node) is(k byte) bool { return n != nil && n.Kind == k }

// At returns the value of an object's key, nil if there is none.
func (n *Node) At(key string) *Node {
	if n.is('{') {
		for i, k := range n.Keys {
			if k == key {
				return n.Kids[i]
			}
		}
	}
	return nil
}

// Set replaces the value of key, or appends it.
func (n *Node) Set(key string, v *Node) {
	for i, k := range n.Keys {
		if k == key {
			n.Kids[i] = v
			return
		}
	}
	n.Keys, n.Kids = append(n.Keys, key), append(n.Kids, v)
}

// Without returns a copy of an object without a key.
func (n *Node) Without(key string) *Node {
	out := &Node{Kind: n.Kind}
	for k, kid := range n.entries() {
		if k != key {
			out.Set(k, kid)
		}
	}
	return out
}

// Equals reports whether n is a scalar that is written like this. A nil Node is none.
func (n *Node) Equals(json string) bool {
	return n != nil && n.Kind != '{' && n.Kind != '[' && n.String() == json
}

// Str returns the value of a string, or "" for any other value.
func (n *Node) Str() string {
	if n.is('"') {
		return n.Text
	}
	return ""
}

// words returns the strings of an array of strings.
func (n *Node) words() []string {
	var out []string
	if n.is('[') {
		for _, kid := range n.Kids {
			if kid.is('"') {
				out = append(out, kid.Text)
			}
		}
	}
	return out
}

// Append writes n without white space.
func (n *Node) Append(b []byte) []byte {
	switch {
	case n.Raw != "":
		return append(b, n.Raw...)
	case n.Kind == '{':
		b = append(b, '{')
		for i, key := range n.Keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(text(key).Append(b), ':')
			b = n.Kids[i].Append(b)
		}
		return append(b, '}')
	case n.Kind == '[':
		b = append(b, '[')
		for i, kid := range n.Kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.Append(b)
		}
		return append(b, ']')
	case n.Kind == '"':
		return append(b, jsontext.Quote(n.Text)...)
	case n.Kind == '0':
		return append(b, n.Text...)
	case n.Kind == 't':
		return strconv.AppendBool(b, n.Yes)
	}
	return append(b, "null"...)
}

func (n *Node) String() string { return string(n.Append(nil)) }

// entries yields the members of an object, in the order written.
func (n *Node) entries() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if !n.is('{') {
			return
		}
		for i, key := range n.Keys {
			if !yield(key, n.Kids[i]) {
				return
			}
		}
	}
}

// parse is [Parse] with the depth that models' values and schemas may have.
func parse(b []byte) (*Node, []Fault) { return Parse(b, maxDepth) }

// Parse reads one JSON value strictly, nested at most depth levels deep. It returns nil and one
// fault if the text cannot be read at all; it returns the value and faults if the text breaks a
// rule: duplicate keys, or numbers outside the range of float64.
func Parse(b []byte, depth int) (*Node, []Fault) {
	switch {
	case len(b) > maxBytes:
		return nil, []Fault{{Message: fmt.Sprintf("is %d bytes long, at most %d are taken; write big content in parts", len(b), maxBytes)}}
	case !utf8.Valid(b):
		return nil, []Fault{{Message: "is not valid UTF-8"}}
	case loneSurrogate(b):
		return nil, []Fault{{Message: `holds half a character (a \uD800-\uDFFF escape without its other half)`}}
	}
	if !json.Valid(b) {
		return nil, []Fault{{Message: invalid(b)}}
	}
	p := parser{rest: b, depth: depth}
	n, err := p.next()
	if err != nil {
		return nil, []Fault{{Message: err.Error()}}
	}
	return n, p.faults
}

// A parser reads text that is valid JSON.
type parser struct {
	rest   []byte
	depth  int   // at most
	trail  []any // keys and indexes that lead to the value
	values int
	faults []Fault
}

// fault adds a fault about the value at the end of the trail.
func (p *parser) fault(why string) {
	path := ""
	for _, step := range p.trail {
		switch step := step.(type) {
		case string:
			path = join(path, step)
		case int:
			path = at(path, step)
		}
	}
	p.faults = append(p.faults, Fault{path, why})
}

// first skips white space, colons and commas, which are in their places, and returns what follows.
func (p *parser) first() byte {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n:,")
	return p.rest[0]
}

// take returns the next n bytes.
func (p *parser) take(n int) string {
	s := string(p.rest[:n])
	p.rest = p.rest[n:]
	return s
}

func (p *parser) next() (*Node, error) {
	if p.values++; p.values > maxValues {
		return nil, fmt.Errorf("holds more than %d values", maxValues)
	}
	switch c := p.first(); c {
	case '{', '[':
		if len(p.trail) == p.depth {
			return nil, fmt.Errorf("is nested more than %d levels deep", p.depth)
		}
		n := &Node{Kind: c}
		return n, p.members(n)
	case '"':
		return text(p.str()), nil
	case 't', 'n':
		p.rest = p.rest[len("true"):]
		return &Node{Kind: c, Yes: c == 't'}, nil
	case 'f':
		p.rest = p.rest[len("false"):]
		return &Node{Kind: 't'}, nil
	}
	end := bytes.IndexAny(p.rest, " \t\r\n,]}")
	if end < 0 {
		end = len(p.rest)
	}
	number := p.take(end)
	if why := tooExtreme(number); why != "" {
		p.fault(why)
		number = "0" // what follows must not compute with it
	}
	return &Node{Kind: '0', Text: number}, nil
}

// str reads a string.
func (p *parser) str() (s string) {
	end, escaped := 1, false
	for ; p.rest[end] != '"'; end++ {
		if p.rest[end] == '\\' {
			escaped = true
			end++
		}
	}
	if quoted := p.rest[:end+1]; escaped {
		_ = json.Unmarshal(quoted, &s) // it is valid
		p.rest = p.rest[end+1:]
		return s
	}
	return p.take(end + 1)[1:end]
}

// members reads the members of an object or an array, and its end.
func (p *parser) members(n *Node) error {
	var seen map[string]bool // of an object with many keys
	p.rest = p.rest[1:]
	p.trail = append(p.trail, nil)
	for last := len(p.trail) - 1; p.first() != ']' && p.rest[0] != '}'; {
		key := ""
		if n.Kind == '{' {
			key = p.str()
			p.trail[last] = key
		} else {
			p.trail[last] = len(n.Kids)
		}
		kid, err := p.next()
		if err != nil {
			return err
		}
		if n.Kind == '{' {
			if len(n.Keys) == 16 {
				seen = map[string]bool{}
				for _, k := range n.Keys {
					seen[k] = true
				}
			}
			if seen[key] || seen == nil && slices.Contains(n.Keys, key) {
				p.fault("is given more than once; write it once")
				continue
			}
			if seen != nil {
				seen[key] = true
			}
			n.Keys = append(n.Keys, key)
		}
		n.Kids = append(n.Kids, kid)
	}
	p.trail = p.trail[:len(p.trail)-1]
	p.rest = p.rest[1:]
	return nil
}

func tooExtreme(number string) string {
	if len(number) > maxDigits {
		return fmt.Sprintf("is a number of %d digits, at most %d are taken", len(number), maxDigits)
	}
	if i := bytes.IndexAny([]byte(number), "eE"); i >= 0 {
		exp, err := strconv.Atoi(number[i+1:])
		if err != nil || exp > maxExponent || exp < -maxExponent {
			return fmt.Sprintf("is %s, which is out of the range of numbers", number)
		}
	}
	if f, err := strconv.ParseFloat(number, 64); err != nil || math.IsInf(f, 0) {
		return fmt.Sprintf("is %s, which is out of the range of numbers", number)
	}
	return ""
}

// invalid describes what is wrong with text that is not valid JSON.
func invalid(b []byte) string {
	dec := json.NewDecoder(bytes.NewReader(b))
	var value json.RawMessage
	err := dec.Decode(&value)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return "has more text after its end; write one JSON value only"
	case errors.As(err, &syntax):
		return fmt.Sprintf("is not valid JSON: %s at byte %d", syntax, syntax.Offset)
	}
	return "is not complete JSON: it ends in the middle"
}

// loneSurrogate reports whether JSON text escapes half a surrogate pair, which
// encoding/json would turn into U+FFFD silently.
func loneSurrogate(b []byte) bool {
	high := false // the escape just before was the first half
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			if high {
				return true
			}
			continue
		}
		var unit uint64
		if b[i+1] == 'u' && i+6 <= len(b) {
			unit, _ = strconv.ParseUint(string(b[i+2:i+6]), 16, 32)
			i += 4
		}
		i++
		switch {
		case 0xDC00 <= unit && unit <= 0xDFFF && high:
			high = false
		case high, 0xDC00 <= unit && unit <= 0xDFFF:
			return true
		case 0xD800 <= unit && unit <= 0xDBFF:
			high = true
		}
	}
	return high
}

// wholeNumbers rewrites numbers such as 3.0 and 2e3 without fraction and
// exponent. It returns nil if there are none.
func wholeNumbers(b json.RawMessage) json.RawMessage {
	n, faults := parse(b)
	if n == nil || faults != nil || !n.whole() {
		return nil
	}
	return n.Append(nil)
}

func (n *Node) whole() (changed bool) {
	for _, kid := range n.Kids {
		changed = kid.whole() || changed
	}
	if n.Kind == '0' && bytes.ContainsAny([]byte(n.Text), ".eE") {
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n.Text, changed = strconv.FormatInt(int64(f), 10), true
		}
	}
	return changed
}

// Decode reads validated arguments into a typed value. JSON Schema takes 3.0
// for an integer, encoding/json does not: such numbers are rewritten, but only
// if reading them as they are fails.
func Decode(args json.RawMessage, into any) error {
	err := unmarshal(args, into)
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		if whole := wholeNumbers(args); whole != nil {
			err = unmarshal(whole, into)
		}
	}
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		where := typed.Field
		where = cmp.Or(where, "the value")
		return fmt.Errorf("%s: %s does not fit into %s", where, typed.Value, typed.Type)
	}
	return err
}

func unmarshal(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode(into)
}

// Repair rewrites arguments whose meaning is beyond doubt, and describes the change in note: empty
// text and null become {}, and a string that contains an object becomes that object. It returns
// everything else unchanged, for [Schema.Validate] to complain about, and never completes
// truncated JSON.
func Repair(args json.RawMessage) (fixed json.RawMessage, note string) {
	trimmed := bytes.TrimSpace(args)
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}"), "no arguments were given; taken as {}"
	case string(trimmed) == "null":
		return json.RawMessage("{}"), "the arguments were null; taken as {}"
	case trimmed[0] != '"':
		return args, ""
	}
	outer, faults := parse(trimmed)
	if faults != nil || !outer.is('"') {
		return args, ""
	}
	if inner, faults := parse([]byte(outer.Text)); faults == nil && inner.is('{') {
		return bytes.TrimSpace([]byte(outer.Text)), "the arguments were a string that held an object; decoded"
	}
	return args, ""
}
