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
)

// decode reads JSON with the JSON decoder, so that large numbers in arguments
// stay exact and tabs are welcome, and everything else as YAML.
func decode(b []byte) (*file, error) {
	var f file
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		dec := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict())
		if err := dec.Decode(&f); err != nil && err != io.EOF {
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
	var unknown = strings.TrimPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typ):
		at = typ.Offset
	case unknown != err.Error():
		// The decoder does not say where; the first mention is close enough.
		if i := bytes.Index(b, []byte(unknown)); i >= 0 {
			at = int64(i)
		}
	}
	at = min(max(at, 0), int64(len(b)))
	return nil, fmt.Errorf("line %d: %s", 1+bytes.Count(b[:at], []byte("\n")), strings.TrimPrefix(err.Error(), "json: "))
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

// The decoder says where an error is only if its own rules are broken, so the
// nodes of YAML are looked at here.

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

func (a *arguments) UnmarshalYAML(b []byte) error {
	// The JSON decoder's rules for numbers hold for JSON inside YAML.
	if json.Valid(b) {
		*a = append((*a)[:0], b...)
		return nil
	}
	j, err := yaml.YAMLToJSON(b)
	*a = arguments(bytes.TrimSpace(j))
	return err
}
