package script

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
)

// decode reads JSON with the JSON decoder, so that large numbers in arguments
// stay exact and tabs are welcome, and everything else as YAML.
func decode(b []byte) (*file, error) {
	var f file
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		if err := plain(b); err != nil {
			return nil, err
		}
		dec := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict())
		if err := dec.Decode(&f); err != nil && err != io.EOF {
			var form *yaml.TypeError
			var node *yaml.UnexpectedNodeTypeError
			if errors.As(err, &form) || errors.As(err, &node) {
				return nil, plainyaml.Explain("", b, err)
			}
			// Its text points to line and column and shows the place.
			return nil, errors.New(strings.TrimSpace(yaml.FormatError(err, false, true)))
		}
		return &f, nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	if err == nil {
		return &f, nil
	}
	at := dec.InputOffset()
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return nil, jsontext.Fault(b, err)
	}
	var unknown = strings.TrimPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case unknown != err.Error():
		// The decoder does not say where; the first mention is close enough.
		if i := bytes.Index(b, []byte(unknown)); i >= 0 {
			at = int64(i)
		}
	}
	at = min(max(at, 0), int64(len(b)))
	return nil, fmt.Errorf("line %d: %s", 1+bytes.Count(b[:at], []byte("\n")), strings.TrimPrefix(err.Error(), "json: "))
}

// maxYAML bounds a script in YAML in bytes. Recordings, which can be longer, are JSON.
const maxYAML = 1 << 20

// maxAdded bounds the values that references stand for.
const maxAdded = 100_000

// plain refuses YAML that takes longer to read than its length says: what nests too
// deeply, and references that stand for more than anybody would write.
func plain(b []byte) error {
	if len(b) > maxYAML {
		return fmt.Errorf("it has %d bytes of YAML, at most %d are read; write it as JSON", len(b), maxYAML)
	}
	doc, syntax := plainyaml.Parse(string(b), 1)
	if syntax != nil && syntax.Hint != "" {
		return fmt.Errorf("line %d: %w", syntax.Line, syntax)
	} else if syntax != nil {
		return nil // the decoder shows the place
	}
	if doc.Added() > maxAdded {
		return fmt.Errorf("its references stand for more than %d values, or for one that is not there; write them out", maxAdded)
	}
	return nil
}

// duration is written like 20ms or 1s.
type duration time.Duration

func (d *duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(strings.TrimSpace(string(b)))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration; write it like 20ms or 1s", b)
	}
	*d = duration(v)
	return nil
}

// pattern is a regular expression, nil if there is none.
type pattern struct{ re *regexp.Regexp }

func (p *pattern) UnmarshalText(b []byte) (err error) {
	p.re, err = regexp.Compile(string(b))
	return err
}

// The decoder gives the position of an error only if its own rules are broken, so these
// methods examine the YAML nodes.

func (d *duration) UnmarshalYAML(n ast.Node) error { return at(n, d) }
func (p *pattern) UnmarshalYAML(n ast.Node) error  { return at(n, p) }

func at(n ast.Node, into encoding.TextUnmarshaler) error {
	t := n.GetToken()
	text := t.Value
	if block, ok := n.(*ast.LiteralNode); ok { // whose own token is the bar
		text = strings.TrimSuffix(block.Value.Value, "\n")
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("line %d: %w", t.Position.Line, err)
	}
	return nil
}

// arguments are JSON, also when written as YAML.
type arguments json.RawMessage

func (a *arguments) UnmarshalJSON(b []byte) error {
	*a = append((*a)[:0], b...)
	return nil
}

// UnmarshalYAML takes the node: for its text, the decoder would go through the tokens
// of the whole file, for each call again.
func (a *arguments) UnmarshalYAML(n ast.Node) error {
	// The JSON decoder's rules for numbers hold for JSON inside YAML.
	if b := []byte(n.String()); json.Valid(b) {
		*a = b
		return nil
	}
	var v any
	if err := yaml.NodeToValue(n, &v, yaml.UseOrderedMap()); err != nil {
		return err
	}
	j, err := appendJSON(nil, v)
	*a = j
	return err
}

// appendJSON adds the JSON of a value with ordered maps. The library's own has escapes that JSON has not.
func appendJSON(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case yaml.MapSlice:
		b = append(b, '{')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			if b, err = appendJSON(append(append(b, jsontext.Quote(fmt.Sprint(item.Key))...), ": "...), item.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			if b, err = appendJSON(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	j, err := jsontext.Marshal(v)
	return append(b, j...), err
}
