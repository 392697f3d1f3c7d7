// Package shell runs commands the model writes.
//
//	set, err := tools.NewSet(shell.Run, shell.Output, shell.Kill)
//
// What a command may reach is not decided here but by the sandbox of the Exec
// that runs it and by who approved the call.
package shell

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

// runInput of shell.
type runInput struct {
	Command    string `json:"command" jsonschema:"description=Command line"`
	TimeoutS   int    `json:"timeout_s,omitempty" jsonschema:"minimum=1,maximum=3600,description=Seconds; default 120"`
	Background bool   `json:"background,omitempty" jsonschema:"description=Return at once; see shell_output and shell_kill"`
}

// Run is the tool shell.
var Run = tools.New(tools.Metadata{
	Name: "shell", Category: "build", Needs: tools.Read | tools.Write | tools.Shell, Command: "command", Effect: tools.Unsafe,
	Examples: []tools.Example{{Args: json.RawMessage(`{"command":"go vet ./...","timeout_s":60}`)}},
	Timeout:  time.Hour + time.Minute, // the call's own limit is timeout_s
}.ProseIn(descriptions), run)

// Online is the tool shell_online: as [Run], with the network of this machine, which a person
// is asked about.
var Online = tools.New(tools.Metadata{
	Name: "shell_online", Category: "build", Optionality: tools.Optional, Needs: tools.Read | tools.Write | tools.Shell | tools.Net, Command: "command", Online: true, Effect: tools.Unsafe,
	Examples: []tools.Example{{Args: json.RawMessage(`{"command":"npm install"}`)}},
	Timeout:  time.Hour + time.Minute,
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in runInput) (tools.Result, error) {
	return start(ctx, env, in, true)
})

const (
	defaultTimeout = 120 * time.Second
	mostText       = 12_000 // bytes of output shown at once
	// mostCommand is somewhat below what Linux takes for one argument, and what
	// permissions judge.
	mostCommand = 120_000
)

func run(ctx context.Context, env *tools.Env, in runInput) (tools.Result, error) {
	return start(ctx, env, in, false)
}

// start runs a command, with the network of this machine if online is set.
func start(ctx context.Context, env *tools.Env, in runInput, online bool) (tools.Result, error) {
	if strings.TrimSpace(in.Command) == "" {
		return tools.Result{}, errors.New("command is empty: write what to run")
	}
	if len(in.Command) > mostCommand {
		return tools.Result{}, fmt.Errorf("the command has %d bytes; %d are the most: write it to a file and run that", len(in.Command), mostCommand)
	}
	c := process.Cmd{Shell: in.Command, Timeout: time.Duration(in.TimeoutS) * time.Second, Snapshot: true, Net: online}
	if in.Background {
		p, err := env.Exec.Start(ctx, c)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Text: fmt.Sprintf("Runs in the background as %s. shell_output shows how it is doing.", p.ID), Summary: "started " + p.ID}, nil
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if env.Emit != nil {
		env.Emit(event.Event{Kind: event.Delta, Text: in.Command + "\n", Data: turn.CommandDelta})
		c.Watch = &watch{env.Emit, mostWatched}
	}
	out, err := env.Exec.Run(ctx, c)
	if err != nil {
		return tools.Result{}, err
	}
	return valued(show(out), out, env.MaxValueBytes)
}

// watch shows watchers what a command prints, as far as there is room: the
// result has all of it.
type watch struct {
	emit event.Sink
	room int // bytes
}

const mostWatched = 16 << 10

// Write implements [io.Writer].
func (w *watch) Write(b []byte) (int, error) {
	if text := b[:min(len(b), w.room)]; len(text) > 0 {
		w.room -= len(text)
		w.emit(event.Event{Kind: event.Delta, Text: string(text), Data: turn.OutputDelta})
	}
	return len(b), nil
}

// valued adds to a result what programs read of it.
func valued(res tools.Result, o *process.Output, most int) (tools.Result, error) {
	c := turn.CommandResult{ID: o.ID, Code: o.Code, TimedOut: o.TimedOut, Killed: o.Killed, Unjoined: o.Unjoined}
	if most > 0 {
		c.Output, c.Dropped = o.Whole(most)
	}
	return turn.WithValue(res, c)
}

// show renders a command that has ended or still runs for the model. A command that
// failed is a failed result: most of the time the model meant it to work, and a run that
// ends with it should not look well.
func show(o *process.Output) tools.Result {
	state, advice := fmt.Sprintf("exit code %d", o.Code), ""
	switch {
	case o.TimedOut:
		state = fmt.Sprintf("stopped after %s, which was its time limit", o.Took.Round(time.Second))
		advice = "; raise timeout_s or use background"
	case o.Killed:
		state = "killed"
	case o.Code < 0:
		state = "still running"
	}
	if len(o.Unjoined) > 0 {
		state += "; not in the workspace: " + spelling.List(spelling.PathLines(o.Unjoined), 3)
	}
	text, cut := clip(o.Text)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s (%s, %d bytes of output)\n", state, advice, o.ID, o.Bytes)
	b.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	if o.Dropped > 0 || cut {
		fmt.Fprintf(&b, "[the middle is left out; shell_output with id %s pages and searches all of it]\n", o.ID)
	}
	if len(o.Changed) > 0 {
		fmt.Fprintf(&b, "[changed: %s]\n", spelling.List(spelling.PathLines(o.Changed), 20))
	}
	if o.Note != "" {
		fmt.Fprintf(&b, "[%s]\n", o.Note)
	}
	return tools.Result{Text: b.String(), Failed: o.Code > 0 || o.TimedOut || o.Killed, Summary: state}
}

// clip keeps head and tail at line ends where there are some.
func clip(s string) (string, bool) {
	if len(s) <= mostText {
		return s, false
	}
	head, tail := s[:mostText/2], s[len(s)-mostText/2:]
	if i := strings.LastIndexByte(head, '\n'); i > mostText/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < mostText/4 {
		tail = tail[i+1:]
	}
	return strings.ToValidUTF8(head+"[...]\n"+tail, ""), true
}

// killInput is the input of shell_kill.
type killInput struct {
	ID string `json:"id" jsonschema:"description=As shell gave it; like c3"`
}

// Kill is the tool shell_kill. It returns when the command is gone.
var Kill = tools.New(tools.Metadata{
	Name: "shell_kill", Category: "build", Optionality: tools.Optional, Needs: tools.Exec, Effect: tools.Idempotent,
	Examples: []tools.Example{{Args: json.RawMessage(`{"id":"c3"}`)}},
}.ProseIn(descriptions), kill)

func kill(_ context.Context, env *tools.Env, in killInput) (tools.Result, error) {
	p, ok := env.Exec.Process(in.ID)
	if !ok {
		return tools.Result{}, fmt.Errorf("no command %s is running: it ended long ago, or the id is not one that shell gave", in.ID)
	}
	select {
	case <-p.Done():
		return tools.Result{Text: in.ID + " had ended already.", Summary: in.ID + " had ended"}, nil
	default:
	}
	p.Kill()
	r := show(p.Output())
	r.Failed = false
	return r, nil
}
