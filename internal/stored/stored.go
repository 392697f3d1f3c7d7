// Package stored decodes values of adroit's own types from the records of jobs, and refuses
// unknown keys and unknown values of enumerations: a newer program wrote them, and they may
// restrict what this one must not ignore.
//
// It is not for the values of workflows that others write: those are decoded as encoding/json
// does.
package stored

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/flow"
)

// An Enum is a string of which a program knows all the values there are.
type Enum interface {
	// Known reports whether this program knows the value. The empty one, which is not
	// set, is not asked about.
	Known() bool
}

// An UnknownError reports that a record contains a key or value that this program does not know.
type UnknownError struct {
	What string // that is not known, and where
}

func (e *UnknownError) Error() string {
	return e.What + ", which this version of adroit does not know: a newer one wrote it; go on with the job with that one"
}

// Unknown returns an *UnknownError for a value at path, unless known.
func Unknown(path, value string, known bool) error {
	if known {
		return nil
	}
	return &UnknownError{fmt.Sprintf("%s is %q", path, value)}
}

// A Value is a value as a record has it.
type Value[T any] struct{ V T }

// MarshalJSON implements [json.Marshaler].
func (v Value[T]) MarshalJSON() ([]byte, error) { return json.Marshal(v.V) }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Value[T]) UnmarshalJSON(b []byte) error { return Decode(b, &v.V) }

// Do is like [flow.Do], for a step whose output is a type of adroit's own.
func Do[Out any](r *flow.Run, kind, name string, in any) (Out, error) {
	v, err := flow.Do[Value[Out]](r, kind, name, in)
	return v.V, err
}

// DoKeep is like [flow.DoKeep], for such a step.
func DoKeep[Out any](r *flow.Run, kind, name string, in any) (Out, string, error) {
	v, digest, err := flow.DoKeep[Value[Out]](r, kind, name, in)
	return v.V, digest, err
}

// Load is like [flow.Load], for a state of such a type.
func Load[T any](r *flow.Run, state *T) (bool, error) {
	var v Value[T]
	found, err := flow.Load(r, &v)
	if found {
		*state = v.V
	}
	return found, err
}

// Define is like [flow.Define], for an input of such a type.
func Define[In, Out any](name string, f func(*flow.Run, In) (Out, error)) flow.Workflow {
	return flow.Define(name, func(r *flow.Run, in Value[In]) (Out, error) { return f(r, in.V) })
}

// Decode reads b into *v. An unknown field or value is an *UnknownError; invalid JSON is an error
// of encoding/json.
func Decode[T any](b []byte, v *T) error {
	if root := reflect.TypeFor[T](); !complete(root) {
		panic(fmt.Sprintf("stored: %s is kept in %s and has no method Known", undeclaredEnum(root, map[reflect.Type]bool{}), root))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if !json.Valid(b) {
			return err
		}
		return &UnknownError{"it has what cannot be read (" + strings.TrimPrefix(err.Error(), "json: ") + ")"}
	}
	path, value, found := shapeOf(reflect.TypeFor[T]()).unknown(reflect.ValueOf(v).Elem())
	return Unknown(path, value, !found)
}

// roots has the types that are complete.
var roots sync.Map

// complete reports whether every enumeration within t declares its values. Any test that runs a
// job fails for a new one that does not.
func complete(t reflect.Type) bool {
	if _, ok := roots.Load(t); ok {
		return true
	}
	if undeclaredEnum(t, map[reflect.Type]bool{}) != nil {
		return false
	}
	roots.Store(t, true)
	return true
}

// undeclaredEnum returns a type of strings within t that does not declare its values.
func undeclaredEnum(t reflect.Type, within map[reflect.Type]bool) reflect.Type {
	if within[t] {
		return nil
	}
	within[t] = true
	var found reflect.Type
	switch t.Kind() {
	case reflect.String:
		if t.PkgPath() != "" && !t.Implements(reflect.TypeFor[Enum]()) {
			return t
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		found = undeclaredEnum(t.Elem(), within)
	case reflect.Map:
		if found = undeclaredEnum(t.Key(), within); found == nil {
			found = undeclaredEnum(t.Elem(), within)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				found = cmp.Or(found, undeclaredEnum(f.Type, within))
			}
		}
	}
	return found
}

// A shape locates the enumerations in values of a type; nil has none.
type shape struct {
	kind   reflect.Kind
	elem   *shape // of pointers, slices, arrays and the values of maps
	key    *shape // of maps
	fields []field
}

type field struct {
	index int
	name  string // "" for what is embedded
	shape *shape
}

// shapes caches the *shape of each type that was decoded.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := newShape(t, map[reflect.Type]*shape{})
	shapes.Store(t, s)
	return s
}

// newShape returns the shape of t. A type within itself is taken to have something.
func newShape(t reflect.Type, within map[reflect.Type]*shape) *shape {
	if s, ok := within[t]; ok {
		return s
	}
	s := &shape{kind: t.Kind()}
	within[t] = s
	asked := false
	switch t.Kind() {
	case reflect.String:
		asked = t.Implements(reflect.TypeFor[Enum]())
	case reflect.Interface:
		asked = true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		s.elem = newShape(t.Elem(), within)
		asked = s.elem != nil
	case reflect.Map:
		s.key, s.elem = newShape(t.Key(), within), newShape(t.Elem(), within)
		asked = s.key != nil || s.elem != nil
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() && !f.Anonymous || name == "-" {
				continue
			}
			if name == "" && !f.Anonymous {
				name = f.Name
			}
			if in := newShape(f.Type, within); in != nil {
				s.fields = append(s.fields, field{i, name, in})
			}
		}
		asked = len(s.fields) > 0
	}
	if !asked {
		within[t] = nil
		return nil
	}
	return s
}

// unknown looks for a value in v that is not known, and returns where it is.
func (s *shape) unknown(v reflect.Value) (path, value string, found bool) {
	if s == nil {
		return "", "", false
	}
	switch s.kind {
	case reflect.String:
		return "", v.String(), v.Len() > 0 && !enum(v).Known()
	case reflect.Pointer:
		if !v.IsNil() {
			return s.elem.unknown(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			return shapeOf(v.Elem().Type()).unknown(v.Elem())
		}
	case reflect.Struct:
		for _, f := range s.fields {
			if path, value, found = f.shape.unknown(v.Field(f.index)); found {
				return join(f.name, path), value, true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if path, value, found = s.elem.unknown(v.Index(i)); found {
				return join("["+strconv.Itoa(i)+"]", path), value, true
			}
		}
	case reflect.Map:
		keys := v.MapKeys() //flowvet:ignore they are sorted
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if path, value, found = s.key.unknown(key); !found {
				path, value, found = s.elem.unknown(v.MapIndex(key))
			}
			if found {
				return join("["+strconv.Quote(key.String())+"]", path), value, true
			}
		}
	}
	return "", "", false
}

// enum returns v as the enumeration that it is, without a copy where it has an address.
func enum(v reflect.Value) Enum {
	if v.CanAddr() {
		return v.Addr().Interface().(Enum)
	}
	return v.Interface().(Enum)
}

// join puts a key before a path.
func join(key, path string) string {
	if key == "" || path == "" || path[0] == '[' {
		return key + path
	}
	return key + "." + path
}
