package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// checkForm reports all values of a file that do not have the form of their key, and all
// keys that there are none of, each with its line. The decoder would stop at the first one,
// and has no place for some.
func checkForm(path string, b []byte, parts sections) error {
	file, err := parser.ParseBytes(b, 0)
	if err != nil || len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil // the decoder explains it
	}
	f := form{path: path, parts: parts, anchors: map[string]ast.Node{}}
	f.check(file.Docs[0].Body, reflect.TypeFor[Config](), "", "", 1)
	return all(f.faults...)
}

// A form compares a file with the types that it is decoded into.
type form struct {
	path    string
	parts   sections
	anchors map[string]ast.Node
	faults  []error
}

func (f *form) fault(line int, help, format string, args ...any) {
	f.faults = append(f.faults, fail(fmt.Errorf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...)), help))
}

// check checks a value, whose key is on a line, for a type. least is the tag of a number.
func (f *form) check(n ast.Node, t reflect.Type, least, key string, line int) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return
	case *ast.TagNode:
		n = v.Value
	case *ast.AnchorNode:
		f.anchors[v.Name.GetToken().Value] = v.Value
		n = v.Value
	case *ast.AliasNode:
		if n = f.anchors[v.Value.GetToken().Value]; n == nil {
			return // the decoder explains it
		}
	}
	_, scalar := n.(ast.ScalarNode)
	_, isList := n.(*ast.SequenceNode)
	isMap := n.Type() == ast.MappingType || n.Type() == ast.MappingValueType
	ok := true
	switch kind := t.Kind(); {
	case kind == reflect.Interface, scalar && decodesItself(t):
	case kind == reflect.Struct && isMap:
		f.fields(n, t, key)
	case kind == reflect.Map && isMap:
		for _, e := range entriesOf(n) {
			f.check(e.Value, t.Elem(), "", joinKey(key, e.Key.GetToken().Value), e.Key.GetToken().Position.Line)
		}
	case kind == reflect.Slice && isList:
		for i, v := range n.(*ast.SequenceNode).Values {
			f.check(v, t.Elem(), "", joinKey(key, strconv.Itoa(i)), firstLine(v))
		}
	case kind == reflect.Struct, kind == reflect.Map, kind == reflect.Slice, !scalar:
		ok = false
	default:
		f.scalar(n, t, least, key)
	}
	if !ok {
		f.fault(line, keysHelp(), "%s", strings.TrimPrefix(key+": it must be "+spelling.Form(t), ": "))
	}
}

// scalar checks a value that has no others in it.
func (f *form) scalar(n ast.Node, t reflect.Type, least, key string) {
	text, line := strings.ReplaceAll(n.GetToken().Value, "_", ""), n.GetToken().Position.Line
	ok, value := true, 0.0
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(n.GetToken().Value)
		ok, value = err == nil && n.Type() == ast.StringType, float64(d)
	case kind == reflect.Bool:
		ok = n.Type() == ast.BoolType
	case kind == reflect.Int:
		i, err := strconv.ParseInt(text, 0, 64)
		if value = float64(i); err != nil {
			value, err = strconv.ParseFloat(text, 64)
			ok = err == nil && value == math.Trunc(value)
			if ok && math.Abs(value) >= math.MaxInt64 {
				f.fault(line, keysHelp(), "%s: %s is too large", key, text)
				return
			}
		}
	case kind == reflect.Float64:
		var err error
		value, err = strconv.ParseFloat(text, 64)
		ok = err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
	}
	lowest, _ := strconv.ParseFloat(least, 64)
	switch {
	case !ok:
		f.fault(line, keysHelp(), "%s: it must be %s", key, spelling.Form(t))
	case value < lowest && least == "":
		f.fault(line, "leave it out to get its default", "%s is negative", key)
	case value < lowest && least != "-":
		f.fault(line, "leave it out to get its default", "%s is %s, and at least %s", key, text, least)
	}
}

// fields checks what a mapping has for a struct.
func (f *form) fields(n ast.Node, t reflect.Type, key string) {
	known := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" && name != "-" {
			known[name] = field
		}
	}
	if t == reflect.TypeFor[Config]() {
		for _, s := range f.parts {
			known[s.Key()] = reflect.StructField{Type: reflect.TypeOf(s)}
		}
	}
	for _, e := range entriesOf(n) {
		name, line := e.Key.GetToken().Value, e.Key.GetToken().Position.Line
		field, ok := known[name]
		switch {
		case ok:
			f.check(e.Value, field.Type, field.Tag.Get("least"), joinKey(key, name), line)
		case e.Key.Type() == ast.MergeKeyType:
			f.check(e.Value, t, "", key, line)
		default:
			help := keysHelp()
			if near := spelling.Nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
				help = fmt.Sprintf("did you mean %s? %s", near, help)
			}
			if part := partOf(name); key == "" && part != "" {
				help = "it is a setting of the part " + part + ", which this program does not have"
			}
			f.fault(line, help, "unknown key %s", joinKey(key, name))
		}
	}
}

// partOf is the part that ships with a section, "" if none has a section with this key.
func partOf(key string) string {
	var doc struct {
		Properties map[string]struct {
			Part string `json:"$comment"`
		}
	}
	if err := json.Unmarshal(configs.ConfigSchema(), &doc); err != nil {
		return "" // a test reads it
	}
	return doc.Properties[key].Part
}

// decodesItself reports whether a type reads a scalar where its kind would not.
func decodesItself(t reflect.Type) bool {
	p := reflect.New(t).Interface()
	switch p.(type) {
	case yaml.BytesUnmarshaler, yaml.InterfaceUnmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// faultPlace returns the place of the fault that check finds in v, which stands at keys:
// the place of the innermost value without which check finds none. The checks of the
// packages that own a section do not name keys of the file.
func faultPlace[T any](at place, v T, check func(T) error, keys ...string) string {
	c := reflect.New(reflect.TypeFor[T]()).Elem()
	c.Set(reflect.ValueOf(v))
	below := innermost(c, func() bool { return check(c.Interface().(T)) == nil })
	return at(slices.Concat(keys, below)...)
}

func innermost(v reflect.Value, fine func() bool) []string {
	whole := reflect.New(v.Type()).Elem()
	whole.Set(v)
	var keys []string
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			at := v.FieldByIndex(field.Index)
			if name == "" || name == "-" || at.IsZero() || keys != nil {
				continue
			}
			at.SetZero()
			if fine() {
				at.Set(whole.FieldByIndex(field.Index))
				keys = append([]string{name}, innermost(at, fine)...)
			}
			v.Set(whole)
		}
	case reflect.Map:
		for _, key := range whole.MapKeys() {
			v.Set(reflect.MakeMap(v.Type()))
			for _, other := range whole.MapKeys() {
				if other.String() != key.String() {
					v.SetMapIndex(other, whole.MapIndex(other))
				}
			}
			if fine() {
				keys = []string{key.String()}
			}
		}
		v.Set(whole)
	}
	return keys
}

// firstLine is the line on which a value begins.
func firstLine(n ast.Node) int {
	if kids := entriesOf(n); len(kids) > 0 {
		return kids[0].Key.GetToken().Position.Line
	}
	return n.GetToken().Position.Line
}

func joinKey(key, name string) string { return strings.TrimPrefix(key+"."+name, ".") }

func keysHelp() string {
	return "ADROIT_CONFIG=/dev/null " + hint.Command("config") + " lists the keys there are"
}

// A fileError is a mistake in the configuration and what to do about it.
type fileError struct {
	err  error
	hint string
}

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// Hint returns advice on how to correct the error.
func (e *fileError) Hint() string { return e.hint }

func fail(err error, hint string) error { return &fileError{err, hint} }

// Faults are several mistakes of one configuration.
type Faults []error

// Error has the mistakes in one line, for where there is one.
func (f Faults) Error() string {
	var words []string
	for _, err := range f {
		words = append(words, err.Error())
	}
	return strings.Join(words, "; ")
}

// Unwrap returns the mistakes, each with its hint.
func (f Faults) Unwrap() []error { return f }

// all is nil, the one mistake, or all of them.
func all(errs ...error) error {
	var out Faults
	for _, err := range errs {
		var many Faults
		if errors.As(err, &many) {
			out = append(out, many...)
		} else if err != nil {
			out = append(out, err)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

// A place names a key: the file, and the line of the key or of the innermost one around
// it that is there.
type place func(keys ...string) string

// placeIn returns what names the keys of the file's text b.
func placeIn(path string, b []byte) place {
	return func(keys ...string) string {
		file, err := parser.ParseBytes(b, 0)
		if err != nil || len(file.Docs) == 0 {
			return path
		}
		line := 0
		for at, i := ast.Node(file.Docs[0].Body), 0; i < len(keys); i++ {
			if list, ok := at.(*ast.SequenceNode); ok {
				if n, err := strconv.Atoi(keys[i]); err == nil && n < len(list.Values) {
					at = list.Values[n]
					line = firstLine(at)
				}
				continue
			}
			entry := entryOf(at, keys[i])
			if entry == nil {
				break
			}
			line, at = entry.Key.GetToken().Position.Line, entry.Value
		}
		if line == 0 {
			return path
		}
		return fmt.Sprintf("%s:%d", path, line)
	}
}
