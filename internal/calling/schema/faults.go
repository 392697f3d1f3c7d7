package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
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

// FaultList returns faults as a list behind a colon.
func FaultList(faults []Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = f.String()
	}
	return strings.Join(words, "; ")
}

// FaultText returns faults as clauses behind what has them.
func FaultText(faults []Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		if words[i] = f.Message; f.Path != "" {
			words[i] = "has a fault: " + f.String()
		}
	}
	return strings.Join(words, "; ")
}

// Validate returns everything that is wrong with args, sorted by path, or nil. Besides the
// schema's own rules it refuses broken JSON, duplicate keys, numbers outside the range of float64,
// more than 64 levels and more than 8 MiB. It never panics, whatever args are.
func (s *Schema) Validate(args json.RawMessage) []Fault {
	if s == nil || s.Err() != nil || s.rules == nil {
		return []Fault{{Message: "cannot be checked: there is no schema"}}
	}
	value, faults := parse(args)
	if value == nil {
		return faults
	}
	faults = append(faults, s.rules.check(s.root, value, "", nil)...)
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(faults)
}

// notReason returns the description of a schema under not, to be appended to "not allowed", or "".
func notReason(not *Node) string {
	if words := not.At("description"); words.is('"') {
		return ": " + words.Text
	}
	return ""
}

// missing reports the names that an object lacks.
func missing(v *Node, path string, names *Node, why string) (faults []Fault) {
	for _, name := range names.words() {
		if v.At(name) == nil {
			faults = append(faults, Fault{join(path, name), why})
		}
	}
	return faults
}

// unknown reports an unknown property, with the names it may have meant.
func unknown(path, prop string, props *Node) Fault {
	why := "is not known"
	if props == nil || props.Keys == nil {
		why += "; no properties are taken here"
	} else if why += spelling.DidYouMean(prop, props.Keys); spelling.Nearest(prop, props.Keys) == "" {
		why += "; there are " + strings.Join(props.Keys, ", ")
	}
	return Fault{join(path, prop), why}
}

func enumWords(got *Node, want []*Node) string {
	allowed := make([]string, 0, len(want))
	var names []string
	for _, w := range want {
		allowed = append(allowed, w.String())
		if w.is('"') {
			names = append(names, w.Text)
		}
	}
	words := fmt.Sprintf("is %s, want one of %s", shown(got), strings.Join(allowed, ", "))
	if got.is('"') {
		words += spelling.DidYouMean(got.Text, names)
	}
	return words
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

// shown renders a value, short enough to be repeated to a model.
func shown(n *Node) string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the string " + strconv.Quote(clip(n.Text, 40))
	case '0':
		return "the number " + clip(n.Text, 40)
	case 't':
		return strconv.FormatBool(n.Yes)
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

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
