package test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// checkInput is the input of run_check.
type checkInput struct {
	Check string `json:"check,omitempty" jsonschema:"enum=format,enum=lint,enum=types,enum=build"`
}

// Check is the tool run_check. It runs what the project has set up, and never
// what a model writes. Without an argument it binds the artifact checks: what
// there is, tests included, as a list of a [projectCheck] each.
var Check = tools.New(tools.Metadata{
	Name: "run_check", Category: "build", Optionality: tools.Optional,
	Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, RunsCode: true, Uses: []string{tools.TestCommand}, Produces: []string{"checks"},
	Proves: "the project's own check passes", ProvesWith: []string{"check"},
	Examples: []tools.Example{{Note: "go vet, eslint, ruff …", Args: json.RawMessage(`{"check":"lint"}`)}},
	Timeout:  limit + 30*time.Second,
}.ProseIn(descriptions), check).Lacks(func(env *tools.Env, args json.RawMessage) string {
	var in checkInput
	all, err := checkers(env.Files)
	if json.Unmarshal(args, &in) != nil || err != nil || in.Check == "" || slices.ContainsFunc(all, func(c checker) bool { return c.kind == in.Check }) {
		return ""
	}
	return noCheck(in.Check)
})

// noCheck reports in a line that a project lacks a check.
func noCheck(kind string) string { return "not checked: no " + kind + " check found" }

// A projectCheck is a check that a project has.
type projectCheck struct {
	Check   string `json:"check"`   // format, lint, types, build, tests
	Tool    string `json:"tool"`    // that runs it: run_check or run_tests
	Command string `json:"command"` // for people
}

func check(ctx context.Context, env *tools.Env, in checkInput) (tools.Result, error) {
	all, err := checkers(env.Files)
	if err != nil {
		return tools.Result{}, err
	}
	if in.Check == "" {
		return list(env, all)
	}
	var own []checker
	for _, c := range all {
		if c.kind == in.Check {
			own = append(own, c)
		}
	}
	if own == nil {
		return tools.Result{Failed: true, Summary: noCheck(in.Check), Inconclusive: tools.NothingToCheck,
			Text: fmt.Sprintf("the project has no %s check that is known here; run_check without check lists those there are", in.Check)}, nil
	}
	deadline := time.Now().Add(limit)
	var out tools.Result
	var text, bad []string
	away := 0
	for _, c := range own {
		env.Progress(c.command())
		t, why, missing, err := c.run(ctx, env.Exec, time.Until(deadline))
		if err != nil {
			return tools.Result{}, err
		}
		text = append(text, t)
		if why != "" {
			bad = append(bad, c.command()+": "+why)
		}
		if missing {
			away++
		}
	}
	if away > 0 && away == len(bad) {
		out.Inconclusive = tools.CannotCheck
	}
	out.Text, out.Failed = strings.Join(text, "\n"), bad != nil
	if out.Summary = "passed"; bad != nil {
		out.Summary = strings.Join(bad, "; ")
	}
	return out, nil
}

// list lists the checks.
func list(env *tools.Env, all []checker) (tools.Result, error) {
	found := []projectCheck{}
	for _, kind := range []string{"format", "lint", "types", "build"} {
		var commands []string
		for _, c := range all {
			if c.kind == kind {
				commands = append(commands, c.command())
			}
		}
		if commands != nil {
			found = append(found, projectCheck{kind, "run_check", strings.Join(commands, "; ")})
		}
	}
	if f, ok := tests(env); ok {
		found = append(found, f)
	}
	var lines []string
	for _, f := range found {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", f.Check, f.Command, f.Tool))
	}
	text := strings.Join(lines, "\n")
	text = cmp.Or(text, "Neither here nor one directory below is anything to check that is known: no go.mod, Cargo.toml, package.json with scripts, or settings of Python's tools.")
	return turn.Bind(tools.Result{Text: text, Summary: fmt.Sprintf("%d checks", len(found))}, "checks", found)
}

// tests is the check that run_tests does, if there are any tests.
func tests(env *tools.Env) (projectCheck, bool) {
	suites, err := Find(env.Files, configured(env))
	if err != nil || len(suites) == 0 {
		return projectCheck{}, false
	}
	var commands []string
	for _, s := range suites {
		commands = append(commands, s.Command)
	}
	return projectCheck{"tests", "run_tests", strings.Join(commands, "; ")}, true
}

// A checker is a command that checks a project.
type checker struct {
	project
	kind string
	// each are the files that it is given, if it is given files: it prints the
	// names of those that are wrong, and show reports what is wrong with them.
	each []string
	show []string
	// script is the command of a package manager's script, if it is one command.
	script string
	fix    []string // makes right what it checks, if a program can; given files as the check is
}

const notInstalled = "is not installed here, or not where commands can see it"

// mostFiles bounds the files that a command is given at once.
const mostFiles = 1000

// run returns the text for the model, and in a line why the check failed, "" if
// it passed. missing reports that its program is, or could not do its work.
func (c checker) run(ctx context.Context, ex process.Exec, within time.Duration) (text, why string, missing bool, err error) {
	cmd := process.Cmd{Args: c.args, Dir: c.dir, Env: c.env, Timeout: max(within, time.Second), Snapshot: true}
	var out *process.Output
	said := ""
	if c.each == nil {
		out, err = ex.Run(ctx, cmd)
	} else {
		out, said, err = c.files(ctx, ex, cmd)
	}
	if ctx.Err() != nil || exhaustion.Of(err) != "" {
		return "", "", false, err
	}
	if err != nil || out.Code == 127 || missingModule(out.Text) {
		why = c.args[0] + " " + notInstalled
		if out != nil {
			if names := problem.Programs(out.Text); len(names) > 0 {
				why = names[0] + " " + notInstalled
			}
		}
		return fmt.Sprintf("%s: %s\n", c.command(), why), why, true, nil
	}
	switch {
	case out.TimedOut:
		why = fmt.Sprintf("stopped after %s, its time limit", out.Took.Round(time.Second))
	case out.Code != 0 && c.notRunReason(out) != "":
		why, missing = c.notRunReason(out), true
	case out.Code != 0:
		why = fmt.Sprintf("exit code %d", out.Code)
	case said != "":
		why = "files would change"
	}
	verdict := "passed"
	if why != "" {
		verdict = why
	}
	text = fmt.Sprintf("%s: %s\n%s", c.command(), verdict, clip(strings.TrimSpace(said+out.Text)))
	return strings.TrimSpace(text) + "\n", why, missing, nil
}

// checkStatuses lists the exit statuses of linters and type checkers.
var checkStatuses = []exitStatus{
	{program: word("eslint"), from: 2, to: 2, words: "a fault of its configuration, or of eslint"},
	{program: word(`\S*ruff`), from: 2, to: 2, words: "a fault of its configuration or arguments, or of ruff"},
	{program: word("golangci-lint"), from: 3, to: 7, words: "golangci-lint failed, ran out of time or found no files or configuration"},
	{program: word(`\S*mypy`), from: 2, to: 2, words: "a fault of its configuration or arguments, or of mypy"},
	{program: word(`\S*pyright`), from: 2, to: 4, words: "a fault of its configuration or arguments, or of pyright"},
	{program: word(`\S*pylint`), from: 32, to: 32, words: "pylint was called wrongly"},
	{program: word("stylelint"), from: 64, to: 78, words: "a fault of its configuration or arguments"},
	{program: word("rubocop"), from: 2, to: 2, words: "a fault of its configuration, or of rubocop"},
	{program: word("shellcheck"), from: 2, to: 4, words: "shellcheck could not read a file or was called wrongly"},
}

// notRunReason explains why a check that ended with an exit code other than 0 could not
// run. It is "" if the check found faults, or nobody knows.
func (c checker) notRunReason(out *process.Output) string {
	text := problem.Unwrap(out.Text)
	read := problem.Read(text)
	if slices.Contains(read.Types, problem.Lint) || slices.Contains(read.Types, problem.Type) || read.Failing() {
		return ""
	}
	why := problem.NotStarted(text)
	if s := find(checkStatuses, cmp.Or(c.script, strings.Join(c.args, " ")), out.Code); s != nil {
		why = s.words
	} else if out.Code == 126 {
		why = "a program in it is there but cannot be executed"
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("could not run, exit code %d: %s", out.Code, why)
}

// files runs the command on some files after the other, and has those that it
// names shown.
func (c checker) files(ctx context.Context, ex process.Exec, cmd process.Cmd) (out *process.Output, said string, err error) {
	for some := range slices.Chunk(c.each, mostFiles) {
		var names capped
		now := cmd
		now.Args, now.Stdout = slices.Concat(c.args, some), &names
		if out, err = ex.Run(ctx, now); err != nil || out.Code != 0 {
			return out, said, err
		}
		wrong := strings.Fields(names.String())
		wrong = slices.DeleteFunc(wrong, func(name string) bool { return !slices.Contains(some, name) })
		if len(wrong) == 0 {
			continue
		}
		now.Args, now.Stdout = slices.Concat(c.show, wrong), nil
		more, err := ex.Run(ctx, now)
		if err != nil {
			return out, said, err
		}
		said += more.Text
		if said == "" {
			said = strings.Join(wrong, "\n")
		}
	}
	return out, said, nil
}

// missingModule reports whether out says that a Python tool is not installed.
func missingModule(out string) bool {
	return strings.Contains(out, "No module named ") && len(out) < 300
}

// formatInput is the input of format_code.
type formatInput struct{}

// Format is the tool format_code. It does what the check format of run_check
// wants, by the same program.
var Format = tools.New(tools.Metadata{
	Name: "format_code", Category: "build", Optionality: tools.Optional,
	Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent, RunsCode: true,
	Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
	Timeout:  limit + 30*time.Second,
}.ProseIn(descriptions), format)

func format(ctx context.Context, env *tools.Env, _ formatInput) (tools.Result, error) {
	all, err := checkers(env.Files)
	if err != nil {
		return tools.Result{}, err
	}
	all = slices.DeleteFunc(all, func(c checker) bool { return c.fix == nil })
	if len(all) == 0 {
		return tools.Result{}, errors.New("the project has no formatter that is known here: edit the files")
	}
	deadline := time.Now().Add(limit)
	var text, changed []string
	failed := false
	for _, c := range all {
		files := c.each
		if files == nil {
			files = []string{""}
		}
		for some := range slices.Chunk(files, mostFiles) {
			args := slices.Concat(c.fix, slices.DeleteFunc(slices.Clone(some), func(name string) bool { return name == "" }))
			out, err := env.Exec.Run(ctx, process.Cmd{Args: args, Dir: c.dir, Env: c.env, Timeout: max(time.Until(deadline), time.Second), Snapshot: true})
			if ctx.Err() != nil || exhaustion.Of(err) != "" {
				return tools.Result{}, err
			}
			name := strings.Join(c.fix, " ")
			switch {
			case err != nil || out.Code == 127 || missingModule(out.Text):
				failed = true
				text = append(text, fmt.Sprintf("%s: %s is not installed here, or not where commands can see it", name, c.fix[0]))
			case out.Code != 0 || out.TimedOut:
				failed = true
				text = append(text, fmt.Sprintf("%s: exit code %d\n%s", name, out.Code, clip(strings.TrimSpace(out.Text))))
			default:
				text = append(text, name+": done")
				changed = append(changed, out.Changed...)
			}
		}
	}
	r := tools.Result{Failed: failed, Summary: spelling.Plural(len(changed), "file") + " changed"}
	if changed != nil {
		shown := slices.Clone(changed[:min(len(changed), 50)])
		for i, name := range shown {
			shown[i] = spelling.PathLine(name)
		}
		text = append(text, "changed: "+strings.Join(shown, ", "))
	}
	if r.Text = strings.Join(text, "\n") + "\n"; failed {
		r.Summary = text[0]
	}
	return r, nil
}
