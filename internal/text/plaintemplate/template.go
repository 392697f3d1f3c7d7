// Package plaintemplate fills in the templates of text/template, whose syntax and output it has, for data
// without methods.
//
//	t, err := plaintemplate.Parse("greeting", "Hello {{.Name}}", nil)
//	err = t.Execute(w, struct{ Name string }{"Ann"})
//
// text/template finds methods by names that it learns as it runs. For that the linker keeps every exported
// method of every type of a program, a tenth of it. Of methods there are here String and those of [json.Number].
// A key that a mapping lacks is an error, as with the option missingkey=error.
package plaintemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// A Template can be executed by several goroutines at once. Whoever changes a tree does so before.
type Template struct {
	*parse.Tree                        // what Execute writes
	Trees       map[string]*parse.Tree // all templates of the text, by name
	funcs       map[string]any
}

// Parse reads a template. funcs are functions beside those of text/template, as FuncMap of text/template has them.
func Parse(name, text string, funcs map[string]any) (*Template, error) {
	trees, err := parse.Parse(name, text, "", "", funcs, builtins)
	if err != nil {
		return nil, err
	}
	return &Template{trees[name], trees, funcs}, nil
}

// maxDepth bounds templates that call themselves.
const maxDepth = 10_000

// Execute writes the template with data in its places. What was written before an error stays written.
func (t *Template) Execute(w io.Writer, data any) error {
	s := &state{t: t, tree: t.Tree, w: w, vars: []variable{{"$", data}}}
	return s.walk(data, t.Root)
}

// A state is one execution of one tree.
type state struct {
	t     *Template
	tree  *parse.Tree
	w     io.Writer
	vars  []variable
	depth int
}

type variable struct {
	name  string
	value any
}

func (s *state) errorf(n parse.Node, format string, args ...any) error {
	place, context := s.tree.ErrorContext(n)
	return fmt.Errorf("template: %s: executing %q at <%s>: %w", place, s.tree.Name, context, fmt.Errorf(format, args...))
}

// What break and continue return up to the loop.
var (
	errBreak    = errors.New("break outside of a range")
	errContinue = errors.New("continue outside of a range")
)

func (s *state) walk(dot any, node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			if err := s.walk(dot, child); err != nil {
				return err
			}
		}
	case *parse.TextNode:
		_, err := s.w.Write(n.Text)
		return err
	case *parse.ActionNode:
		v, err := s.pipeline(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		return s.print(n, v)
	case *parse.IfNode:
		return s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return s.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		mark := len(s.vars)
		err := s.loop(dot, n)
		s.vars = s.vars[:mark]
		return err
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.TemplateNode:
		return s.call(dot, n)
	case *parse.CommentNode:
	default:
		return s.errorf(n, "unknown node: %s", n)
	}
	return nil
}

func (s *state) print(n parse.Node, value any) error {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v, _ = indirect(v)
	}
	switch _, text := value.(fmt.Stringer); {
	case !v.IsValid():
		value = "<no value>"
	case text:
	case v.Kind() == reflect.Func, v.Kind() == reflect.Chan:
		return s.errorf(n, "can't print %s of type %s", n, v.Type())
	default:
		value = v.Interface()
	}
	_, err := fmt.Fprint(s.w, value)
	return err
}

func (s *state) branch(dot any, n *parse.BranchNode, with bool) error {
	mark := len(s.vars)
	defer func() { s.vars = s.vars[:mark] }()
	v, err := s.pipeline(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case truth(v) && with:
		return s.walk(v, n.List)
	case truth(v):
		return s.walk(dot, n.List)
	case n.ElseList != nil:
		return s.walk(dot, n.ElseList)
	}
	return nil
}

func (s *state) loop(dot any, n *parse.RangeNode) error {
	over, err := s.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	decl, mark := n.Pipe.Decl, len(s.vars)
	once := func(index, elem any) error {
		for i, d := range decl {
			v := elem
			if i < len(decl)-1 {
				v = index
			}
			s.set(d.Ident[0], v)
		}
		err := s.walk(elem, n.List)
		s.vars = s.vars[:mark]
		if err == errContinue {
			return nil
		}
		return err
	}
	v, _ := indirect(reflect.ValueOf(over))
	some := false
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			some, err = true, once(i, v.Index(i).Interface())
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return s.errorf(n, "range can't iterate over %v", v)
		}
		keys := slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) //flowvet:ignore they are sorted
		for i := 0; i < len(keys) && err == nil; i++ {
			some, err = true, once(keys[i].Interface(), v.MapIndex(keys[i]).Interface())
		}
	default:
		switch {
		case !v.CanInt() && !v.CanUint():
			return s.errorf(n, "range can't iterate over %v", v)
		case len(decl) > 1:
			return s.errorf(n, "can't use %v to iterate over more than one variable", v)
		}
		for i := range v.Seq() {
			if some, err = true, once(nil, i.Interface()); err != nil {
				break
			}
		}
	}
	switch {
	case err == errBreak:
		return nil
	case err == nil && !some && n.ElseList != nil:
		return s.walk(dot, n.ElseList)
	}
	return err
}

func (s *state) call(dot any, n *parse.TemplateNode) error {
	tree := s.t.Trees[n.Name]
	switch {
	case tree == nil:
		return s.errorf(n, "template %q not defined", n.Name)
	case s.depth == maxDepth:
		return s.errorf(n, "exceeded maximum template depth (%v)", maxDepth)
	}
	dot, err := s.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	inner := &state{t: s.t, tree: tree, w: s.w, vars: []variable{{"$", dot}}, depth: s.depth + 1}
	return inner.walk(dot, tree.Root)
}

// set gives the last variable of a name its value.
func (s *state) set(name string, value any) {
	for i := len(s.vars) - 1; i >= 0; i-- {
		if s.vars[i].name == name {
			s.vars[i].value = value
			return
		}
	}
}

func (s *state) variable(name string) any {
	for _, v := range slices.Backward(s.vars) {
		if v.name == name {
			return v.value
		}
	}
	return nil // the parser refuses variables that are not declared
}

// noFinal is the value that the first command of a pipeline gets.
type noFinal struct{}

// pipeline gives the value of the last command, and it to the variables that the pipeline declares.
func (s *state) pipeline(dot any, p *parse.PipeNode) (value any, err error) {
	if p == nil {
		return nil, nil
	}
	value = noFinal{}
	for _, c := range p.Cmds {
		if value, err = s.command(dot, c, value); err != nil {
			return nil, err
		}
	}
	for _, d := range p.Decl {
		if p.IsAssign {
			s.set(d.Ident[0], value)
		} else {
			s.vars = append(s.vars, variable{d.Ident[0], value})
		}
	}
	return value, nil
}

// command is the value of a command. final is the value of the command before it, its last argument.
func (s *state) command(dot any, c *parse.CommandNode, final any) (any, error) {
	first := c.Args[0]
	if f, ok := first.(*parse.IdentifierNode); ok {
		return s.function(dot, f, c, c.Args[1:], final)
	}
	if final != (noFinal{}) || len(c.Args) > 1 {
		return nil, s.errorf(first, "can't give argument to non-function %s", first)
	}
	if _, ok := first.(*parse.NilNode); ok {
		return nil, s.errorf(first, "nil is not a command")
	}
	return s.operand(dot, first)
}

func (s *state) operand(dot any, node parse.Node) (any, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		return s.number(n)
	case *parse.FieldNode:
		return s.fields(dot, n, n.Ident)
	case *parse.VariableNode:
		return s.fields(s.variable(n.Ident[0]), n, n.Ident[1:])
	case *parse.PipeNode:
		return s.pipeline(dot, n)
	case *parse.IdentifierNode:
		return s.function(dot, n, n, nil, noFinal{})
	case *parse.ChainNode:
		if n.Node.Type() == parse.NodeNil {
			return nil, s.errorf(n, "indirection through explicit nil in %s", n)
		}
		v, err := s.operand(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return s.fields(v, n, n.Field)
	}
	return nil, s.errorf(node, "can't evaluate command %q", node)
}

// number is a constant of the type that its form says.
func (s *state) number(n *parse.NumberNode) (any, error) {
	hex := strings.HasPrefix(strings.ToLower(n.Text), "0x") && !strings.ContainsAny(n.Text, "pP")
	switch {
	case n.IsComplex:
		return n.Complex128, nil
	case n.IsFloat && !hex && n.Text[0] != '\'' && strings.ContainsAny(n.Text, ".eEpP"):
		return n.Float64, nil
	case n.IsInt && int64(int(n.Int64)) == n.Int64:
		return int(n.Int64), nil
	}
	return nil, s.errorf(n, "%s overflows int", n.Text)
}

func (s *state) fields(v any, n parse.Node, names []string) (any, error) {
	for _, name := range names {
		var err error
		if v, err = s.field(v, n, name); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// field is a field of a struct, the value of a key, or what one of the known methods returns.
func (s *state) field(of any, n parse.Node, name string) (any, error) {
	method := func(v any, err error) (any, error) {
		if err != nil {
			return nil, s.errorf(n, "error calling %s: %w", name, err)
		}
		return v, nil
	}
	switch number, ok := of.(json.Number); {
	case ok && name == "Int64":
		return method(number.Int64())
	case ok && name == "Float64":
		return method(number.Float64())
	case of == nil:
		return nil, s.errorf(n, "nil data; no entry for key %q", name)
	}
	if text, ok := of.(fmt.Stringer); ok && name == "String" {
		return text.String(), nil
	}
	v, isNil := indirect(reflect.ValueOf(of))
	switch v.Kind() {
	case reflect.Struct:
		f, ok := v.Type().FieldByName(name)
		if ok && !f.IsExported() {
			return nil, s.errorf(n, "%s is an unexported field of struct type %T", name, of)
		} else if ok {
			field, err := v.FieldByIndexErr(f.Index)
			if err != nil {
				return nil, s.errorf(n, "%v", err)
			}
			return field.Interface(), nil
		}
	case reflect.Map:
		if v.Type().Key() == reflect.TypeFor[string]() {
			value := v.MapIndex(reflect.ValueOf(name))
			if !value.IsValid() {
				return nil, s.errorf(n, "map has no entry for key %q", name)
			}
			return value.Interface(), nil
		}
	case reflect.Pointer:
		if isNil {
			return nil, s.errorf(n, "nil pointer evaluating %T.%s", of, name)
		}
	}
	return nil, s.errorf(n, "can't evaluate field %s in type %T", name, of)
}

// function calls a function with args and final; and and or evaluate only what they need.
func (s *state) function(dot any, f *parse.IdentifierNode, at parse.Node, args []parse.Node, final any) (any, error) {
	fn, own := s.t.funcs[f.Ident]
	if !own {
		fn = builtins[f.Ident]
	}
	var values []any
	for _, a := range args {
		v, err := s.operand(dot, a)
		if err != nil {
			return nil, err
		}
		if !own && (f.Ident == "and" && !truth(v) || f.Ident == "or" && truth(v)) {
			return v, nil
		}
		values = append(values, v)
	}
	if final != (noFinal{}) {
		values = append(values, final)
	}
	v, err := apply(f.Ident, fn, values)
	if err != nil {
		return nil, s.errorf(at, "%w", err)
	}
	return v, nil
}

// indirect follows pointers and interfaces, and reports whether it ended at nil.
func indirect(v reflect.Value) (reflect.Value, bool) {
	for ; v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; v = v.Elem() {
		if v.IsNil() {
			return v, true
		}
	}
	return v, false
}

func truth(v any) bool {
	yes, _ := template.IsTrue(v)
	return yes
}
