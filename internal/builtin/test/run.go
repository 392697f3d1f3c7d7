// Package test runs a project's tests and says which failed.
//
//	set, err := tools.NewSet(test.Run)
//
// It knows go, cargo, pytest, node and what npm scripts commonly run, in detail,
// and runs as a whole the test target of a Makefile, justfile or Taskfile and the
// tests of Gradle, Maven, .NET, Mix, Ruby, PHP, Deno, CMake, tox and Bazel. The
// operator's own command, the artifact [tools.TestCommand], comes before all of
// them. It is no build system: it runs what the project has set up.
package test

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// runInput of run_tests. Its zero value runs everything, so that the tool can be
// a completion check.
type runInput struct {
	Target string `json:"target,omitempty" jsonschema:"description=Directory or file"`
	Filter string `json:"filter,omitempty" jsonschema:"description=Only tests whose name matches"`
}

//go:embed *.md
var descriptions embed.FS

// Run is the tool run_tests. It binds the artifact test_result whether tests
// pass or not.
var Run = tools.New(tools.Metadata{
	Name: "run_tests", Category: "build",
	Needs: tools.Read | tools.Exec, Paths: []string{"target"}, Effect: tools.Idempotent, RunsCode: true,
	Uses: []string{tools.TestCommand}, Produces: []string{"test_result"},
	Proves:   "the project's tests pass",
	Examples: []tools.Example{{Note: "everything", Args: json.RawMessage(`{}`)}},
	Timeout:  limit + 30*time.Second,
}.ProseIn(descriptions), run).Lacks(func(env *tools.Env, _ json.RawMessage) string {
	if found, err := Find(env.Files, configured(env)); err == nil && len(found) == 0 {
		return noTests
	}
	return ""
})

// A testSuite is a way to run the tests of a project.
type testSuite struct {
	Command string `json:"command"` // as one would type it
	From    string `json:"from"`    // what it is known by: a file, or configured
}

// Find returns how run_tests runs the tests of a workspace: the command, if one
// is configured, else what is found. It returns none where there are no tests,
// and an error if what is there cannot be read.
func Find(files *workspace.Files, command string) ([]testSuite, error) {
	projects, err := projectsOf(files, command, "", "")
	if err != nil && !errors.Is(err, errNone) {
		return nil, err
	}
	var out []testSuite
	for _, p := range projects {
		if p.some == nil || p.some() {
			out = append(out, testSuite{p.command(), p.from})
		}
	}
	return out, nil
}

// configured is the command that the operator has configured, if any.
func configured(env *tools.Env) (command string) {
	_ = json.Unmarshal(env.Artifacts.Value(tools.TestCommand), &command) // nothing, or a string
	return command
}

// projectsOf is detect, with the configured command in place of what is found.
func projectsOf(files *workspace.Files, command, target, filter string) ([]project, error) {
	switch {
	case command == "":
		return detect(files, target, filter)
	case target != "" && target != "." || filter != "":
		return nil, fmt.Errorf("the tests here are run by %q as a whole: leave target and filter out", command)
	}
	return []project{{root: files.Dir(), dir: ".", shell: command, from: "configured", read: readOutput}}, nil
}

const (
	limit   = 10 * time.Minute // of one project's tests
	maxRead = 64 << 20         // bytes of output that are read
)

func run(ctx context.Context, env *tools.Env, in runInput) (tools.Result, error) {
	projects, err := projectsOf(env.Files, configured(env), in.Target, in.Filter)
	if err != nil {
		return bind(testResult{Problem: err.Error(), None: errors.Is(err, errNone)}, err.Error())
	}
	deadline := time.Now().Add(limit)
	var results []testResult
	notes := ""
	for _, p := range projects {
		r, note, err := p.run(ctx, env, time.Until(deadline))
		if err != nil {
			return tools.Result{}, err
		}
		if note != "" {
			notes += "\n[" + note + "]\n"
		}
		results = append(results, r)
	}
	r := join(results)
	r.None = !slices.ContainsFunc(results, func(r testResult) bool { return !r.none })
	r.seal()
	return bind(r, r.Text()+notes)
}

func bind(r testResult, text string) (tools.Result, error) {
	res, err := turn.Bind(tools.Result{Text: text, Failed: !r.OK(), Summary: r.Headline()}, "test_result", r)
	if err != nil {
		return tools.Result{}, err
	}
	switch {
	case r.None:
		res.Summary, res.Inconclusive = noTests, tools.NothingToCheck
	case r.Unavailable && r.Failed == 0:
		res.Inconclusive = tools.CannotCheck
	}
	return turn.WithValue(res, turn.CommandResult{Code: r.code, TimedOut: r.timed})
}

// run runs one project's tests. The exit code has the last word: output that
// looks like a pass does not make up for it. The note is the runner's.
func (p project) run(ctx context.Context, env *tools.Env, within time.Duration) (r testResult, note string, err error) {
	var stdout capped
	cmd := process.Cmd{Args: p.args, Shell: p.shell, Dir: p.dir, Env: p.env, Timeout: max(within, time.Second), Snapshot: true}
	split := p.shell == "" && p.args[0] == "go"
	if p.shell == "" && !path.IsAbs(p.args[0]) && !onPath(p.args[0]) {
		why := fmt.Sprintf("%s is not installed here, or not on PATH: %s cannot be run", p.args[0], p.command())
		return testResult{Command: p.command(), Problem: why, Unavailable: true}, "", nil
	}
	if split {
		cmd.Stdout = &progress{Writer: &stdout, show: env.Progress} // its JSON; what goes to stderr would cut through lines
		env.Progress("compiling")
	}
	out, err := env.Exec.Run(ctx, cmd)
	if ctx.Err() != nil || exhaustion.Of(err) != "" {
		return testResult{}, "", err
	}
	if err != nil {
		return testResult{Command: p.command(), Problem: fmt.Sprintf("%s could not be started: %v", p.command(), err), Unavailable: true}, "", nil
	}
	text := out.Text
	if split {
		text = stdout.String() + "\n" + out.Text
	} else if full, ok := fullLog(out); ok {
		text = full
	}
	text = problem.Unwrap(strings.ToValidUTF8(text, "\uFFFD"))
	r = p.read(p, text)
	r.Command = p.command()
	if out.Log != "" && !split && len(text) > mostOutput {
		r.Log = out.ID
	}
	r.code, r.timed = out.Code, out.TimedOut
	r.judge(p.command(), out, text)
	return r, out.Note, nil
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

// A progress shows which package's tests run, by what go test -json prints: until
// the first of them starts it compiles.
type progress struct {
	io.Writer
	show func(string)
	line []byte // that is not complete yet, and not longer than one about a start
}

func (p *progress) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if len(p.line) < 1000 {
			p.line = append(p.line, line...)
		}
		if rest = after; !whole {
			break
		}
		var a action
		if bytes.Contains(p.line, []byte(`"Action":"start"`)) && json.Unmarshal(p.line, &a) == nil {
			p.show("testing " + a.Package)
		}
		p.line = p.line[:0]
	}
	return p.Writer.Write(b)
}

// fullLog is the whole output where the runner keeps one; Output.Text leaves
// the middle out when it is long.
func fullLog(out *process.Output) (string, bool) {
	if out.Dropped == 0 || out.Log == "" {
		return "", false
	}
	b, err := os.ReadFile(out.Log)
	return string(b), err == nil
}
