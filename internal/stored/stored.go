// Package stored reads values of adroit's own types out of the records of jobs, and refuses
// what this program does not know of: a key, or a value of an enumeration. A newer program
// wrote that, and what it means may be what must hold.
//
// It is not for the values of workflows that others write: those are read as encoding/json
// reads them.
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

// An UnknownError reports that a record has what this program does not know of.
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

// Do is [flow.Do] for a step whose output is a type of adroit's own.
func Do[Out any](r *flow.Run, kind, name string, in any) (Out, error) {
	v, err := flow.Do[Value[Out]](r, kind, name, in)
	return v.V, err
}

// DoKeep is [flow.DoKeep] for such a step.
func DoKeep[Out any](r *flow.Run, kind, name string, in any) (Out, string, error) {
	v, digest, err := flow.DoKeep[Value[Out]](r, kind, name, in)
	return v.V, digest, err
}

// Load is [flow.Load] for a state of such a type.
func Load[T any](r *flow.Run, state *T) (bool, error) {
	var v Value[T]
	found, err := flow.Load(r, &v)
	if found {
		*state = v.V
	}
	return found, err
}

// Define is [flow.Define] for an input of such a type.
func Define[In, Out any](name string, f func(*flow.Run, In) (Out, error)) flow.Workflow {
	return flow.Define(name, func(r *flow.Run, in Value[In]) (Out, error) { return f(r, in.V) })
}

// Decode reads b into *v. What is not known is an *UnknownError; what is no JSON is an error of
// encoding/json.
func Decode[T any](b []byte, v *T) error {
	if root := reflect.TypeFor[T](); !complete(root) {
		panic(fmt.Sprintf("stored: %s is kept in %s and has no method Known", forgotten(root, map[reflect.Type]bool{}), root))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if !json.Valid(b) {
			return err
		}
		return &UnknownError{"it has what cannot be read (" + strings.TrimPrefix(err.Error(), "json: ") + ")"}
	}
	return check(reflect.ValueOf(v), "")
}

// roots has the types that are complete.
var roots sync.Map

// complete reports whether every enumeration within t says which values it has. Whoever adds
// one learns so from any test that runs a job.
func complete(t reflect.Type) bool {
	if _, ok := roots.Load(t); ok {
		return true
	}
	if forgotten(t, map[reflect.Type]bool{}) != nil {
		return false
	}
	roots.Store(t, true)
	return true
}

// forgotten returns a type of strings within t that does not say which values it has.
func forgotten(t reflect.Type, within map[reflect.Type]bool) reflect.Type {
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
		found = forgotten(t.Elem(), within)
	case reflect.Map:
		if found = forgotten(t.Key(), within); found == nil {
			found = forgotten(t.Elem(), within)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				found = cmp.Or(found, forgotten(f.Type, within))
			}
		}
	}
	return found
}

// check returns an *UnknownError for the first value in v that is not known.
func check(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.String:
		e, ok := v.Interface().(Enum)
		if !ok || v.Len() == 0 {
			return nil
		}
		return Unknown(path, v.String(), e.Known())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return check(v.Elem(), path)
	case reflect.Struct:
		return checkFields(v, path)
	case reflect.Slice, reflect.Array:
		if plain(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			if err := check(v.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	case reflect.Map:
		if plain(v.Type().Elem()) && plain(v.Type().Key()) {
			return nil
		}
		keys := v.MapKeys() //flowvet:ignore they are sorted
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			at := path + "[" + strconv.Quote(key.String()) + "]"
			if err := check(key, at); err != nil {
				return err
			}
			if err := check(v.MapIndex(key), at); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFields(v reflect.Value, path string) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		at := path
		if !f.Anonymous || name != "" {
			if name == "" {
				name = f.Name
			}
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		if err := check(v.Field(i), at); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether values of t have nothing in them to be asked about.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		return !t.Implements(reflect.TypeFor[Enum]())
	case reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return false
	}
	return true
}
