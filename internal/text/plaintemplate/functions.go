package plaintemplate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"text/template"
)

// builtins are the functions that text/template has.
var builtins = map[string]any{
	"and": last, "or": last, "not": func(v any) bool { return !truth(v) },
	"call": call, "index": index, "slice": slice, "len": length,
	"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
	"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	"eq": equal, "ne": func(a, b any) (bool, error) { is, err := equal(a, b); return !is, err },
	"lt": func(a, b any) (bool, error) { return less(a, b) },
	"le": func(a, b any) (bool, error) {
		if is, err := less(a, b); is || err != nil {
			return is, err
		}
		return equal(a, b)
	},
	"gt": func(a, b any) (bool, error) { // of floats, one that is no number is neither less nor equal
		is, err := less(a, b)
		if is || err != nil {
			return false, err
		}
		is, err = equal(a, b)
		return !is, err
	},
	"ge": func(a, b any) (bool, error) { is, err := less(a, b); return !is, err },
}

// apply calls a function, whose last result may be an error.
func apply(name string, fn any, args []any) (any, error) {
	f := reflect.ValueOf(fn)
	t := f.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
	}
	if len(args) < fixed || len(args) > fixed && !t.IsVariadic() {
		return nil, fmt.Errorf("wrong number of args for %s: want %d got %d", name, fixed, len(args))
	}
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		want := t.In(min(i, fixed))
		if i >= fixed {
			want = want.Elem()
		}
		switch in[i] = reflect.ValueOf(arg); {
		case arg == nil && want.Kind() == reflect.Interface:
			in[i] = reflect.Zero(want)
		case arg == nil:
			return nil, fmt.Errorf("invalid value; expected %s", want)
		case !in[i].Type().AssignableTo(want):
			return nil, fmt.Errorf("wrong type for value; expected %s; got %T", want, arg)
		}
	}
	out := f.Call(in)
	if len(out) > 1 && !out[1].IsNil() {
		return nil, fmt.Errorf("error calling %s: %w", name, out[1].Interface().(error))
	}
	return out[0].Interface(), nil
}

// last returns the value of and and or when no argument before the last has
// decided.
func last(first any, more ...any) any {
	if len(more) > 0 {
		return more[len(more)-1]
	}
	return first
}

func call(fn any, args ...any) (any, error) {
	if f := reflect.ValueOf(fn); f.Kind() != reflect.Func || f.IsNil() {
		return nil, fmt.Errorf("call of %T, which is no function or nil", fn)
	}
	return apply("call", fn, args)
}

func length(v any) (int, error) {
	switch r, isNil := indirect(reflect.ValueOf(v)); r.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return r.Len(), nil
	default:
		if isNil {
			return 0, errors.New("len of nil pointer")
		}
		return 0, fmt.Errorf("len of type %T", v)
	}
}

func index(of any, keys ...any) (any, error) {
	if of == nil {
		return nil, errors.New("index of untyped nil")
	}
	for _, key := range keys {
		v, isNil := indirect(reflect.ValueOf(of))
		if isNil || !v.IsValid() {
			return nil, errors.New("index of nil pointer")
		}
		switch v.Kind() {
		case reflect.Slice, reflect.Array, reflect.String:
			i, err := position(key, v.Len()-1)
			if err != nil {
				return nil, err
			}
			of = v.Index(i).Interface()
		case reflect.Map:
			k := reflect.ValueOf(key)
			if !k.IsValid() || !k.Type().AssignableTo(v.Type().Key()) {
				return nil, fmt.Errorf("value has type %T; should be %s", key, v.Type().Key())
			}
			e := v.MapIndex(k)
			if !e.IsValid() {
				e = reflect.Zero(v.Type().Elem())
			}
			of = e.Interface()
		default:
			return nil, fmt.Errorf("can't index item of type %T", of)
		}
	}
	return of, nil
}

// position is an index of a list, at most most.
func position(v any, most int) (int, error) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, errors.New("cannot index slice/array with nil")
	case !r.CanInt() && !r.CanUint():
		return 0, fmt.Errorf("cannot index slice/array with type %T", v)
	case most < 0, r.CanUint() && r.Uint() > uint64(most), r.CanInt() && (r.Int() < 0 || r.Int() > int64(most)):
		return 0, fmt.Errorf("index out of range: %v", v)
	case r.CanUint():
		return int(r.Uint()), nil
	}
	return int(r.Int()), nil
}

func slice(of any, at ...any) (any, error) {
	v, isNil := indirect(reflect.ValueOf(of))
	if isNil || !v.IsValid() {
		return nil, errors.New("slice of nil")
	}
	most := 0
	switch v.Kind() {
	case reflect.String:
		most = v.Len()
	case reflect.Slice:
		most = v.Cap()
	default:
		return nil, fmt.Errorf("can't slice item of type %T", of)
	}
	if len(at) > 3 || len(at) == 3 && v.Kind() == reflect.String {
		return nil, fmt.Errorf("too many slice indexes: %d", len(at))
	}
	ends := [3]int{0, v.Len(), most}
	for i, p := range at {
		var err error
		if ends[i], err = position(p, most); err != nil {
			return nil, err
		}
	}
	switch {
	case ends[0] > ends[1] || ends[1] > ends[2]:
		return nil, fmt.Errorf("invalid slice index: %d > %d", max(ends[0], ends[1]), min(ends[1], ends[2]))
	case len(at) == 3:
		return v.Slice3(ends[0], ends[1], ends[2]).Interface(), nil
	}
	return v.Slice(ends[0], ends[1]).Interface(), nil
}

var errComparison = errors.New("invalid type for comparison")

// A basic is a value that can be ordered, or a truth.
type basic struct {
	of       string // the kind of comparison, "" for none
	negative bool
	whole    uint64 // of an integer; two's complement if negative
	float    float64
	text     string
	complex  complex128
}

func basicOf(v any) basic {
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.Bool:
		return basic{of: "bool", text: fmt.Sprint(r.Bool())}
	case r.CanInt():
		return basic{of: "integer", whole: uint64(r.Int()), negative: r.Int() < 0}
	case r.CanUint() && r.Kind() != reflect.Uintptr:
		return basic{of: "integer", whole: r.Uint()}
	case r.CanFloat():
		return basic{of: "float", float: r.Float()}
	case r.CanComplex():
		return basic{of: "complex", complex: r.Complex()}
	case r.Kind() == reflect.String:
		return basic{of: "string", text: r.String()}
	}
	return basic{}
}

// equal reports whether a is one of the others.
func equal(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	x := basicOf(a)
	for _, b := range others {
		y := basicOf(b)
		is := x == y
		switch {
		case x.of != y.of && a != nil && b != nil:
			return false, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
		case x.of == "" && y.of == "":
			v, w := reflect.ValueOf(a), reflect.ValueOf(b)
			if v.IsValid() && w.IsValid() && v.Kind() != w.Kind() {
				return false, fmt.Errorf("non-comparable types %T and %T", a, b)
			}
			if is = none(v) && none(w); is || none(v) || none(w) {
				break
			}
			if !v.Comparable() || !w.Comparable() {
				return false, fmt.Errorf("non-comparable type %T", b)
			}
			is = a == b
		}
		if is {
			return true, nil
		}
	}
	return false, nil
}

// none reports whether r is nil, of a type or of none.
func none(r reflect.Value) bool {
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice:
		return r.IsNil()
	}
	return false
}

func less(a, b any) (bool, error) {
	x, y := basicOf(a), basicOf(b)
	switch {
	case x.of == "" || y.of == "":
		return false, errComparison
	case x.of != y.of:
		return false, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
	case x.of == "bool" || x.of == "complex":
		return false, errComparison
	case x.of == "float":
		return x.float < y.float, nil
	case x.of == "string":
		return x.text < y.text, nil
	case x.negative != y.negative:
		return x.negative, nil
	}
	return cmp.Less(x.whole, y.whole), nil
}
