package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/spf13/cobra"
)

// fixAgent is the agent that coordinates repairs.
const fixAgent = "coordinator"

// defaultAttempts is the coordinator's default number of attempts.
const defaultAttempts = 3

// A fixCommand is adroit fix with its flags.
type fixCommand struct {
	request.Flags
	phases     []string
	attempts   int
	parallel   int
	escalate   string
	memory     string
	strategy   string
	wait, most time.Duration
	keep, json bool
	repeatable bool
	supervise  bool
}

// NewFix returns the command adroit fix.
func NewFix(e *kit.Env) *cobra.Command {
	var q fixCommand
	cmd := &cobra.Command{
		Use:   "fix [-- COMMAND...]",
		Short: "Run a command, and repair what fails until it succeeds",
		Long: "Runs a command as you would. While it works, that is all: its output and exit\n" +
			"code are passed on. If it fails, a job begins that finds out why: code decides\n" +
			"about what the machine lacks, an agent repairs what the project has wrong, and\n" +
			"the command is run again, in the sandbox. Where a person is needed the job waits\n" +
			"for adroit answer continue or abort, from anywhere, and says what to do.\n\n" +
			"One argument is shell text; several are one command. --phases runs several in\n" +
			"order instead: those of Go, Rust, Node and Python packages are found by their\n" +
			"files. After a repair the phases before it are run again, but none that publishes.\n\n" +
			"Exit codes: 0 it works, 1 failed or given up, 2 usage, 3 stopped by a limit,\n" +
			"4 waiting for a person, 5 cancelled, 130 and 143 stopped by a signal.",
		Example: "  adroit fix -- go test ./...\n" +
			"  adroit fix --attempts 5 --escalate report -- 'make && make check'\n" +
			"  adroit fix --phases build,test,lint,publish=./release.sh",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && len(q.phases) == 0:
				return kit.Usagef("for example: "+hint.Command("fix -- go test ./..."), "fix needs a command, or --phases")
			case len(args) > 0 && len(q.phases) > 0:
				return kit.Usagef("give one of them", "--phases and a command exclude each other")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if word := prose(args); word != "" && cmd.ArgsLenAtDash() < 0 {
				return kit.Usagef(hint.Command("run %s", strings.Join(append([]string{"fix"}, args...), " "))+" takes it as a prompt\n"+hint.Command("fix -- go test ./...")+" names a command after --", "fix runs a command, and there is no program %q", word)
			}
			return q.run(cmd.Context(), e, fixLine(args))
		},
	}
	q.add(cmd)
	return cmd
}

func (q *fixCommand) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command's name is the command's
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	f.StringVarP(&q.Workspace, "dir", "C", ".", "run and repair in this directory")
	f.StringSliceVar(&q.phases, "phases", nil, "run these phases in order: names, NAME=COMMAND, or @FILE with a list of NAME: COMMAND")
	f.IntVar(&q.attempts, "attempts", defaultAttempts, "repairs at most")
	f.IntVar(&q.parallel, "parallel", 0, "agents that repair at once, each in a copy of the work tree; the first that makes it work wins")
	f.StringVar(&q.escalate, "escalate", "", "what a need for a person does: ask (wait; the default), report, never")
	f.DurationVar(&q.wait, "wait", 0, "how long a person's answer is awaited; 24h if left out")
	f.DurationVar(&q.most, "command-timeout", 0, "what one run of the command may take; 30m if left out")
	f.StringVar(&q.memory, "memory", "", "use and keep what helped with the same failure before: on, off (config: coordinator.memory)")
	f.StringVar(&q.strategy, "strategy", "", "use the strategies of this name in files about problems, or default (config: coordinator.compare)")
	f.BoolVar(&q.repeatable, "repeatable", false, "running the command, or the phases that publish nothing, twice does no harm: after a crash they are run again and nobody is asked")
	f.BoolVar(&q.keep, "keep", false, "keep what a repair changed that did not help, instead of undoing it")
	f.BoolVar(&q.supervise, "supervise", false, "have an agent review each decision of a model, and each repair, before it is carried out")
	f.StringVar((*string)(&q.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	limits := request.StopAfter
	limits.Turns = "" // a coordinator has none of its own
	request.Limits(f, &q.Limits, limits)
	f.StringVar((*string)(&q.Sandbox), "sandbox", "", "confine later runs at this level: auto, full, bubblewrap, landlock, off")
	f.BoolVar(&q.Worktree, "worktree", false, "repair in a git worktree of the last commit; see jobs merge")
	f.BoolVar(&q.json, "json", false, "print events as JSON, one a line; the command's output goes to stderr")
	f.BoolVar(&q.Trust, "trust-project", false, "load this project's agents, skills and AGENTS.md for this run")
}

// prose returns the first of the words that fix was given where they are more likely for a model than
// a command: several words of letters, the first of which names no program. Else it is "".
func prose(args []string) string {
	words := strings.Fields(strings.Join(args, " "))
	other := func(r rune) bool { return !unicode.IsLetter(r) }
	if len(words) < 2 || slices.ContainsFunc(words, func(w string) bool { return strings.ContainsFunc(strings.Trim(w, ".,:!?'"), other) }) {
		return ""
	}
	if _, err := hostexec.Find(words[0]); err == nil || shellWords[words[0]] {
		return ""
	}
	return words[0]
}

// shellWords are words of letters that begin a command and name no program.
var shellWords = map[string]bool{"cd": true, "command": true, "eval": true, "exec": true, "exit": true, "set": true, "source": true, "ulimit": true, "umask": true, "wait": true, "false": true, "true": true, "type": true}

// plainWord are the characters that sh takes as they are.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%"

// absentProgram returns the path that a command line begins with if nothing is there: no repair of
// the project makes it right.
func absentProgram(dir, text string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if !strings.Contains(name, "/") || strings.Contains(name, "=") || strings.Trim(name, plainWord) != "" {
		return ""
	}
	at := name
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	return at
}

// fixLine quotes args as a command line for sh.
func fixLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	var out []string
	for _, a := range args {
		if a == "" || strings.Trim(a, plainWord) != "" {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

func (q *fixCommand) run(ctx context.Context, e *kit.Env, text string) error {
	steps, err := q.read(e, text)
	if err != nil {
		return err
	}
	if name := absentProgram(q.Dir, text); name != "" {
		return kit.Usagef("correct the path, or name the command that makes it", "there is no program %s", kit.Path(name))
	}
	for at, s := range steps {
		if len(q.phases) > 0 && !q.json {
			fmt.Fprintf(e.Err, "%s: %s: %s\n", hint.Program(), s.Name, s.Run)
		}
		failed, err := first(ctx, e, q.Dir, s.Run, q.json)
		if err != nil {
			return err
		}
		if failed != nil {
			return q.coordinate(ctx, e, at, failed)
		}
	}
	if q.json {
		show.Event(e.Out, event.Event{Time: e.Now(), Kind: event.JobFinished, Text: "done", Data: json.RawMessage(`{"status":"done","stopped":"done","reason":"the command works"}`)})
	}
	return nil
}

// coordinate begins the job for a step that failed.
func (q *fixCommand) coordinate(ctx context.Context, e *kit.Env, at int, failed *failure) error {
	c, _ := e.Config() // was read
	err := q.input("problem", failed.hidden(config.Redactor(c, e.Getenv)))
	if err == nil && at > 0 {
		err = q.input("from", at)
	}
	if err != nil {
		return err
	}
	if !q.json {
		fmt.Fprintf(e.Err, "%s: the command failed with exit code %d; looking into it\n", hint.Program(), failed.Code)
	}
	if err := request.AskTrust(ctx, e, &q.Flags, !q.json); err != nil {
		return err
	}
	client, err := e.Client()
	if err != nil {
		return err
	}
	s, err := request.Submit(ctx, e, client, q.Request)
	if err != nil {
		return err
	}
	return q.follow(ctx, e, client, s)
}

// read completes the request and returns what is to be run.
func (q *fixCommand) read(e *kit.Env, text string) ([]Phase, error) {
	if err := q.check(text); err != nil {
		return nil, err
	}
	q.Target, q.Title = fixAgent, "fix: "+text
	if err := q.Read(e); err != nil {
		return nil, err
	}
	steps, given := []Phase{{Name: "command", Run: text}}, map[string]any{}
	if len(q.phases) == 0 {
		given["command"] = text
	} else {
		var err error
		if steps, err = Find(q.Dir, q.phases); err != nil {
			return nil, kit.Usagef("for example: "+hint.Command("fix --phases build=make,test=\"make check\""), "--phases: %v", err)
		}
		q.Title, given["steps"] = "fix: "+strings.Join(q.phases, ", "), steps
	}
	if q.repeatable {
		for i := range steps {
			steps[i].Repeatable = true
		}
		delete(given, "command")
		given["steps"] = steps
	}
	if q.attempts != defaultAttempts {
		given["attempts"] = q.attempts
	}
	if q.parallel > 1 {
		given["parallel"] = q.parallel
	}
	for name, v := range map[string]string{"escalate": q.escalate, "wait": duration(q.wait), "timeout": duration(q.most), "memory": q.memory, "strategy": q.strategy} {
		if v != "" {
			given[name] = v
		}
	}
	if q.keep {
		given["keep"] = "true"
	}
	if q.supervise {
		given["supervise"] = "true"
	}
	for name, v := range given {
		if err := q.input(name, v); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// check refuses invalid flags.
func (q *fixCommand) check(text string) error {
	switch {
	case strings.TrimSpace(text) == "" && len(q.phases) == 0:
		return kit.Usagef("for example: "+hint.Command("fix -- go test ./..."), "the command is empty")
	case q.attempts < 1 || q.attempts > 20:
		return kit.Usagef("leave it out for 3", "--attempts is %d; it is 1 to 20", q.attempts)
	case q.escalate != "" && q.escalate != "ask" && q.escalate != "report" && q.escalate != "never":
		return kit.Usagef("it is one of ask, report, never", "--escalate is %q", q.escalate)
	case q.memory != "" && q.memory != "on" && q.memory != "off":
		return kit.Usagef("it is on or off", "--memory is %q", q.memory)
	case q.parallel < 0 || q.parallel > 8:
		return kit.Usagef("leave it out for one after the other", "--parallel is %d; it is 1 to 8", q.parallel)
	case q.wait < 0:
		return kit.Usagef("leave it out for 24h", "--wait is negative")
	case q.most < 0 || q.most > time.Hour || q.most > 0 && q.most < time.Second:
		return kit.Usagef("it is from 1s to 1h", "--command-timeout is %s", q.most)
	}
	return nil
}

func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// input adds an input of the agent.
func (q *fixCommand) input(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if q.Inputs == nil {
		q.Inputs = map[string]json.RawMessage{}
	}
	q.Inputs[name] = b
	return nil
}

// follow runs the job in the foreground. What it has to report stands at the end.
func (q *fixCommand) follow(ctx context.Context, e *kit.Env, c adroit.Client, s *adroit.Submitted) error {
	return request.Run(ctx, e, c, s.Job.ID, request.Options{JSON: q.json, Window: s.Plan.Task.Options.Window, Known: show.KnownWindow(s.Plan.Task)})
}

// A failure is the failed command: the input problem of the agent.
type failure struct {
	Message string            `json:"message"`
	Code    int               `json:"exit_code"`
	Output  string            `json:"output"`
	Facts   map[string]string `json:"facts,omitempty"`
	Files   []string          `json:"files"`

	Installs []string `json:"installs,omitempty"` // commands that may get what it misses
}

// hidden is f without secrets: it is kept with the job.
func (f failure) hidden(r *secret.Redactor) failure {
	f.Output, _ = r.String(f.Output)
	return f
}

// first runs the command as a shell would, with the streams and the variables of
// this process: what works is not disturbed. It returns nil if it works.
func first(ctx context.Context, e *kit.Env, dir, text string, quiet bool) (*failure, error) {
	kept := &headTail{}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Dir, cmd.Stdin = dir, e.In
	cmd.Stdout, cmd.Stderr = tee{e.Out, kept}, tee{e.Err, kept}
	if quiet {
		cmd.Stdout = tee{e.Err, kept}
	}
	if f, ok := e.In.(*os.File); ok {
		cmd.Stdin = f // no goroutine that reads what the command does not want
	}
	cmd.Cancel = func() error {
		sig := syscall.SIGTERM
		if stop, ok := errors.AsType[*kit.StopError](context.Cause(ctx)); ok {
			sig = stop.Signal
		}
		return cmd.Process.Signal(sig)
	}
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, kit.Stopped(ctx)
	case err == nil:
		return nil, nil
	case !errors.As(err, &ended):
		return nil, kit.Fail(fmt.Errorf("the command could not be started: %w", err), "")
	}
	f := &failure{Code: ended.ExitCode(), Output: kept.text()}
	if s, ok := ended.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		f.Code = 128 + int(s.Signal())
	}
	f.Message = fmt.Sprintf("exit code %d", f.Code)
	f.Facts, f.Files, f.Installs = problem.Facts(dir, text, f.Output), problem.Files(dir, f.Output), problem.InstallsIn(dir, f.Output)
	return f, nil
}

// A tee passes on what is written and keeps a part of it.
type tee struct {
	to interface {
		Write([]byte) (int, error)
	}
	keep *headTail
}

func (t tee) Write(p []byte) (int, error) {
	t.keep.add(p)
	return t.to.Write(p)
}

// A headTail keeps the head and the tail of what it is given. It is safe for
// concurrent use.
type headTail struct {
	mu         sync.Mutex
	head, tail []byte
	cut        bool
}

const mostHead, mostTail = 4 << 10, 12 << 10

func (h *headTail) add(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(len(p), mostHead-len(h.head))
	h.head = append(h.head, p[:n]...)
	if h.tail = append(h.tail, p[n:]...); len(h.tail) > 4*mostTail {
		h.tail, h.cut = append([]byte(nil), h.tail[len(h.tail)-mostTail:]...), true
	}
}

func (h *headTail) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	tail := h.tail
	if len(tail) > mostTail {
		tail, h.cut = tail[len(tail)-mostTail:], true
	}
	if h.cut {
		return string(h.head) + "\n[...]\n" + string(tail)
	}
	return string(h.head) + string(tail)
}
