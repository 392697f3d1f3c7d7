package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// Set returns the text of a configuration file in which a key, as Settings lists it,
// has a value, which is YAML or words. Comments and everything else stay as they are.
// The result is a valid configuration of a program with these parts.
func Set(path string, text []byte, key, value string, parts ...adroit.Part) ([]byte, error) {
	keys, err := keysOfSetting(reflect.TypeFor[Config](), key, sectionsOf(parts))
	if err != nil {
		return nil, err
	}
	text = rootfs.ToUTF8(text)
	var before map[string]any
	if err := yaml.Unmarshal(text, &before); err != nil {
		return nil, fail(plainyaml.Explain(path, text, err), "correct the file first")
	}
	var fault error
	for _, v := range spellings(value) {
		out, err := withValue(text, keys, v)
		if err != nil {
			return nil, fail(err, "set it in "+path)
		}
		c := &Config{from: map[string]string{}, getenv: func(string) string { return "" }, parts: parts, Sections: sectionsOf(parts)}
		if err := c.parse(path, out); err != nil {
			fault = cmp.Or(fault, err)
			continue
		}
		if !changesOnly(before, out, keys) {
			return nil, fail(fmt.Errorf("%s cannot be set without a change of what stands beside it", key), "set it in "+path)
		}
		return out, nil
	}
	return nil, fault
}

// spellings lists the ways to write a value: unchanged if that is valid YAML for it, and
// in quotes.
func spellings(value string) []string {
	quoted := strconv.Quote(value)
	var v any
	err := yaml.Unmarshal([]byte(value), &v)
	words, isText := v.(string)
	if err != nil || v == nil || isText && words != value && !strings.HasPrefix(value, `"`) || strings.ContainsAny(value, "\n\r") {
		return []string{quoted}
	}
	return []string{value, quoted}
}

// keysOfSetting are the keys of the file, from the outside in, that a setting has.
func keysOfSetting(t reflect.Type, key string, parts sections) (keys []string, err error) {
	for rest := key; rest != ""; {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			fields := map[string]reflect.Type{}
			for i := range t.NumField() {
				if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
					fields[name] = t.Field(i).Type
				}
			}
			if t == reflect.TypeFor[Config]() {
				for _, s := range parts {
					fields[s.Key()] = reflect.TypeOf(s)
				}
			}
			name, after, _ := strings.Cut(rest, ".")
			kind, ok := fields[name]
			if !ok {
				help := hint.Command("config show") + " lists the keys"
				if n := spelling.Nearest(name, slices.Sorted(maps.Keys(fields))); n != "" {
					help = fmt.Sprintf("did you mean %q?", strings.Join(append(keys, n), "."))
				}
				return nil, fail(fmt.Errorf("there is no setting %q", key), help)
			}
			keys, t, rest = append(keys, name), kind, after
		case reflect.Map:
			// A name may have dots, as that of a model does.
			name, after := rest, ""
			if e := t.Elem(); e.Kind() == reflect.Struct || e.Kind() == reflect.Pointer {
				name, after, _ = strings.Cut(rest, ".")
			}
			keys, t, rest = append(keys, name), t.Elem(), after
		default:
			return nil, fail(fmt.Errorf("there is no setting %q: %s has nothing below it", key, strings.Join(keys, ".")), hint.Command("config show")+" lists the keys")
		}
	}
	if t.Kind() == reflect.Struct || t.Kind() == reflect.Map {
		return nil, fail(fmt.Errorf("%s has keys of its own", key), hint.Command("config show")+" lists them, as "+key+".NAME")
	}
	return keys, nil
}

// withValue puts a value into the text, which was read before.
func withValue(text []byte, keys []string, value string) ([]byte, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	var at ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			at = d.Body
			break
		}
	}
	indent, after := "", -1 // where what is new goes: behind this line, or to the end
	for i, key := range keys {
		entry := entryOf(at, key)
		if entry == nil {
			if after >= 0 {
				if m, ok := at.(*ast.MappingNode); ok && m.IsFlowStyle {
					return nil, fmt.Errorf("%s is written in one line", strings.Join(keys[:i], "."))
				}
				if at.Type() != ast.NullType && at.Type() != ast.MappingType && at.Type() != ast.MappingValueType {
					return nil, fmt.Errorf("%s has a value already", strings.Join(keys[:i], "."))
				}
			}
			var added []string
			for j, k := range keys[i:] {
				line := indent + strings.Repeat("  ", j) + keyText(k) + ":"
				if i+j == len(keys)-1 {
					line += " " + value
				}
				added = append(added, line)
			}
			if after < 0 {
				head := strings.TrimRight(string(text), "\n")
				if head != "" {
					head += "\n"
				}
				return []byte(head + strings.Join(added, "\n") + "\n"), nil
			}
			return []byte(strings.Join(slices.Insert(lines, after+1, added...), "\n")), nil
		}
		at = entry.Value
		after = entry.Key.GetToken().Position.Line - 1
		indent = strings.Repeat(" ", entry.Key.GetToken().Position.Column-1+2)
		if kids := entriesOf(at); len(kids) > 0 {
			indent = strings.Repeat(" ", kids[0].Key.GetToken().Position.Column-1)
		}
	}
	old, line := strings.TrimSpace(at.GetToken().Origin), at.GetToken().Position.Line-1
	if at.Type() == ast.NullType && (old == "" || !strings.Contains(lines[after], old)) {
		lines[after] = strings.Replace(lines[after], ":", ": "+value, 1)
		return []byte(strings.Join(lines, "\n")), nil
	}
	if _, scalar := at.(ast.ScalarNode); !scalar || at.Type() == ast.LiteralType || line != after || strings.Contains(old, "\n") {
		return nil, fmt.Errorf("%s has a value of several lines", strings.Join(keys, "."))
	}
	colon := strings.Index(lines[line], ":")
	if q := lines[line][:max(colon, 0)]; strings.ContainsAny(q, `"'`) {
		colon = strings.LastIndex(lines[line], old) - 1
	}
	if i := strings.Index(lines[line][max(colon, 0):], old); i >= 0 {
		i += max(colon, 0)
		lines[line] = lines[line][:i] + value + lines[line][i+len(old):]
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// keyText is a key as it is written: one with a colon is quoted.
func keyText(key string) string {
	if strings.ContainsAny(key, ": #'\"{}[],&*!|>%@`") {
		return strconv.Quote(key)
	}
	return key
}

func entriesOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func entryOf(n ast.Node, key string) *ast.MappingValueNode {
	for _, e := range entriesOf(n) {
		if e.Key.GetToken().Value == key {
			return e
		}
	}
	return nil
}

// changesOnly reports whether a text has what there was before, but for one value.
func changesOnly(before map[string]any, text []byte, keys []string) bool {
	var after map[string]any
	if yaml.Unmarshal(bytes.Clone(text), &after) != nil {
		return false
	}
	return reflect.DeepEqual(without(before, keys), without(after, keys))
}

// without is m but for the value at keys, and for mappings that have nothing else.
func without(m map[string]any, keys []string) map[string]any {
	out := maps.Clone(m)
	kid, _ := out[keys[0]].(map[string]any)
	delete(out, keys[0])
	if len(keys) > 1 && len(kid) > 0 {
		if kid = without(kid, keys[1:]); len(kid) > 0 {
			out[keys[0]] = kid
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
