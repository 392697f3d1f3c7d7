package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// pureTool is a tool that needs nothing, and its agent.
func pureTool() (tools.Tool, agents.DynamicAgent) {
	type in struct {
		Text string `json:"text"`
	}
	echo := tools.New(tools.Metadata{Name: "echo", Description: "Repeat a text.", Effect: tools.Pure},
		func(_ context.Context, _ *tools.Env, in in) (string, error) { return in.Text, nil })
	return echo, agents.DynamicAgent{Name: "echoer", Description: "Repeats.", Prompt: "You repeat.", Tools: []string{"echo"}}
}

const echoTurns = "turns: [{calls: [{name: echo, args: {text: hello}}]}, {text: Done.}]"

// startEcho runs the agent once, through the public methods.
func startEcho(t *testing.T, rt *Runtime, r Request) *executor.State {
	t.Helper()
	j, err := Start(t.Context(), rt, r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := j.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A job in memory whose agent has one pure tool opens nothing in its repository, makes no
// directory or file, starts no program and takes no lock.
func TestPureJobOpensNothing(t *testing.T) {
	const begin, end = "/the-job-begins", "/the-job-has-ended"
	if dir := os.Getenv("ADROIT_TEST_PURE"); dir != "" {
		echo, agent := pureTool()
		_, _ = os.Stat(begin)
		for _, literal := range []bool{false, true} {
			o := Options{Tools: []tools.Tool{echo}, Workspace: Workspace{Dir: dir}}
			r := Request{Input: agents.Input{Prompt: "Go.", Spec: &agent}}
			if literal {
				o.Literals = []agents.DynamicAgent{agent}
				r = Request{Target: agent.Name, Input: agents.Input{Prompt: "Go."}}
			}
			rt := runtime(t, echoTurns, o)
			if s := startEcho(t, rt, r); s.Last != "Done." {
				t.Errorf("the job ended with %q", s.Last)
			}
			if err := rt.Close(); err != nil {
				t.Error(err)
			}
		}
		_, _ = os.Stat(end)
		return
	}
	testenv.NeedsProgram(t, "strace")
	repo, temp, trace := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(filepath.Join(repo, ".env"), []byte("KEY=a-secret-of-this-project\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", repo, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := "open,openat,openat2,mkdir,mkdirat,creat,rename,renameat,renameat2,link,symlink,execve,execveat,flock,fcntl,stat,newfstatat,statx"
	cmd := exec.Command("strace", "-f", "-qq", "-s", "300", "-e", "signal=none", "-o", trace, "-e", "trace="+calls, os.Args[0], "-test.run", "^TestPureJobOpensNothing$")
	cmd.Env = append(os.Environ(), "ADROIT_TEST_PURE="+repo, "TMPDIR="+temp)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	_, job, begun := strings.Cut(string(text), begin)
	_, job, _ = strings.Cut(job, "\n")
	job, _, ended := strings.Cut(job, end)
	if !begun || !ended || !strings.Contains(job, repo) {
		t.Fatal("the job is not in the trace")
	}
	for line := range strings.Lines(job) {
		_, call, _ := strings.Cut(line, " ")
		name, args, _ := strings.Cut(strings.TrimSpace(call), "(")
		looks := strings.Contains(name, "stat") // at the directory itself, which has to be there
		switch {
		case looks, name == "fcntl" && !strings.Contains(args, "LK"), strings.HasPrefix(name, "<..."):
		case strings.HasPrefix(name, "open") && !strings.Contains(args, repo) && !strings.Contains(args, temp) && !strings.Contains(args, "O_CREAT"):
		default:
			t.Errorf("the job touches something: %s", line)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// Policy and Middleware see the calls of a job that opens nothing; its environment has only
// what the tools of the job may need.
func TestPureJobIsJudged(t *testing.T) {
	echo, agent := pureTool()
	wrapped := 0
	rt := runtime(t, echoTurns, Options{Tools: []tools.Tool{echo}, Callbacks: Callbacks{
		Policy: func(context.Context, Invocation) permit.Verdict {
			return permit.Verdict{Do: permit.Deny, Why: "not today"}
		},
		Middleware: []func(ToolHandler) ToolHandler{func(next ToolHandler) ToolHandler {
			return func(ctx context.Context, p Invocation) (tools.Result, error) {
				if wrapped++; p.Env.Files != nil || p.Env.Exec != nil {
					t.Error("a call has a workspace")
				}
				res, err := next(ctx, p)
				if err == nil && !strings.Contains(res.Text, "not today") {
					t.Errorf("the call came to %q", res.Text)
				}
				return res, err
			}
		}},
	}})
	startEcho(t, rt, Request{Input: agents.Input{Prompt: "Go.", Spec: &agent}})
	if wrapped != 1 {
		t.Errorf("the middleware saw %d calls", wrapped)
	}
}

// Whatever may need the workspace opens it, and what is not known does.
func TestOpens(t *testing.T) {
	echo, agent := pureTool()
	reads := tools.New(tools.Metadata{Name: "reads", Description: "Read.", Needs: tools.Read},
		func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil })
	type change = func(o *Options, a *agents.DynamicAgent, r *Request)
	for name, c := range map[string]struct {
		opens  bool
		change change
	}{
		"a pure tool":  {false, func(*Options, *agents.DynamicAgent, *Request) {}},
		"no tool":      {false, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Tools = nil }},
		"a signal":     {false, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Done.Signal = "DONE" }},
		"a pure check": {false, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Done.Check = "echo" }},
		"a notification": {false, func(o *Options, _ *agents.DynamicAgent, _ *Request) {
			o.Hooks = []Hook{{When: "ended", Command: []string{"true"}}}
		}},
		"a hook of calls": {true, func(o *Options, _ *agents.DynamicAgent, _ *Request) {
			o.Hooks = []Hook{{When: "after", Command: []string{"true"}}}
		}},
		"a tool that reads":  {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Tools = append(a.Tools, "reads") }},
		"a pattern":          {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Tools = []string{"re*"} }},
		"an unknown tool":    {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Tools = []string{"elsewhere"} }},
		"a check that reads": {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Done.Check = "reads" }},
		"a part of it": {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) {
			a.Done.All = []executor.Criterion{{Signal: "DONE"}, {Any: []executor.Criterion{{Check: "echo", IfMissing: &executor.Criterion{Check: "reads"}}}}}
		}},
		"a command":   {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Done.Run = "true" }},
		"a change":    {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Done.Artifact = "diff" }},
		"a memory":    {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Memory = "project" }},
		"its request": {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) { r.Memory = "user" }},
		"sub-agents":  {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Spawn = &agents.Spawn{} }},
		"skills":      {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Skills = []string{"*"} }},
		"a workflow":  {true, func(_ *Options, a *agents.DynamicAgent, _ *Request) { a.Workflow = "other" }},
		"a worktree":  {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) { r.Worktree = true }},
		"a file": {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) {
			r.Attachments = []executor.Attachment{{Path: "a"}}
		}},
		"trust":           {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) { r.Trust = true }},
		"a trust record":  {true, func(o *Options, _ *agents.DynamicAgent, _ *Request) { o.Trust = t.TempDir() }},
		"servers":         {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) { r.Servers = json.RawMessage(`{}`) }},
		"an agent's file": {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) { r.Spec, r.Agent = nil, "of-a-file" }},
		"a CLI agent":     {true, func(_ *Options, _ *agents.DynamicAgent, r *Request) { r.Model = "cli/claude" }},
	} {
		t.Run(name, func(t *testing.T) {
			a := agent
			o, r := Options{Tools: []tools.Tool{echo, reads}}, Request{Input: agents.Input{Prompt: "Go.", Spec: &a}}
			c.change(&o, &a, &r)
			rt := runtime(t, echoTurns, o)
			if got := rt.opens(t.Context(), rt.agentByValue(r.Input), r.Input, r.JobConfig, rt.models); got != c.opens {
				t.Errorf("it opens the workspace: %v", got)
			}
		})
	}
}

// A job that was begun without a workspace does not go on with a tool that needs one.
func TestPureJobNeedsNoneLater(t *testing.T) {
	err := needsNone(executor.Task{Work: executor.Work{Checks: []executor.Tool{{Needs: tools.Net}, {Needs: tools.Read | tools.Net}}}})
	if err == nil || !strings.Contains(err.Error(), "needs to read,") {
		t.Error(err)
	}
	if err := needsNone(executor.Task{Work: executor.Work{Tools: []executor.Tool{{Needs: tools.Net | tools.Think}}}}); err != nil {
		t.Error(errors.Unwrap(err))
	}
}
