package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// outputInput is the input of shell_output.
type outputInput struct {
	ID      string `json:"id,omitempty" jsonschema:"description=As shell gave it; like c3; none lists commands"`
	From    int    `json:"from,omitempty" jsonschema:"minimum=1,description=First line"`
	Lines   int    `json:"lines,omitempty" jsonschema:"minimum=1,maximum=1000,description=How many; default 200"`
	Pattern string `json:"pattern,omitempty" jsonschema:"description=Only lines that match this regular expression"`
	WaitS   int    `json:"wait_s,omitempty" jsonschema:"minimum=1,maximum=60,description=Seconds to wait for its end"`
}

// Output is the tool shell_output.
var Output = tools.New(tools.Metadata{
	Name: "shell_output", Category: "build", Optionality: tools.Optional, Needs: tools.Exec, Effect: tools.Idempotent,
	Examples: []tools.Example{{Note: "errors of a long build", Args: json.RawMessage(`{"id":"c3","pattern":"error:"}`)}},
}.ProseIn(descriptions), output)

// logs is implemented by an Exec that keeps whole outputs.
type logs interface {
	ReadLog(id string, from, n int) (rootfs.Page, error)
	SearchLog(id string, re *regexp.Regexp, max int) ([]process.Match, bool, error)
	Commands() []process.CommandStatus
	Died(id string) bool
}

func output(ctx context.Context, env *tools.Env, in outputInput) (tools.Result, error) {
	in.Lines = cmp.Or(in.Lines, 200)
	if in.ID == "" {
		return list(env.Exec)
	}
	p, live := env.Exec.Process(in.ID)
	if live && in.WaitS > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(in.WaitS)*time.Second)
		defer cancel()
		select {
		case <-p.Done():
		case <-ctx.Done(): // over, or the call is: Tool.Run knows which
		}
	}
	if live && in.Pattern == "" && in.From == 0 {
		r := show(p.Output())
		r.Failed = false // looking worked, whatever the command did
		return r, nil
	}
	kept, ok := env.Exec.(logs)
	if !ok {
		return tools.Result{}, fmt.Errorf("only the head and tail of %s were kept: leave from and pattern out", in.ID)
	}
	look := page
	if in.Pattern != "" {
		look = search
	}
	r, err := look(kept, in)
	if err == nil && !live {
		r.Text = endedNote(kept, in.ID) + r.Text
	}
	return r, err
}

// endedNote explains that a command of an earlier run of the job does not run any more.
func endedNote(kept logs, id string) string {
	if kept.Died(id) {
		return fmt.Sprintf("%s died when the job was interrupted: its output ends there. Run it again if it is needed.\n", id)
	}
	return fmt.Sprintf("%s is not running any more.\n", id)
}

// list shows the commands there are.
func list(ex process.Exec) (tools.Result, error) {
	kept, ok := ex.(logs)
	if !ok {
		return tools.Result{}, errors.New("commands cannot be listed here: give id")
	}
	var b strings.Builder
	running := 0
	for _, c := range kept.Commands() {
		state := fmt.Sprintf("exit code %d", c.Code)
		switch {
		case c.Died:
			state = "died when the job was interrupted"
		case c.Running:
			running++
			state = fmt.Sprintf("running for %s", c.Took.Round(time.Second))
		}
		fmt.Fprintf(&b, "%s\t%s, %d bytes of output\t%s\n", c.ID, state, c.Bytes, head(c.Command))
	}
	if b.Len() == 0 {
		b.WriteString("No command was run.\n")
	}
	text, _ := clip(b.String())
	return tools.Result{Text: text, Summary: fmt.Sprintf("%d running", running)}, nil
}

// head is the beginning of a command line.
func head(command string) string {
	line, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if r := []rune(line); len(r) > 100 {
		line, more = string(r[:100]), true
	}
	if more {
		line += " …"
	}
	return line
}

func search(kept logs, in outputInput) (tools.Result, error) {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return tools.Result{}, fmt.Errorf("pattern is not a regular expression: %w; RE2 syntax is understood", err)
	}
	found, more, err := kept.SearchLog(in.ID, re, in.Lines)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	for _, m := range found {
		fmt.Fprintf(&b, "%d\t%s\n", m.Line, m.Text)
	}
	if len(found) == 0 {
		b.WriteString("no line matches\n")
	}
	text, cut := clip(b.String())
	if more || cut {
		text += "[more lines match: make pattern narrower]\n"
	}
	return tools.Result{Text: text, Summary: fmt.Sprintf("%d lines match", len(found))}, nil
}

func page(kept logs, in outputInput) (tools.Result, error) {
	pg, err := kept.ReadLog(in.ID, max(in.From, 1), in.Lines)
	if err != nil {
		return tools.Result{}, err
	}
	if len(pg.Lines) == 0 {
		return tools.Result{Text: fmt.Sprintf("%s has %d lines of output.", in.ID, max(pg.Total, 0)), Summary: "nothing there"}, nil
	}
	var b strings.Builder
	last := pg.From
	for i, l := range pg.Lines {
		if i > 0 && b.Len()+len(l) > mostText {
			pg.More = true
			break
		}
		last = pg.From + i
		fmt.Fprintf(&b, "%d\t%s\n", last, l)
	}
	if pg.More {
		fmt.Fprintf(&b, "[more follows: from=%d]\n", last+1)
	}
	return tools.Result{Text: b.String(), Summary: fmt.Sprintf("%s %d-%d", in.ID, pg.From, last)}, nil
}

// Rerun is the tool rerun. It runs only what the artifact commands lists, which
// comes with a job from its author: nobody is asked about it once more
// where a sandbox confines it. It binds the artifact run.
var Rerun = tools.New(tools.Metadata{
	Name: "rerun", Category: "build", Needs: tools.Read | tools.Exec, Command: "command", Effect: tools.Unsafe, RunsCode: true,
	Consumes: []string{"commands"}, Produces: []string{"run"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"command":"make test"}`)}},
	Timeout:  time.Hour + time.Minute, // the call's own limit is timeout_s
}.ProseIn(descriptions), rerun)

// Outside is the tool run_outside: as [Rerun], with the commands that the artifact
// outside lists, and outside the sandbox.
var Outside = tools.New(tools.Metadata{
	Name: "run_outside", Category: "build", Needs: tools.Read | tools.Exec | tools.Net, Command: "command", Effect: tools.Unsafe, RunsCode: true, Outside: true,
	Consumes: []string{"outside"}, Produces: []string{"run"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"command":"npm ci"}`)}},
	Timeout:  time.Hour + time.Minute,
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in rerunInput) (tools.Result, error) {
	return runGiven(ctx, env, in, "outside")
})

type rerunInput struct {
	Command  string `json:"command" jsonschema:"description=Command line"`
	TimeoutS int    `json:"timeout_s,omitempty" jsonschema:"minimum=1,maximum=3600,description=Seconds"`
}

// A commandRun is the result of a command: the artifact run.
type commandRun struct {
	Command  string            `json:"command"`
	Code     int               `json:"exit_code"`
	Output   string            `json:"output"` // head and tail
	TimedOut bool              `json:"timed_out,omitempty"`
	Sandbox  string            `json:"sandbox,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"`    // about a failure
	Files    []string          `json:"files"`              // that the output of a failure names
	Installs []string          `json:"installs,omitempty"` // commands that may get packages that it misses
	Took     time.Duration     `json:"took_ns"`
}

const (
	rerunTimeout = 30 * time.Minute
	mostKept     = 16 << 10 // bytes of output in the artifact
)

func rerun(ctx context.Context, env *tools.Env, in rerunInput) (tools.Result, error) {
	return runGiven(ctx, env, in, "commands")
}

// runGiven runs one of the commands that an artifact lists.
func runGiven(ctx context.Context, env *tools.Env, in rerunInput, list string) (tools.Result, error) {
	var given []string
	if err := json.Unmarshal(env.Artifacts.Value(list), &given); err != nil {
		return tools.Result{}, fmt.Errorf("the job's commands cannot be read: %w", err)
	}
	if !slices.Contains(given, in.Command) {
		return tools.Result{}, fmt.Errorf("%q is none of the job's commands: %q", in.Command, given)
	}
	c := process.Cmd{Shell: in.Command, Timeout: rerunTimeout, Snapshot: true, Outside: list == "outside"}
	if in.TimeoutS > 0 {
		c.Timeout = time.Duration(in.TimeoutS) * time.Second
	}
	out, err := env.Exec.Run(ctx, c)
	if err != nil {
		return tools.Result{}, err
	}
	r := commandRun{Command: in.Command, Code: out.Code, Output: kept(out.Text), TimedOut: out.TimedOut, Sandbox: out.Sandbox, Took: out.Took}
	res := show(out)
	if res.Failed {
		dir := env.Files.Dir()
		r.Facts, r.Files, r.Installs = problem.Facts(dir, in.Command, out.Text), problem.Files(dir, out.Text), problem.InstallsIn(dir, out.Text)
	}
	res, err = turn.Bind(res, "run", r)
	if err != nil {
		return tools.Result{}, err
	}
	return valued(res, out, env.MaxValueBytes)
}

// kept is the head and, three times as long, the tail of an output.
func kept(s string) string {
	if len(s) <= mostKept {
		return s
	}
	return strings.ToValidUTF8(s[:mostKept/4], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-mostKept*3/4:], "")
}
