package schema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/invopop/jsonschema"
)

// Infer infers the schema of a struct from its fields and their json and jsonschema tags. A
// description in a tag may contain commas; an unknown word in a tag is an error. Fields without
// omitempty or omitzero are required, unknown properties are refused. Types that have no finite
// schema or that a model cannot fill in sensibly are refused with an error that names the field.
func Infer[T any]() (*Schema, error) {
	return schemaOf(reflect.TypeFor[T]())
}

func schemaOf(t reflect.Type) (*Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || opaque(t) {
		return nil, fmt.Errorf("arguments must be a struct, not %s: models fill in named properties", t)
	}
	// invopop never returns from a recursive type and its stack overflow
	// cannot be recovered from, so types are walked before it sees them.
	if err := checkType(t, t.String(), nil); err != nil {
		return nil, err
	}
	raw, err := reflectType(t)
	if err != nil {
		return nil, err
	}
	root, faults := parse(raw)
	if faults != nil {
		return nil, fmt.Errorf("the schema of %s %s", t, FaultText(faults))
	}
	s, err := compileNode(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return s.ForArguments()
}

func reflectType(t reflect.Type) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema of %s cannot be inferred: %v", t, p)
		}
	}()
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: mapper()}
	s := r.ReflectFromType(t)
	s.Version = ""
	describe(t, s)
	return jsontext.Marshal(s)
}

// mapper spells out the types that invopop takes for something else than
// encoding/json does. It also counts, since JSONSchemaAlias methods can make
// a cycle that checkType does not see.
func mapper() func(reflect.Type) *jsonschema.Schema {
	seen := 0
	return func(t reflect.Type) *jsonschema.Schema {
		if seen++; seen > maxSchema {
			panic("it is too big")
		}
		if t.Implements(reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()) {
			return nil
		}
		switch {
		case t == reflect.TypeFor[time.Time]():
			return nil
		case t == reflect.TypeFor[json.Number]():
			return &jsonschema.Schema{Type: "number"}
		case opaque(t):
			return &jsonschema.Schema{Description: "Any JSON value."}
		case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
			return &jsonschema.Schema{Type: "string"}
		}
		switch t.Kind() {
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			return &jsonschema.Schema{Type: "integer", Minimum: "0"}
		}
		return nil
	}
}

// opaque reports whether t takes any JSON, as far as one can tell from outside.
func opaque(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || t != reflect.TypeFor[time.Time]() &&
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func checkType(t reflect.Type, path string, open []reflect.Type) error {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return fmt.Errorf("%s is a time.Duration, which JSON writes in nanoseconds; take a number of seconds", path)
	case t == reflect.TypeFor[time.Time](), opaque(t),
		t.Implements(reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()),
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return nil
	case slices.Contains(open, t):
		return fmt.Errorf("%s is recursive: it holds another %s; models cannot be given such a type, bound its depth", path, t)
	}
	open = append(open[:len(open):len(open)], t)
	if t.Implements(reflect.TypeFor[interface{ JSONSchemaAlias() any }]()) {
		alias := reflect.Zero(t).Interface().(interface{ JSONSchemaAlias() any }).JSONSchemaAlias()
		if alias == nil {
			return fmt.Errorf("%s: its JSONSchemaAlias is nil", path)
		}
		return checkType(reflect.TypeOf(alias), path, open)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkType(t.Elem(), path, open)
	case reflect.Map:
		if k := t.Key().Kind(); k != reflect.String {
			return fmt.Errorf("%s is a map with %s keys; JSON has string keys only", path, t.Key())
		}
		return checkType(t.Elem(), path+"[]", open)
	case reflect.Struct:
		var errs []error
		for f := range fields(t) {
			if _, err := description(f); err != nil {
				errs = append(errs, fmt.Errorf("%s.%s: %w", path, f.Name, err))
			}
			errs = append(errs, checkType(f.Type, path+"."+f.Name, open))
		}
		return errors.Join(errs...)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %s, which JSON cannot hold", path, t.Kind())
	}
	return nil
}

// fields yields the fields of a struct that encoding/json reads, embedded
// structs as such.
func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == "-" || f.Tag.Get("jsonschema") == "-" {
				continue
			}
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			if !yield(f) {
				return
			}
		}
	}
}

// tagSettings are the settings of a jsonschema tag that invopop reads, written
// key=value.
var tagSettings = []string{"title", "description", "type", "anchor", "oneof_required", "anyof_required", "oneof_ref", "oneof_type", "anyof_ref",
	"anyof_type", "minLength", "maxLength", "pattern", "format", "readOnly", "writeOnly", "example", "enum", "multipleOf", "minimum",
	"maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems"}

// tagWords are the settings in a jsonschema tag that take no value.
var tagWords = []string{"required", "nullable", deprecated}

// deprecated marks a property that is accepted and not offered to models.
const deprecated = "deprecated"

// description returns the description of a field from its description tag or from its jsonschema
// tag, commas included. An element of the jsonschema tag that is neither a setting nor part of a
// description is an error: invopop ignores what it does not know, and with it text meant for the
// model.
func description(f reflect.StructField) (string, error) {
	const comma = "\x00" // an escaped one
	text, open := f.Tag.Get("description"), false
	tag := f.Tag.Get("jsonschema")
	if tag == "" {
		return text, nil
	}
	for elem := range strings.SplitSeq(strings.ReplaceAll(tag, `\,`, comma), ",") {
		key, value, isSetting := strings.Cut(elem, "=")
		elem = strings.ReplaceAll(elem, comma, ",")
		switch {
		case isSetting && key == "description":
			text, open = strings.ReplaceAll(value, comma, ","), true
		case isSetting && key == "default":
			return "", fmt.Errorf(`jsonschema:"%s": a default in a tag would be shown to the model and not applied; have the function take the zero value for it, with omitempty, and name it in description=…`, tag)
		case isSetting && slices.Contains(tagSettings, key), slices.Contains(tagWords, elem):
			open = false
		case open:
			text += "," + elem
		default:
			return "", fmt.Errorf(`jsonschema:"%s": %q is no setting; write text for the model as description=…, and a comma inside of any other value as \\,`, tag, elem)
		}
	}
	return text, nil
}

// describe gives the properties of a schema, as invopop inferred it from t, their
// whole descriptions: invopop ends one at the first comma.
func describe(t reflect.Type, s *jsonschema.Schema) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case s == nil:
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		describe(t.Elem(), s.Items)
	case t.Kind() == reflect.Map:
		describe(t.Elem(), s.AdditionalProperties)
	case t.Kind() == reflect.Struct && s.Properties != nil:
		for f := range fields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				describe(f.Type, s)
				continue
			}
			name = cmp.Or(name, f.Name)
			prop, ok := s.Properties.Get(name)
			if !ok {
				continue
			}
			if text, err := description(f); err == nil && text != "" { // checkType has seen the errors
				prop.Description = text
			}
			prop.Deprecated = slices.Contains(strings.Split(f.Tag.Get("jsonschema"), ","), deprecated)
			describe(f.Type, prop)
		}
	}
}
