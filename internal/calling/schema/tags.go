package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// tagSettings are the settings of a jsonschema tag that invopop reads, written
// key=value.
var tagSettings = []string{"title", "description", "type", "anchor", "oneof_required", "anyof_required", "oneof_ref", "oneof_type", "anyof_ref",
	"anyof_type", "minLength", "maxLength", "pattern", "format", "readOnly", "writeOnly", "example", "enum", "multipleOf", "minimum",
	"maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems"}

// tagWords are those without a value.
var tagWords = []string{"required", "nullable", deprecated}

// deprecated marks a property that is accepted and not offered to models.
const deprecated = "deprecated"

// description is what the tags of a field say of it: a description tag, or the
// description in the jsonschema tag, commas included. An element of that tag
// that is neither a setting nor part of a description is an error: invopop
// passes over what it does not know, and with it over text meant for the model.
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
