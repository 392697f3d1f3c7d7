package docs

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	yamlparser "github.com/goccy/go-yaml/parser"
	"mvdan.cc/sh/v3/syntax"
)

type block struct {
	line       int // of the first line of code
	lang, code string
}

// maxBlock is the largest block that is parsed, in bytes: what is longer is
// data rather than an example.
const maxBlock = 64 << 10

// unreadable is code that cannot be parsed; line counts from 1 in the block.
type unreadable struct {
	line  int
	words string
}

// check parses the block if its language is known, and reports whether it did.
// A block that leaves something out, with an ellipsis or as a template, cannot
// be held to a grammar.
func (b block) check() (checked bool, fault *unreadable) {
	if len(b.code) > maxBlock || strings.Contains(b.code, "…") || strings.Contains(b.code, "{{") || elided(b.code) {
		return false, nil
	}
	switch b.lang {
	case "go", "golang":
		return true, goCode(b.code)
	case "json":
		return true, jsonCode(b.code)
	case "yaml", "yml":
		return true, yamlCode(b.code)
	case "sh", "bash":
		return true, shellCode(b.code)
	}
	return false, nil
}

func elided(code string) bool {
	for l := range strings.Lines(code) {
		if l = strings.TrimLeft(strings.TrimSpace(l), "/# "); l == "..." {
			return true
		}
	}
	return false
}

// goCode takes a file, declarations or statements. The fault is that of the
// form the code seems to have.
func goCode(code string) *unreadable {
	var fault *unreadable
	for _, form := range []struct{ before, after string }{
		{"", ""}, {"package p;", ""}, {"package p; func _() {", "\n}"},
	} {
		_, err := parser.ParseFile(token.NewFileSet(), "", form.before+code+form.after, parser.SkipObjectResolution)
		if err == nil {
			return nil
		}
		var list scanner.ErrorList
		u := &unreadable{1, err.Error()}
		if errors.As(err, &list) && len(list) > 0 {
			u = &unreadable{list[0].Pos.Line, list[0].Msg}
		}
		// The form that gets furthest is the one that was meant.
		if fault == nil || u.line > fault.line {
			fault = u
		}
	}
	return fault
}

func jsonCode(code string) *unreadable {
	dec := json.NewDecoder(strings.NewReader(code))
	for {
		var v any
		err := dec.Decode(&v)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			at := dec.InputOffset()
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				at = syntax.Offset
			}
			return &unreadable{1 + strings.Count(code[:min(int(at), len(code))], "\n"), err.Error()}
		}
	}
}

func yamlCode(code string) *unreadable {
	_, err := yamlparser.ParseBytes([]byte(code), 0)
	if err == nil {
		return nil
	}
	if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil && ye.GetToken().Position != nil {
		return &unreadable{ye.GetToken().Position.Line, ye.GetMessage()}
	}
	return &unreadable{1, strings.ReplaceAll(err.Error(), "\n", " ")}
}

func shellCode(code string) *unreadable {
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(code), "")
	if err == nil {
		return nil
	}
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		return &unreadable{int(pe.Pos.Line()), pe.Text}
	}
	return &unreadable{1, err.Error()}
}
