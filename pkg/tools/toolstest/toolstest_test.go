package toolstest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

type input struct {
	Path  string   `json:"path" jsonschema:"description=File to count."`
	Words []string `json:"words,omitempty" jsonschema:"description=Only these."`
	Max   int      `json:"max,omitempty" jsonschema:"minimum=1,description=Stop here."`
}

func good() tools.Metadata {
	return tools.Metadata{
		Name: "word_count", Description: "Count the words of a file.", UsageHint: "Use it to measure.", Category: "utility",
		Needs: tools.Read, Produces: []string{"words"}, Examples: []tools.Example{{Args: json.RawMessage(`{"path":"path"}`)}},
	}
}

func wordCount(_ context.Context, env *tools.Env, in input) (int, error) {
	b, err := env.Files.ReadFile(in.Path)
	return len(strings.Fields(string(b))), err
}

func TestGoodTool(t *testing.T) { toolstest.Check(t, tools.New(good(), wordCount)) }

// recorder is a TB that keeps what a check complains of.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}

func TestCheckFinds(t *testing.T) {
	change := func(f func(*tools.Metadata)) tools.Metadata { m := good(); f(&m); return m }
	for name, c := range map[string]struct {
		tool tools.Tool
		want string
	}{
		"no hint":     {tools.New(change(func(m *tools.Metadata) { m.UsageHint = " " }), wordCount), "has no usage hint"},
		"no category": {tools.New(change(func(m *tools.Metadata) { m.Category = "" }), wordCount), "has no category"},
		"bad name":    {tools.New(change(func(m *tools.Metadata) { m.Name = "Word Count" }), wordCount), "has a bad name"},
		"host's fault": {tools.New(change(func(m *tools.Metadata) { m.Needs |= tools.Exec }), func(ctx context.Context, env *tools.Env, in input) (int, error) {
			_, err := env.Exec.Run(ctx, process.Cmd{Args: []string{"wc"}})
			return 0, fmt.Errorf("wc: %v", err)
		}), "has run out of something"},
		"bad example":     {tools.New(change(func(m *tools.Metadata) { m.Examples[0].Args = json.RawMessage(`{}`) }), wordCount), "would refuse"},
		"undeclared need": {tools.New(change(func(m *tools.Metadata) { m.Needs = 0 }), wordCount), "its Needs do not name"},
		"undescribed": {tools.New(good(), func(context.Context, *tools.Env, struct {
			Path string `json:"path"`
		}) (int, error) {
			return 0, nil
		}), "property path has no description"},
		"crash": {tools.New(good(), func(_ context.Context, _ *tools.Env, in input) (string, error) {
			return in.Path[:1], nil
		}), "crashes on"},
		"silent failure": {tools.New(good(), func(context.Context, *tools.Env, input) (tools.Result, error) {
			return tools.Result{Failed: true}, nil
		}), "without saying why"},
		"undeclared artifact": {tools.New(good(), func(context.Context, *tools.Env, input) (tools.Result, error) {
			return tools.Result{Artifacts: map[string]json.RawMessage{"diff": json.RawMessage(`1`)}}, nil
		}), `artifact "diff" was dropped`},
	} {
		r := &recorder{TB: t}
		toolstest.Check(r, c.tool)
		if !strings.Contains(strings.Join(r.errors, "\n"), c.want) {
			t.Errorf("%s: found %q, want something with %q", name, r.errors, c.want)
		}
	}
}
