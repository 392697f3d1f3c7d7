package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed rerun.md
var rerunProse string

// Rerun is the tool rerun. It runs only what the artifact commands lists, which
// comes with a job from whoever asked for it: nobody is asked about it once more
// where a sandbox confines it. It binds the artifact run.
var Rerun = tools.New(tools.Metadata{
	Name: "rerun", Category: "build", Needs: tools.Read | tools.Exec, Command: "command", Effect: tools.Unsafe, RunsCode: true,
	Consumes: []string{"commands"}, Produces: []string{"run"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"command":"make test"}`)}},
	Timeout:  time.Hour + time.Minute, // the call's own limit is timeout_s
}.Prose(rerunProse), rerun)

//go:embed run_outside.md
var outsideProse string

// Outside is the tool run_outside: as [Rerun], with the commands that the artifact
// outside lists, and outside the sandbox.
var Outside = tools.New(tools.Metadata{
	Name: "run_outside", Category: "build", Needs: tools.Read | tools.Exec | tools.Net, Command: "command", Effect: tools.Unsafe, RunsCode: true, Outside: true,
	Consumes: []string{"outside"}, Produces: []string{"run"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"command":"npm ci"}`)}},
	Timeout:  time.Hour + time.Minute,
}.Prose(outsideProse), func(ctx context.Context, env *tools.Env, in rerunInput) (tools.Result, error) {
	return runGiven(ctx, env, in, "outside")
})

type rerunInput struct {
	Command  string `json:"command" jsonschema:"description=Command line"`
	TimeoutS int    `json:"timeout_s,omitempty" jsonschema:"minimum=1,maximum=3600,description=Seconds"`
}

// A commandRun is how a command ended: the artifact run.
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
	b, err := json.Marshal(r)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	res.Artifacts = map[string]json.RawMessage{"run": b}
	return valued(res, out, env.MaxValueBytes)
}

// kept is the head and, three times as long, the tail of an output.
func kept(s string) string {
	if len(s) <= mostKept {
		return s
	}
	return strings.ToValidUTF8(s[:mostKept/4], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-mostKept*3/4:], "")
}
