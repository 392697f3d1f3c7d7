package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/jsontext"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A Fault is one thing wrong with a value. Path reports where, as in
// edits[2].line, empty for the whole value. Message is a clause for a model,
// to be read after the path: "is missing; …".
type Fault struct {
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func (f Fault) String() string {
	if f.Path == "" {
		return "the value " + f.Message
	}
	return f.Path + " " + f.Message
}

func FaultText(faults []Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		if words[i] = f.Message; f.Path != "" {
			words[i] = "has a fault: " + f.String()
		}
	}
	return strings.Join(words, "; ")
}

// Validate returns everything that is wrong with args, sorted by path, nil if
// nothing is. Besides the schema's own rules it refuses broken JSON, duplicate
// keys, numbers no float64 holds, more than 64 levels and more than 8 MiB. It
// never panics, whatever args are.
func (s *Schema) Validate(args json.RawMessage) []Fault {
	if s == nil || s.Err() != nil || s.rules == nil {
		return []Fault{{Message: "cannot be checked: there is no schema"}}
	}
	value, faults := parse(args)
	if value == nil {
		return faults
	}
	faults = append(faults, s.check(value)...)
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(faults)
}

func (s *Schema) check(value *node) (faults []Fault) {
	defer func() {
		if p := recover(); p != nil {
			faults = append(faults, Fault{Message: fmt.Sprintf("cannot be checked against the schema (%v); simplify it", p)})
		}
	}()
	err := s.rules.Validate(value.value())
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []Fault{{Message: "cannot be checked against the schema: " + err.Error()}}
	}
	return s.explain(invalid, value)
}

// explain turns a tree of validation errors into a flat list.
func (s *Schema) explain(e *jsonschema.ValidationError, value *node) []Fault {
	path := pathOf(e.InstanceLocation, value)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return missing(path, k.Missing, "is missing; it is required")
	case *kind.DependentRequired:
		return missing(path, k.Missing, fmt.Sprintf("is missing; it is required together with %s", k.Prop))
	case *kind.Dependency:
		return missing(path, k.Missing, fmt.Sprintf("is missing; it is required together with %s", k.Prop))
	case *kind.AdditionalProperties:
		return s.unknown(path, e.SchemaURL, k.Properties)
	case *kind.Not:
		return []Fault{{path, fmt.Sprintf("is %s, which is not allowed%s", shown(value.find(e.InstanceLocation)), s.because(e.SchemaURL))}}
	case *kind.OneOf:
		if len(k.Subschemas) <= 1 {
			return s.closest(e, path, value)
		}
	case *kind.AnyOf:
		return s.closest(e, path, value)
	}
	if words := explainKind(e.ErrorKind, value.find(e.InstanceLocation)); words != "" {
		return []Fault{{path, words}}
	}
	if len(e.Causes) == 0 {
		return []Fault{{path, fmt.Sprintf("breaks the rule %q of the schema", strings.Join(e.ErrorKind.KeywordPath(), "/"))}}
	}
	var all []Fault
	for _, cause := range e.Causes {
		all = append(all, s.explain(cause, value)...)
	}
	return all
}

// explainKind describes what is wrong with got by itself, "" if others know.
func explainKind(e jsonschema.ErrorKind, got *node) string {
	switch k := e.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s, want %s", shown(got), strings.Join(articles(k.Want), " or "))
	case *kind.Enum:
		return enumWords(got, k.Want)
	case *kind.Const:
		return fmt.Sprintf("is %s, want %s", shown(got), literal(k.Want))
	case *kind.Minimum:
		return fmt.Sprintf("is %s, want at least %s", number(k.Got), number(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf("is %s, want at most %s", number(k.Got), number(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("is %s, want more than %s", number(k.Got), number(k.Want))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("is %s, want less than %s", number(k.Got), number(k.Want))
	case *kind.MultipleOf:
		return fmt.Sprintf("is %s, want a multiple of %s", number(k.Got), number(k.Want))
	case *kind.MinLength:
		if k.Got == 0 {
			return "is empty, want at least " + count(k.Want, "character")
		}
		return fmt.Sprintf("has %s, want at least %d", count(k.Got, "character"), k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %s, want at most %d", count(k.Got, "character"), k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %s, want at least %d", count(k.Got, "item"), k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %s, want at most %d", count(k.Got, "item"), k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal items at %d and %d, want each once", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many at its end", k.Count)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d properties, want at least %d", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d properties, want at most %d", k.Got, k.Want)
	case *kind.PropertyNames:
		return fmt.Sprintf("has a property named %q, which is not allowed", k.Property)
	case *kind.Pattern:
		return fmt.Sprintf("is %s, want text that matches %s", shown(got), k.Want)
	case *kind.Format:
		return fmt.Sprintf("is %s, want a valid %s", shown(got), k.Want)
	case *kind.MinContains:
		return fmt.Sprintf("has %d items of the wanted form, want at least %d", len(k.Got), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("has %d items of the wanted form, want at most %d", len(k.Got), k.Want)
	case *kind.Contains:
		return "holds no item of the wanted form"
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.OneOf:
		return "fits more than one of the allowed forms, want exactly one"
	}
	return ""
}

// because is what the schema says of that which must not be: the description of
// its not, which is to be read after "not allowed:".
func (s *Schema) because(schemaAt string) string {
	_, pointer, _ := strings.Cut(schemaAt, "#")
	if at := s.root.pointer(unescaped(pointer)); at != nil {
		if words := at.at("not").at("description"); words.is('"') {
			return ": " + words.text
		}
	}
	return ""
}

// closest explains a choice of forms of which none fits: by the form with the
// fewest faults, or by the types wanted if it is the type that is wrong.
func (s *Schema) closest(e *jsonschema.ValidationError, path string, value *node) []Fault {
	var want []string
	var best []Fault
	for _, form := range e.Causes {
		if k, ok := form.ErrorKind.(*kind.Type); ok && len(form.InstanceLocation) == len(e.InstanceLocation) {
			want = append(want, articles(k.Want)...)
			continue
		}
		if faults := s.explain(form, value); best == nil || len(faults) < len(best) {
			best = faults
		}
	}
	if best != nil {
		return best
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if want == nil {
		return []Fault{{path, "fits none of the allowed forms"}}
	}
	return []Fault{{path, fmt.Sprintf("is %s, want %s", shown(value.find(e.InstanceLocation)), strings.Join(want, " or "))}}
}

func missing(path string, names []string, why string) []Fault {
	var faults []Fault
	for _, name := range names {
		faults = append(faults, Fault{join(path, name), why})
	}
	return faults
}

// unknown names what the properties could have meant, from the schema that
// refused them.
func (s *Schema) unknown(path, schemaAt string, props []string) []Fault {
	_, pointer, _ := strings.Cut(schemaAt, "#")
	var known []string
	if at := s.root.pointer(unescaped(pointer)); at != nil {
		if p := at.at("properties"); p != nil {
			known = p.keys
		}
	}
	var faults []Fault
	for _, prop := range props {
		why := "is not known" + spelling.DidYouMean(prop, known)
		if known == nil {
			why += "; no properties are taken here"
		} else if spelling.Nearest(prop, known) == "" {
			why += "; there are " + strings.Join(known, ", ")
		}
		faults = append(faults, Fault{join(path, prop), why})
	}
	return faults
}

func enumWords(got *node, want []any) string {
	allowed := make([]string, 0, len(want))
	var names []string
	for _, w := range want {
		allowed = append(allowed, literal(w))
		if s, ok := w.(string); ok {
			names = append(names, s)
		}
	}
	words := fmt.Sprintf("is %s, want one of %s", shown(got), strings.Join(allowed, ", "))
	if got.is('"') {
		words += spelling.DidYouMean(got.text, names)
	}
	return words
}

// find follows a validator's location. It never returns nil.
func (n *node) find(location []string) *node {
	for _, part := range location {
		var next *node
		if n.is('[') {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.kids) {
				next = n.kids[i]
			}
		} else {
			next = n.at(part)
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// pathOf writes a location as edits[2].line.
func pathOf(location []string, value *node) string {
	path := ""
	for i, part := range location {
		if value.find(location[:i]).is('[') {
			path += "[" + part + "]"
		} else {
			path = join(path, part)
		}
	}
	return path
}

// join appends a key to a path, quoted if it would be mistaken for a path.
func join(path, key string) string {
	if len(key) > 80 {
		key = clip(key, 80)
	}
	if key == "" || strings.ContainsAny(key, ".[]\" \n\t") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// shown reports what came, short enough to be repeated to a model.
func shown(n *node) string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the string " + strconv.Quote(clip(n.text, 40))
	case '0':
		return "the number " + clip(n.text, 40)
	case 't':
		return strconv.FormatBool(n.yes)
	}
	return "null"
}

func clip(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}

func articles(types []string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			out[i] = t
		case "array", "integer", "object":
			out[i] = "an " + t
		default:
			out[i] = "a " + t
		}
	}
	return out
}

func literal(v any) string {
	b, err := jsontext.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
