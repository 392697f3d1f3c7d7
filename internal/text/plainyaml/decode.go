package plainyaml

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Decoder takes values out of nodes, reports what is wrong and goes on.
type Decoder struct {
	Report func(p Place, hint, words string)
	// Nearest gives the one of some names that was probably meant, or "".
	Nearest func(name string, names []string) string
	// Odd, if set, looks at a key of the outermost mapping that is not known,
	// and reports whether it has dealt with it.
	Odd func(key, value *Node) bool
}

// Fields hands each known key of n to its func, and reports the others. of
// names the mapping, "" the outermost. The result has the keys that are there,
// also those without a value.
func (d *Decoder) Fields(n *Node, of string, known map[string]func(*Node)) map[string]bool {
	seen := map[string]bool{}
	if n.Kind != Mapping {
		d.Report(n.Place, "", of+" is "+string(n.Kind)+", not keys with values")
		return seen
	}
	for i, k := range n.Keys {
		f, ok := known[k.Text]
		switch {
		case ok && seen[k.Text]:
			d.Report(k.Place, "", k.Text+" is there twice")
		case ok:
			seen[k.Text] = true
			if n.Kids[i].Kind != Null {
				f(n.Kids[i])
			}
		case of == "" && d.Odd != nil && d.Odd(k, n.Kids[i]):
		default:
			d.unknown(k, of, known)
		}
	}
	return seen
}

func (d *Decoder) unknown(k *Node, of string, known map[string]func(*Node)) {
	names := slices.Sorted(maps.Keys(known))
	hint := "known are " + strings.Join(names, ", ")
	if near := d.Nearest(k.Text, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if of != "" {
		of = " in " + of
	}
	d.Report(k.Place, hint, "unknown key "+strconv.Quote(k.Text)+of)
}

// String reads a scalar as it is written, without space around it: the version
// 1.10 is not 1.1.
func (d *Decoder) String(n *Node, what string, into *string) {
	if n.Kind == List || n.Kind == Mapping {
		d.Report(n.Place, "", what+" is "+string(n.Kind)+", not text")
		return
	}
	*into = strings.TrimSpace(cmp.Or(n.Raw, n.Text))
}

// Names reads a list of names, also one written with commas.
func (d *Decoder) Names(n *Node, what string) []string {
	var out []string
	switch n.Kind {
	case Text:
		rest, depth, from := n.Text+",", 0, 0
		for i, c := range rest {
			switch {
			case c == '(':
				depth++
			case c == ')' && depth > 0:
				depth--
			case c == ',' && (depth == 0 || i == len(rest)-1):
				if part := strings.TrimSpace(rest[from:i]); part != "" {
					out = append(out, part)
				}
				from = i + 1
			}
		}
	case List:
		for _, kid := range n.Kids {
			var s string
			d.String(kid, "an entry of "+what, &s)
			if s != "" {
				out = append(out, s)
			}
		}
	default:
		d.Report(n.Place, "", what+" is "+string(n.Kind)+", not a list of names")
	}
	return out
}

// Whole reads a whole number.
func (d *Decoder) Whole(n *Node, what string, into *int) {
	v, err := strconv.Atoi(n.Text)
	if n.Kind != Number || err != nil {
		d.Report(n.Place, "", what+" is not a whole number")
		return
	}
	*into = v
}

// Decimal reads a number.
func (d *Decoder) Decimal(n *Node, what string, into *float64) {
	v, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != Number || err != nil {
		d.Report(n.Place, "", what+" is "+string(n.Kind)+", not a number")
		return
	}
	*into = v
}

// Duration reads a duration.
func (d *Decoder) Duration(n *Node, what string, into *time.Duration) {
	v, err := time.ParseDuration(n.Text)
	if n.Kind != Text || err != nil {
		d.Report(n.Place, "write it like 30m or 1h30m", what+" is not a duration")
		return
	}
	*into = v
}

// Bool reads true or false.
func (d *Decoder) Bool(n *Node, what string, into *bool) {
	if *into = n.Text == "true"; n.Kind != Boolean {
		d.Report(n.Place, "", what+" is true or false")
	}
}
