package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// Repair rewrites arguments that do not satisfy s where they have one possible meaning: it applies
// the function [Repair], and corrects values in strings, and names that other programs use for the
// same thing. The notes describe the changes for the model. Arguments that satisfy s are returned
// unchanged, and so are those that would not satisfy it afterwards.
func (s *Schema) Repair(args json.RawMessage) (fixed json.RawMessage, notes []string) {
	fixed, note := Repair(args)
	if note != "" {
		notes = append(notes, note)
	}
	if s == nil || s.Err() != nil || s.Validate(fixed) == nil {
		return fixed, notes
	}
	value, faults := parse(fixed)
	if faults != nil {
		return fixed, notes
	}
	var c coercion
	value = c.unwrapped(s.root, value)
	out := json.RawMessage(c.value(s.root, value, "").Append(nil))
	if c.notes == nil || s.Validate(out) != nil {
		return fixed, notes
	}
	return out, append(notes, c.notes...)
}

// unwrapped takes the object out of a list of one, or from below a name that sch does not have.
func (c *coercion) unwrapped(sch, v *Node) *Node {
	if v.is('[') && len(v.Kids) == 1 && v.Kids[0].is('{') && slices.Contains(sch.Types(), "object") {
		c.note("the arguments were a list of one object; taken as it")
		v = v.Kids[0]
	}
	if v.is('{') && len(v.Keys) == 1 && v.Kids[0].is('{') && sch.At("properties").is('{') && sch.At("properties").At(v.Keys[0]) == nil {
		c.note("the arguments were below %s; taken from there", v.Keys[0])
		v = v.Kids[0]
	}
	return v
}

// A coercion changes a value to fit a schema.
type coercion struct{ notes []string }

func (c *coercion) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// value changes v, which it may consume.
func (c *coercion) value(sch, v *Node, path string) *Node {
	if types := sch.Types(); len(types) > 0 && !allows(types, v) {
		w := convert(sch, types, v)
		if w == nil {
			return v
		}
		c.note("%s is %s, not %s", path, articles(types[:1])[0], shownKind(v))
		v = w
	}
	switch v.Kind {
	case '{':
		c.members(sch, v, path)
	case '[':
		for i, kid := range v.Kids {
			v.Kids[i] = c.value(sch.At("items"), kid, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	return v
}

// members renames and drops properties of v, then changes their values.
func (c *coercion) members(sch, v *Node, path string) {
	props := sch.At("properties")
	if !props.is('{') {
		return
	}
	required := sch.At("required").words()
	others := sch.At("additionalProperties")
	closed := others.is('t') && !others.Yes
	if closed {
		for i, key := range v.Keys {
			if props.At(key) != nil {
				continue
			}
			if name := meantProperty(key, v.Kids[i], v, props, required); name != "" {
				c.note("%s is called %s", join(path, key), name)
				v.Keys[i] = name
			}
		}
	}
	for i := len(v.Keys) - 1; i >= 0; i-- {
		key := v.Keys[i]
		p := props.At(key)
		if v.Kids[i].is('n') && (p == nil && closed || p != nil && !allows(p.Types(), v.Kids[i])) && !slices.Contains(required, key) {
			c.note("%s is left out rather than null", join(path, key))
			v.Keys, v.Kids = slices.Delete(v.Keys, i, i+1), slices.Delete(v.Kids, i, i+1)
		}
	}
	for i, key := range v.Keys {
		if p := props.At(key); p != nil {
			v.Kids[i] = c.value(p, v.Kids[i], join(path, key))
		}
	}
}

// meantProperty returns the property that an unknown name stands for, or "" if there is doubt: v
// must lack the property, and it must accept the value.
func meantProperty(key string, value, v, props *Node, required []string) string {
	fits := func(name string) bool {
		p := props.At(name)
		if p == nil || v.At(name) != nil {
			return false
		}
		types := p.Types()
		return allows(types, value) || convert(p, types, value) != nil
	}
	fold := spelling.Fold(key)
	for _, name := range props.Keys {
		if spelling.Fold(name) == fold && fits(name) {
			return name
		}
	}
	for _, name := range aliases[fold] {
		if fits(name) {
			return name
		}
	}
	if name := spelling.Nearest(key, props.Keys); slices.Contains(required, name) && fits(name) {
		return name
	}
	return ""
}

// aliases maps other programs' names for arguments, folded, to the names used here. The first one
// that a tool has is meant.
var aliases = map[string][]string{
	"filepath": {"path"}, "filename": {"path"}, "file": {"path"}, "targetfile": {"path"}, "absolutepath": {"path"}, "relativepath": {"path"},
	"path":      {"dir", "target", "paths"},
	"directory": {"dir", "path", "target"}, "dirpath": {"dir", "path"}, "folder": {"dir", "path"}, "cwd": {"dir"},
	"files": {"paths"}, "filepaths": {"paths"},
	"oldstring": {"old"}, "oldstr": {"old"}, "oldtext": {"old"}, "find": {"old", "pattern"}, "search": {"old", "pattern"},
	"newstring": {"new"}, "newstr": {"new"}, "newtext": {"new"}, "replace": {"new"}, "replacement": {"new"}, "replacewith": {"new"},
	"replaceall": {"all"},
	"query":      {"pattern"}, "regex": {"pattern"}, "regexp": {"pattern"}, "searchterm": {"pattern"}, "q": {"pattern", "query"},
	"pattern": {"glob", "filter", "query"}, "include": {"glob"}, "includepattern": {"glob"}, "globpattern": {"glob"},
	"contents": {"content"}, "filetext": {"content"}, "newcontent": {"content"}, "filecontent": {"content"}, "text": {"content", "summary"},
	"offset": {"from"}, "startline": {"from"}, "linestart": {"from"},
	"limit": {"lines", "max"}, "numlines": {"lines"}, "maxresults": {"max", "limit"}, "headlimit": {"max"}, "contextlines": {"context"},
	"cmd": {"command"}, "commandline": {"command"}, "bashcommand": {"command"},
	"commitmessage": {"message"}, "msg": {"message"}, "result": {"summary"}, "message": {"summary"}, "answer": {"summary"},
	"symbol": {"name"}, "symbolname": {"name"}, "identifier": {"name"},
	"source": {"from"}, "sourcepath": {"from"}, "src": {"from"}, "oldpath": {"from"},
	"destination": {"to"}, "destinationpath": {"to"}, "dest": {"to"}, "dst": {"to"}, "newpath": {"to"}, "targetpath": {"to", "path"},
}

// Types lists the types that a schema allows, null last.
func (n *Node) Types() []string {
	t := n.At("type")
	if t.is('"') {
		return []string{t.Text}
	}
	out := slices.DeleteFunc(t.words(), func(s string) bool { return s == "null" })
	if t != nil && len(out) < len(t.Kids) {
		out = append(out, "null")
	}
	return out
}

func allows(types []string, v *Node) bool {
	if len(types) == 0 {
		return true
	}
	switch v.Kind {
	case '{':
		return slices.Contains(types, "object")
	case '[':
		return slices.Contains(types, "array")
	case '"':
		return slices.Contains(types, "string")
	case '0':
		return slices.Contains(types, "number") || slices.Contains(types, "integer")
	case 't':
		return slices.Contains(types, "boolean")
	}
	return slices.Contains(types, "null")
}

// convert gives v as the one type that is allowed beside null, nil if that
// would be a guess.
func convert(sch *Node, types []string, v *Node) *Node {
	if len(types) == 0 || len(types) > 1 && types[1] != "null" {
		return nil
	}
	switch want := types[0]; {
	case want == "string" && (v.is('0') || v.is('t')):
		return text(v.String())
	case want == "boolean" && v.is('"'):
		switch strings.ToLower(strings.TrimSpace(v.Text)) {
		case "true":
			return &Node{Kind: 't', Yes: true}
		case "false":
			return &Node{Kind: 't'}
		}
	case want == "array" && v.is('{'):
		return listOf(sch, v)
	case v.is('"') && (want == "integer" || want == "number" || want == "array" || want == "object"):
		in, faults := parse([]byte(v.Text))
		if faults != nil {
			in, faults = parse([]byte(escapeLines(v.Text)))
		}
		switch {
		case faults == nil && in != nil && allows(types[:1], in):
			return in
		case want == "array" && faults == nil && in.is('{'):
			return listOf(sch, in)
		case want == "array" && !strings.HasPrefix(strings.TrimSpace(v.Text), "["):
			return listOf(sch, v)
		}
	}
	return nil
}

// escapeLines escapes the line ends and tabs that stand in strings of s as they are.
func escapeLines(s string) string {
	var b strings.Builder
	quoted, escaped := false, false
	for i := range len(s) {
		c := s[i]
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted && c == '\n':
			b.WriteString(`\n`)
			continue
		case quoted && c == '\r':
			b.WriteString(`\r`)
			continue
		case quoted && c == '\t':
			b.WriteString(`\t`)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// listOf wraps v in a list if the schema's items have its type.
func listOf(sch, v *Node) *Node {
	if types := sch.At("items").Types(); len(types) == 1 && allows(types, v) {
		return &Node{Kind: '[', Kids: []*Node{v}}
	}
	return nil
}

// shownKind names the kind of a value without showing its text, which may be long or secret.
func shownKind(v *Node) string {
	switch v.Kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't':
		return "a boolean"
	}
	return shown(v)
}
