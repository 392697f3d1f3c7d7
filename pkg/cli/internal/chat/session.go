// Package chat is a conversation with an agent: a durable job, the messages that a
// person adds to it, and what they do beside. It draws nothing; a [UI] does.
//
//	s := chat.New(ctx, e, c, ui, chat.Options{Request: request})
//	s.Enter("fix the failing test") // returns at once
//
// Everything a message does is a call of adroit.Client, so that the job is on disk
// before the message counts as sent.
package chat

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	stepio "github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A UI shows a session. All of its methods but Post are called by the owner of the
// session.
type UI interface {
	// Print prints finished text once; it ends with a newline.
	Print(text string)
	// Post has the owner call f, soon. Any goroutine may call it.
	Post(f func())
	// Notify draws attention: a question waits, or a turn has ended.
	Notify(text string)
	// Edit puts text into the line that the person types, before what is there.
	Edit(text string)
	// Quit ends the program.
	Quit()
}

// A State is the state of a session.
type State int

const (
	Idle    State = iota // the next message begins a turn
	Working              // a turn is in progress
	Asking               // a question waits for the person
)

// Options are the settings with which a session begins.
type Options struct {
	adroit.Request             // of the next conversation; its prompt is the first message
	Screen         *kit.Screen // what text is made for; nothing is written to it
	Typed          bool        // what the person types stands on the screen already
}

// A Session is a conversation. One goroutine owns it and calls its methods, which
// return at once: what takes time is done elsewhere and posted back.
type Session struct {
	Options
	ctx  context.Context
	e    *kit.Env
	c    adroit.Client
	ui   UI
	view *show.Viewer
	turn
	inbox inbox
	input draft
	tasks tasks
	opening
	kept    []template // those that were read last, for completion
	prompts serverPrompts
	models  modelList
	with    []string      // model and window, as they were resolved; nil if they are not known
	usual   executor.Mode // of a conversation that names none
}

// A turn is the state of the conversation and of its turn in progress.
type turn struct {
	job      string // its id, "" before the first message
	title    string
	status   jobs.Status
	mode     executor.Mode // that the conversation is in, "" before the first message
	from     *origin       // what the next message begins a branch of
	state    State
	stopping bool
	question *asking
	last     int64    // number of the last event shown
	said     []string // the person's messages, as they were typed
	steps    turnSteps
	compaction
	used llm.Usage // at the end of the turn before
	paid float64   // USD, until then
	sending
}

// turnSteps are the paths of the calls of the last turn.
type turnSteps struct {
	paths []string
	over  bool // the next event is of another turn
}

func (t *turnSteps) add(ev event.Event) {
	if t.over {
		t.paths, t.over = nil, false
	}
	switch {
	case ev.Kind == event.JobFinished:
		t.over = true
	case ev.Kind == event.StepFinished && ev.Step == stepio.ToolStep:
		t.paths = append(t.paths, ev.Path)
	}
}

// sending holds the state of the messages that are on their way to the job.
type sending struct {
	outbox     []outgoing      // messages that wait for the one being sent
	delivering bool            // one is being sent
	running    bool            // a runner of this process has the job
	ran        bool            // and has ended a turn
	failed     bool            // the last thing asked for could not be done
	sent       []string        // messages that the model has not been given
	given      map[string]bool // paths of the steps that gave it the others
}

// An origin is a branch's beginning: at the end of a turn of the transcript of a job.
type origin struct {
	job  string
	turn int
}

// A draft is the input that is not to be sent yet.
type draft struct {
	queue []queued // for the end of the turn
	notes []string // output of commands, for the next message
	// stopped is what the model had written when the person stopped it. The job has only whole
	// answers, so the next message has it.
	stopped string
	model   string        // from the next message on, "" for no change
	mode    executor.Mode // of what is typed now, "" for no change
}

// A queued message keeps the mode in which it was typed.
type queued struct {
	text string
	mode executor.Mode
}

// tasks counts the tasks in progress in other goroutines.
type tasks struct {
	open int // as far as the owner knows
	all  sync.WaitGroup
}

// An inbox passes events from the goroutine that follows a job to the owner, many
// at a time.
type inbox struct {
	mu     sync.Mutex
	events []event.Event
	posted bool
}

// New is a session without a job.
func New(ctx context.Context, e *kit.Env, c adroit.Client, ui UI, o Options) *Session {
	s := &Session{Options: o, ctx: ctx, e: e, c: c, ui: ui}
	s.view = show.NewFeed(o.Screen, e.Rate())
	return s
}

// State returns the session's current state.
func (s *Session) State() State { return s.state }

// Job is the id of the conversation's job, "" before the first message.
func (s *Session) Job() string { return s.job }

// Title names the conversation for the title of a window.
func (s *Session) Title() string { return kit.SanitizeLine(s.title) }

// Queue lists the messages that are sent when the turn has ended.
func (s *Session) Queue() (texts []string) {
	for _, q := range s.input.queue {
		texts = append(texts, q.text)
	}
	return texts
}

// Mode is the permission mode of what is typed now.
func (s *Session) Mode() executor.Mode {
	return cmp.Or(s.input.mode, s.mode, s.Request.Mode, s.usual, executor.ModeEdits)
}

// NextMode sets the mode behind the one that there is, from the next message on.
func (s *Session) NextMode() {
	all := executor.Modes
	s.input.mode = all[(slices.Index(all, s.Mode())+1)%len(all)]
}

// Tail are the rows that the model is writing, painted.
func (s *Session) Tail() []string {
	if s.state != Working {
		return nil
	}
	return s.view.Tail()
}

// Meter renders the activity of the turn and the usage of the conversation.
func (s *Session) Meter() string {
	switch {
	case s.stopping:
		return "stopping"
	case s.state == Working:
		return s.view.Meter()
	case len(s.opening.lines) > 0:
		return "looking at the project"
	}
	return ""
}

// Resize sets the width of later text, in columns.
func (s *Session) Resize(columns int) { s.Screen.Cols = columns }

// Unfold prints the question that waits whole, else the last tool call or thought, and the
// one before when it is called again.
func (s *Session) Unfold() {
	if s.question != nil {
		s.showQuestion(-1)
		return
	}
	if text := s.view.Unfold(); text != "" {
		s.ui.Print(text)
	}
}

// Unfolded returns the last tool call or thought whole, for newest, else the one before those
// that it returned; "" if there is none, or if a question waits, which Unfold prints.
func (s *Session) Unfolded(newest bool) string {
	if s.question != nil {
		return ""
	}
	if newest {
		s.view.Newest()
	}
	return s.view.Unfold()
}

// say prints a line of the program itself.
func (s *Session) say(style, text string, args ...any) {
	s.printWith(func(w *kit.Screen) { words(w, style, fmt.Sprintf(text, args...)) })
}

// words writes lines of a style, in rows as wide as the screen.
func words(w *kit.Screen, style, text string) {
	for l := range strings.SplitSeq(kit.Sanitize(text), "\n") {
		for _, row := range kit.WrapIndented(l, w.Width()) {
			fmt.Fprintln(w, w.Paint(style, row))
		}
	}
}

// fail prints an error with what helps.
func (s *Session) fail(err error) {
	s.failed = true
	s.say(kit.Red, "error: %v", err)
	if hint := problem.Hint(err); hint != "" {
		s.say(kit.Dim, "%s", hint)
	}
}

// printMessage prints a message that was sent.
func (s *Session) printMessage(text, note string) {
	s.said = append(s.said, strings.TrimSpace(text))
	width := s.Screen.Width()
	var b strings.Builder
	if s.Typed && s.state != Idle { // else it is of an earlier conversation
		return
	}
	b.WriteString("\n")
	for i, l := range strings.Split(kit.Sanitize(strings.TrimSpace(text)), "\n") {
		for j, row := range kit.Wrap(strings.ReplaceAll(l, "\t", "    "), max(0, width-2)) {
			mark := "  "
			if i+j == 0 {
				mark = "> "
			}
			b.WriteString(s.Screen.Paint(kit.Bold, mark+row) + "\n")
		}
	}
	if note != "" {
		b.WriteString(s.Screen.Paint(kit.Dim, "  "+note) + "\n")
	}
	s.ui.Print(b.String())
}

// do runs work elsewhere; the function it returns runs on the owner's goroutine.
func (s *Session) do(work func(ctx context.Context) func()) {
	s.tasks.open++
	s.tasks.all.Go(func() {
		then := s.guarded(work)
		s.ui.Post(func() {
			s.tasks.open--
			if then != nil {
				then()
			}
		})
	})
}

// guarded has a panic in work happen on the owner's goroutine, which knows how to
// leave the terminal in order.
func (s *Session) guarded(work func(ctx context.Context) func()) (then func()) {
	defer func() {
		if r := recover(); r != nil {
			then = func() { panic(fmt.Sprintf("%v\n%s", r, debug.Stack())) }
		}
	}()
	return work(context.WithoutCancel(s.ctx))
}

// Busy reports whether anything is in progress.
func (s *Session) Busy() bool { return s.tasks.open > 0 }

// Wait waits until nothing is in progress any more. It is for after the end of the
// session's context, which stops a turn, and of its owner.
func (s *Session) Wait() { s.tasks.all.Wait() }

// coalesce is the time for which events are collected, so that a burst causes one update.
const coalesce = 30 * time.Millisecond

// take passes an event to the owner. It does not wait for it.
func (s *Session) take(ev event.Event) {
	b := &s.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, ev)
	if !b.posted {
		b.posted = true
		time.AfterFunc(coalesce, func() { s.ui.Post(s.drain) })
	}
}

// drain shows the events that have come.
func (s *Session) drain() {
	b := &s.inbox
	b.mu.Lock()
	evs := b.events
	b.events, b.posted = nil, false
	b.mu.Unlock()
	from := 0
	show := func(to int) {
		if text := s.view.Feed(evs[from:to]...); text != "" {
			s.ui.Print(text)
		}
		from = to
	}
	for i, ev := range evs {
		s.last = max(s.last, ev.Seq)
		s.steps.add(ev)
		if ev.Step == stepio.CompactStep && ev.Text != "" && s.compaction == compacting {
			s.compaction = compactionDone
		}
		if ev.Step == flow.KindAwait {
			show(i)
			if s.message(ev) {
				from = i + 1
			}
		}
	}
	show(len(evs))
}

// compaction is the state of a compaction that the person has asked for between turns.
type compaction int

const (
	noCompaction   compaction = iota
	compacting                // it runs
	compactionDone            // it made the conversation smaller
)

// compact is /compact: the conversation gets smaller at once between turns, and
// before the next request of the model while one is in progress.
func (s *Session) compact(string) {
	if !s.begun() {
		return
	}
	id, now := s.job, s.state == Idle && s.status.Final()
	if now {
		s.work()
		s.compaction = compacting
	}
	s.do(func(ctx context.Context) func() {
		_, err := s.c.Send(ctx, id, executor.Message{Compact: true})
		return func() {
			switch {
			case err != nil:
				s.compaction = noCompaction
				s.settle()
				s.fail(err)
			case now:
				s.run()
			case s.status == jobs.Interrupted && s.state == Idle:
				s.say(kit.Dim, "it is compacted when the conversation goes on")
			default:
				s.say(kit.Dim, "it is compacted before the model's next request")
			}
		}
	})
}

// compacted ends a compaction between turns. It reports whether there was one.
func (s *Session) compacted() bool {
	was := s.compaction
	if s.compaction = noCompaction; was == compacting {
		s.say(kit.Dim, "there is nothing to compact yet")
	}
	return was != noCompaction
}

// A Plain shows a conversation as a stream of lines: for pipes, and for terminals
// that cannot move the cursor. It reads a line when the turn before has ended.
type Plain struct {
	in       io.Reader
	out      io.Writer
	prompt   bool // somebody types
	posts    chan func()
	quit     bool
	finished bool // the input has ended
}

// NewPlain reads lines from in and prints to out, with a prompt if somebody types.
func NewPlain(in io.Reader, out io.Writer, prompt bool) *Plain {
	return &Plain{in: in, out: out, prompt: prompt, posts: make(chan func(), 64)}
}

func (p *Plain) Print(text string) { _, _ = io.WriteString(p.out, text) } // a closed pipe ends the program elsewhere
func (p *Plain) Post(f func())     { p.posts <- f }
func (p *Plain) Notify(string)     {}
func (p *Plain) Edit(string)       {}
func (p *Plain) Quit()             { p.quit = true }

// Run reads lines until the input ends, /quit, or the end of ctx, which stops a turn.
func (p *Plain) Run(ctx context.Context, s *Session) error {
	lines, next := make(chan string), make(chan bool)
	defer close(next)
	go p.read(lines, next)
	reading := false
	for {
		if s.Busy() || p.quit || p.finished || ctx.Err() != nil {
			if !s.Busy() {
				break
			}
		} else if !reading {
			if reading = true; p.prompt {
				fmt.Fprint(p.out, "> ")
			}
			next <- true
		}
		select {
		case f := <-p.posts:
			f()
		case line, more := <-lines:
			if reading = false; !more {
				p.finished = true
				lines = nil
			} else {
				s.Enter(line)
			}
		case <-done(ctx, s):
		}
	}
	switch {
	case ctx.Err() != nil:
		return kit.Stopped(ctx)
	case s.State() == Asking:
		return kit.With(kit.Waiting)
	case p.finished && !p.prompt && s.failed:
		return kit.With(kit.Failed)
	case p.finished && !p.prompt && s.ran:
		return kit.With(kit.OfJob(ctx, s.status))
	}
	return nil
}

// done is the end of ctx while no turn is in progress, which ends by itself then.
func done(ctx context.Context, s *Session) <-chan struct{} {
	if s.Busy() {
		return nil
	}
	return ctx.Done()
}

// read reads a message for each next: a line, with those after it while one ends
// with a backslash.
func (p *Plain) read(lines chan<- string, next <-chan bool) {
	defer close(lines)
	r := bufio.NewReader(p.in)
	for range next {
		var b strings.Builder
		for {
			line, err := r.ReadString('\n')
			line = strings.TrimRight(line, "\r\n")
			head, more := strings.CutSuffix(line, `\`)
			b.WriteString(head)
			if more && err == nil {
				b.WriteByte('\n')
				continue
			}
			if err != nil && b.Len() == 0 {
				return
			}
			break
		}
		lines <- b.String()
	}
}

// maxNote bounds what of a command's output goes with a message, in bytes.
const maxNote = 16 << 10

// shell runs a command of the person's as the agent's shell would run it, in the
// sandbox, and keeps its output for the next message.
func (s *Session) shell(command string) {
	if command == "" {
		s.say(kit.Dim, "!COMMAND runs a command in the sandbox")
		return
	}
	s.say(kit.Bold, "! %s", command)
	dir, level := s.Dir, string(s.Sandbox)
	s.do(func(ctx context.Context) func() {
		args, _ := json.Marshal(map[string]string{"command": command}) // strings always can be
		r, err := s.c.CallTool(ctx, adroit.ToolCall{Name: "shell", Args: args, Dir: dir, Sandbox: level})
		if err != nil {
			return func() { s.fail(err) }
		}
		text := strings.TrimSpace(r.Text)
		return func() {
			s.say(kit.Plain, "%s", text)
			s.note(fmt.Sprintf("I ran `%s`:\n```\n%s\n```", command, shortened(text)))
			s.say(kit.Dim, "it goes with your next message")
		}
	})
}

// shortened is the beginning and the end of a long text.
func shortened(text string) string {
	if len(text) <= maxNote {
		return text
	}
	head, tail := text[:maxNote/4], text[len(text)-maxNote*3/4:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[%d bytes left out]\n", len(text)-maxNote) + strings.ToValidUTF8(tail, "")
}

// note keeps words for the next message.
func (s *Session) note(words string) { s.input.notes = append(s.input.notes, words) }
