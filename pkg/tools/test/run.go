// Package test runs a project's tests and says which failed.
//
//	set, err := tools.NewSet(test.Run)
//
// It knows go, cargo, pytest, node and what npm scripts commonly run. It is
// no build system: a project that needs more goes through the shell tool.
package test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Input of run_tests. Its zero value runs everything, so that the tool can be
// a completion check.
type Input struct {
	Target string `json:"target,omitempty" jsonschema:"description=Directory or file; default everything"`
	Filter string `json:"filter,omitempty" jsonschema:"description=Run only tests whose name matches"`
}

//go:embed run_tests.md
var prose string

// Run is the tool run_tests. It binds the artifact test_result whether tests
// pass or not.
var Run = tools.New(tools.Metadata{
	Name: "run_tests", Category: tools.Build,
	Needs: tools.Read | tools.Exec, Paths: []string{"target"}, Effect: tools.Idempotent,
	Produces: []string{"test_result"},
	Examples: []tools.Example{{Note: "everything", Args: json.RawMessage(`{}`)}},
	Timeout:  limit + 30*time.Second,
}.Prose(prose), run)

const (
	limit   = 10 * time.Minute // of one project's tests
	maxRead = 64 << 20         // bytes of output that are read
)

func run(ctx context.Context, env *tools.Env, in Input) (tools.Result, error) {
	projects, err := detect(env.Files, in.Target, in.Filter)
	if err != nil {
		return bind(Result{Problem: err.Error(), None: errors.Is(err, errNone)}, err.Error())
	}
	deadline := time.Now().Add(limit)
	var results []Result
	notes := ""
	for _, p := range projects {
		r, note, err := p.run(ctx, env.Exec, time.Until(deadline))
		if err != nil {
			return tools.Result{}, err
		}
		if note != "" {
			notes += "\n[" + note + "]\n"
		}
		results = append(results, r)
	}
	r := join(results)
	r.None = !slices.ContainsFunc(results, func(r Result) bool { return r.Problem != noTest })
	r.seal()
	return bind(r, r.Text()+notes)
}

func bind(r Result, text string) (tools.Result, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	return tools.Result{
		Text: text, Failed: !r.OK(), Summary: r.Headline(),
		Artifacts: map[string]json.RawMessage{"test_result": b},
	}, nil
}

// run runs one project's tests. The exit code has the last word: output that
// looks like a pass does not make up for it. The note is the runner's.
func (p project) run(ctx context.Context, ex workspace.Exec, within time.Duration) (r Result, note string, err error) {
	var stdout capped
	cmd := workspace.Cmd{Args: p.args, Dir: p.dir, Env: p.env, Timeout: max(within, time.Second), Snapshot: true}
	split := p.args[0] == "go"
	if split {
		cmd.Stdout = &stdout // its JSON; what goes to stderr would cut through lines
	}
	out, err := ex.Run(ctx, cmd)
	if ctx.Err() != nil {
		return Result{}, "", err
	}
	if err != nil {
		return Result{Command: p.command(), Problem: fmt.Sprintf("%s could not be started: %v", p.args[0], err)}, "", nil
	}
	text := out.Text
	if split {
		text = stdout.String() + "\n" + out.Text
	} else if full, ok := fullLog(out); ok {
		text = full
	}
	r = p.read(p, strings.ToValidUTF8(text, "\uFFFD"))
	r.Command = p.command()
	if out.Log != "" && !split && len(text) > mostOutput {
		r.Log = out.ID
	}
	r.judge(out, text)
	return r, out.Note, nil
}

// judge explains a run that does not count, if the tests themselves do not.
func (r *Result) judge(out *workspace.Output, text string) {
	switch {
	case out.TimedOut:
		r.Problem = fmt.Sprintf("the tests were stopped after %s: run fewer with target or filter", out.Took.Round(time.Second))
	case r.Failed > 0 || r.Problem != "":
	case out.Code != 0 && r.Passed+r.Skipped == 0:
		r.Problem = fmt.Sprintf("no test ran, exit code %d\n%s", out.Code, clip(strings.TrimSpace(text), mostOutput))
	case out.Code != 0:
		r.Problem = fmt.Sprintf("exit code %d although no test failed\n%s", out.Code, clip(strings.TrimSpace(out.Text), mostOutput))
	case r.Passed == 0 && r.Skipped > 0:
		r.Problem = fmt.Sprintf("no test ran: all %d were skipped", r.Skipped)
	case r.Passed == 0:
		r.Problem = noTest
	}
}

// capped keeps the first maxRead bytes. The buffer is no embedded one: its
// ReadFrom would be used instead of Write.
type capped struct{ b bytes.Buffer }

func (c *capped) Write(b []byte) (int, error) {
	if room := maxRead - c.b.Len(); room > 0 {
		c.b.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (c *capped) String() string { return c.b.String() }

// fullLog is the whole output where the runner keeps one; Output.Text leaves
// the middle out when it is long.
func fullLog(out *workspace.Output) (string, bool) {
	if out.Dropped == 0 || out.Log == "" {
		return "", false
	}
	b, err := os.ReadFile(out.Log)
	return string(b), err == nil
}
