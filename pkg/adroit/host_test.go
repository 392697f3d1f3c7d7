package adroit_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// One place constructs what performs the steps of a job, and one what performs a call without a
// job. Another one would
// lack what the first one gets next.
func TestOneHost(t *testing.T) {
	var at []string
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := fs.ReadFile(root, name)
		if err != nil || !bytes.Contains(b, []byte("Host{")) { // as gofmt writes it
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, b, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Host" {
				at = append(at, fset.Position(lit.Pos()).String())
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(at) != 2 || !strings.HasPrefix(at[0], "pkg/adroit/client.go:") || !strings.HasPrefix(at[1], "pkg/adroit/host.go:") {
		t.Errorf("a Host is constructed in %v, want pkg/adroit/host.go, for jobs, and client.go, for a call outside of one", at)
	}
}

const countPipeline = `name: count
description: Count words.
steps:
  - id: first
    tool: word_count
    args: {text: "{{input}}"}
  - id: second
    agent: {name: counter, description: Count., prompt: You count., tools: [word_count], done: {artifact: words}}
    input: "Count {{steps.first.output}}"
`

// A pipeline runs from Go, with its agents and its tools.
func TestPipeline(t *testing.T) {
	rt := open(t, adroit.Options{
		Tools:       []tools.Tool{wordCount},
		Models:      scripted(t, "turns:\n  - calls: [{name: word_count, args: {text: a b c}}]\n  - text: Three."),
		Definitions: adroit.Definitions{Pipelines: []agents.Layer{{Name: "mine", FS: fstest.MapFS{"count.yaml": {Data: []byte(countPipeline)}}}}},
	})
	job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Pipeline: "count", Prompt: "a b"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Outcome.Summary != "Three." || string(s.Value("words")) != "2" {
		t.Errorf("%q, words of the first step: %s", s.Outcome.Summary, s.Value("words"))
	}
}

// A pipeline that ships runs from Go: in a work tree without changes, review has
// nothing to ask a model.
func TestShippedPipeline(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	rt := open(t, adroit.Options{
		Tools: parts.Tools(), Models: scripted(t, "turns:\n  - text: nobody asks me"), Workspace: adroit.Workspace{Dir: dir},
		Definitions: adroit.Definitions{
			Agents:    []agents.Layer{{Name: "built in", FS: configs.Agents()}},
			Pipelines: []agents.Layer{{Name: "built in", FS: configs.Pipelines()}},
		},
	})
	job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Pipeline: "review"}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := job.Wait(t.Context()); err != nil || s.Turns != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Pipeline: "nobody", Prompt: "x"}}); err == nil {
		t.Error("took a pipeline that is not there")
	}
}
