package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/jsontext"
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

// A node is a JSON value that keeps the order of its keys and the spelling of
// its numbers.
type node struct {
	kind byte     // '{' '[' '"' '0' 't' 'n'
	keys []string // of an object, in the order written
	kids []*node  // an object's values or an array's items
	text string   // a string's value or a number's spelling
	yes  bool     // a boolean's value
}

func object() *node            { return &node{kind: '{'} }
func text(s string) *node      { return &node{kind: '"', text: s} }
func (n *node) is(k byte) bool { return n != nil && n.kind == k }

// at returns the value of an object's key, nil if there is none.
func (n *node) at(key string) *node {
	if n.is('{') {
		for i, k := range n.keys {
			if k == key {
				return n.kids[i]
			}
		}
	}
	return nil
}

// set replaces the value of key, or appends it.
func (n *node) set(key string, v *node) {
	for i, k := range n.keys {
		if k == key {
			n.kids[i] = v
			return
		}
	}
	n.keys, n.kids = append(n.keys, key), append(n.kids, v)
}

// words returns the strings of an array of strings.
func (n *node) words() []string {
	var out []string
	if n.is('[') {
		for _, kid := range n.kids {
			if kid.is('"') {
				out = append(out, kid.text)
			}
		}
	}
	return out
}

// appendTo writes n without white space.
func (n *node) appendTo(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, key := range n.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(text(key).appendTo(b), ':')
			b = n.kids[i].appendTo(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.appendTo(b)
		}
		return append(b, ']')
	case '"':
		return append(b, jsontext.Quote(n.text)...)
	case '0':
		return append(b, n.text...)
	case 't':
		return strconv.AppendBool(b, n.yes)
	}
	return append(b, "null"...)
}

func (n *node) String() string { return string(n.appendTo(nil)) }

// entries yields the members of an object, in the order written.
func (n *node) entries() iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		if !n.is('{') {
			return
		}
		for i, key := range n.keys {
			if !yield(key, n.kids[i]) {
				return
			}
		}
	}
}

// Parse reads one JSON value strictly. It returns nil and one fault if the
// text cannot be read at all, and the value with faults if it can but breaks
// a rule: duplicate keys, numbers that no float64 holds.
func parse(b []byte) (*node, []Fault) {
	switch {
	case len(b) > maxBytes:
		return nil, []Fault{{Message: fmt.Sprintf("is %d bytes long, at most %d are taken; write big content in parts", len(b), maxBytes)}}
	case !utf8.Valid(b):
		return nil, []Fault{{Message: "is not valid UTF-8"}}
	case loneSurrogate(b):
		return nil, []Fault{{Message: `holds half a character (a \uD800-\uDFFF escape without its other half)`}}
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	p := parser{dec: dec}
	n, err := p.next("", 0)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("has more text after its end; write one JSON value only")
		}
	}
	if err != nil {
		return nil, []Fault{{Message: syntaxWords(err)}}
	}
	return n, p.faults
}

type parser struct {
	dec    *json.Decoder
	values int
	faults []Fault
}

var errDeep = fmt.Errorf("is nested more than %d levels deep", maxDepth)

func (p *parser) next(path string, depth int) (*node, error) {
	if p.values++; p.values > maxValues {
		return nil, fmt.Errorf("holds more than %d values", maxValues)
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if depth == maxDepth {
			return nil, errDeep
		}
		n := &node{kind: byte(tok)}
		if tok == '{' {
			err = p.members(n, path, depth+1)
		} else {
			err = p.items(n, path, depth+1)
		}
		return n, err
	case string:
		return text(tok), nil
	case json.Number:
		if why := tooExtreme(string(tok)); why != "" {
			p.faults = append(p.faults, Fault{path, why})
			tok = "0" // what follows must not compute with it
		}
		return &node{kind: '0', text: string(tok)}, nil
	case bool:
		return &node{kind: 't', yes: tok}, nil
	}
	return &node{kind: 'n'}, nil
}

func (p *parser) members(n *node, path string, depth int) error {
	seen := map[string]bool{}
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return fmt.Errorf("has a key that is not a string: %v", tok)
		}
		kid, err := p.next(join(path, key), depth)
		if err != nil {
			return err
		}
		if seen[key] {
			p.faults = append(p.faults, Fault{join(path, key), "is given more than once; write it once"})
			continue
		}
		seen[key] = true
		n.keys, n.kids = append(n.keys, key), append(n.kids, kid)
	}
	_, err := p.dec.Token()
	return err
}

func (p *parser) items(n *node, path string, depth int) error {
	for p.dec.More() {
		kid, err := p.next(fmt.Sprintf("%s[%d]", path, len(n.kids)), depth)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
	_, err := p.dec.Token()
	return err
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

func syntaxWords(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "is not complete JSON: it ends in the middle"
	case errors.As(err, &syntax):
		return fmt.Sprintf("is not valid JSON: %s at byte %d", syntax, syntax.Offset)
	}
	return err.Error()
}

// loneSurrogate reports whether JSON text escapes half a surrogate pair, which
// encoding/json would turn into U+FFFD without a word.
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
	return n.appendTo(nil)
}

func (n *node) whole() (changed bool) {
	for _, kid := range n.kids {
		changed = kid.whole() || changed
	}
	if n.kind == '0' && bytes.ContainsAny([]byte(n.text), ".eE") {
		if f, err := strconv.ParseFloat(n.text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n.text, changed = strconv.FormatInt(int64(f), 10), true
		}
	}
	return changed
}
