package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/spf13/pflag"
)

// AtOnce adds --at-once to the flags of a command that starts jobs.
func AtOnce(f *pflag.FlagSet, o *adroit.StartOptions) {
	f.IntVar(&o.AtOnce, "at-once", 0, "queue the job until fewer than this many run, in all processes (config: jobs.at_once)")
}

// A LimitText is the help of the flags for limits in a command. A flag without help is
// left out.
type LimitText struct{ Turns, Tokens, Cost, Time string }

// StopAfter is the help of the limits of commands that begin a job.
var StopAfter = LimitText{
	Turns:  "stop after this many model calls",
	Tokens: "stop after this many tokens, in and out",
	Cost:   "stop after this many USD; needs the model's price in the config",
	Time:   "stop after this much active time, for example 30m",
}

// Limits adds the flags of limits.
func Limits(f *pflag.FlagSet, l *executor.Limits, words LimitText) {
	if words.Turns != "" {
		f.IntVar(&l.Turns, "max-turns", 0, words.Turns)
	}
	f.IntVar(&l.Tokens, "max-tokens", 0, words.Tokens)
	f.Float64Var(&l.CostUSD, "max-cost", 0, words.Cost)
	f.DurationVar(&l.Time, "timeout", 0, words.Time)
}

// startFlag is the flag of continue by which Detach passes options on, as a whole.
const startFlag = "start"

// Start adds the flag by which a process in the background gets the options of its
// parent.
func Start(f *pflag.FlagSet, o *adroit.StartOptions) {
	f.Var(startValue{o}, startFlag, "")
	if err := f.MarkHidden(startFlag); err != nil {
		panic(err) // it was added above
	}
}

// A startValue is the options of a start as JSON.
type startValue struct{ o *adroit.StartOptions }

func (v startValue) Type() string { return "json" }

func (v startValue) String() string {
	if v.o == nil {
		return ""
	}
	b, err := json.Marshal(v.o)
	if err != nil {
		return err.Error() // numbers and words: there is none
	}
	return string(b)
}

func (v startValue) Set(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields() // it may be a limit
	return dec.Decode(v.o)
}

// Run runs a job until it ends, waits for a person who is not here, or is
// stopped, and prints how it went. The error has the exit code.
func Run(ctx context.Context, e *kit.Env, c adroit.Client, id string, o Options) error {
	end, err := Attach(ctx, e, c, id, o)
	if err != nil {
		return err
	}
	if !o.JSON {
		end.Artifacts = Products(ctx, c, end.Job)
		show.Outcome(e.Screen(), e.OutScreen(), *end)
	}
	return kit.With(kit.OfJob(ctx, end.Job.Job.Status))
}

// Products lists the artifacts of a job. It is nil if the job has not ended or they
// cannot be read, which does not affect the outcome of the run.
func Products(ctx context.Context, c adroit.Client, d *adroit.JobDetail) *adroit.ArtifactList {
	if !d.Job.Status.Final() || d.Final == nil || len(d.Final.Artifacts) == 0 {
		return nil
	}
	list, err := c.Artifacts(context.WithoutCancel(ctx), d.Job.ID)
	if err != nil {
		return nil
	}
	return list
}

// Attach is Run without what is printed at the end. It returns how the job
// stands and how long its last run took.
func Attach(ctx context.Context, e *kit.Env, c adroit.Client, id string, o Options) (*show.Ending, error) {
	if o.Known == 0 && !o.JSON && !o.Silent {
		d, err := c.Job(ctx, id)
		if err != nil {
			return nil, err
		}
		o.Known = d.Config.KnownWindow
	}
	job, err := adroit.Find(ctx, c, id)
	if err != nil {
		return nil, err
	}
	s := &session{e: e, c: c, id: id, job: job, o: o, first: true}
	for {
		began := time.Now()
		d, err := s.run(ctx)
		if err != nil {
			return nil, err
		}
		end := &show.Ending{Job: d, Took: time.Since(began), Last: s.last}
		if d.Job.Status != jobs.Waiting || !s.attended() || ctx.Err() != nil {
			return end, nil
		}
		if answered, err := s.ask(ctx, d.Questions); !answered || err != nil {
			return end, err
		}
		s.o.StartOptions, s.first = adroit.StartOptions{}, false
	}
}

// attended reports whether a person can be asked.
func (s *session) attended() bool {
	return !s.o.JSON && !s.o.Silent && !s.o.Unattended && s.e.Interactive()
}

// live reports whether pieces of answers are shown.
func (s *session) live() bool {
	return !s.o.Silent && (!s.o.JSON || s.o.Deltas)
}

// run runs the job once, as far as it gets without an answer.
func (s *session) run(ctx context.Context) (*adroit.JobDetail, error) {
	all := context.WithoutCancel(ctx) // what happens to the job is read to its end
	past, err := show.ReadHistory(s.c.Events(all, s.id, adroit.EventOptions{}), s.e.Rate())
	if err != nil {
		return nil, err
	}
	render, pause, end := s.view(past)
	defer end() // once more does nothing
	s.o.Live = s.live()
	started, err := s.job.Start(all, s.o.StartOptions)
	if err != nil {
		return nil, StartError(err)
	}
	if s.first && !s.o.JSON && !s.o.Silent {
		pause(func() { s.header(ctx, started) })
	}
	if err := s.job.Follow(ctx, adroit.EventOptions{After: past.Last, Live: s.o.Live}, string(jobs.Interrupted), render); err != nil {
		return nil, err
	}
	end()
	d, err := s.c.Job(all, s.id)
	if err == nil && s.e.Ephemeral {
		d.Actions = nil // no later command finds the job
	}
	return d, err
}

// StartError is the error of a command that could not start a job: a job that has
// ended was the wrong one to name.
func StartError(err error) error {
	if errors.Is(err, jobs.ErrFinal) {
		return &kit.Error{Code: kit.Usage, Err: err, Hint: problem.Hint(err)}
	}
	return err
}

// view shows events until end is called. pause does something while nothing else
// is written.
func (s *session) view(past show.History) (render func(event.Event), pause func(func()), end func()) {
	switch {
	case s.o.Silent:
		return func(event.Event) {}, nil, func() {}
	case s.o.JSON:
		return func(ev event.Event) { show.Event(s.e.Out, ev) }, nil, func() {}
	}
	v := show.NewViewer(s.e.Screen(), past, s.o.Known)
	ended := sync.OnceFunc(func() { v.Close(); s.last = v.Last() })
	if !s.e.Interactive() {
		return v.Sink, v.Interrupt, ended
	}
	leave := s.e.Attendant.Attend(func(ctx context.Context, question json.RawMessage) (no string, err error) {
		v.Interrupt(func() { no, err = s.permit(ctx, question) })
		return no, err
	})
	return v.Sink, v.Interrupt, func() { leave(); ended() }
}

// Begins prints what of the work tree the worktree of a new job lacks, and what its merge needs.
func Begins(e *kit.Env, s *adroit.Submitted) {
	if s.Plan != nil {
		for _, l := range show.Attachments(s.Plan.Input.Attached) {
			fmt.Fprintln(e.Err, kit.SanitizeLine(l))
		}
	}
	w := s.Worktree
	if s.Repeated {
		return // it has begun
	}
	if w != nil && w.Detached {
		fmt.Fprintf(e.Err, "%s has no branch checked out: the work is on branch %s, and to merge it, check one out first: git switch NAME\n", e.Home(w.Repo), w.Branch)
	}
	if w == nil || w.Left == 0 {
		return
	}
	verb := "are"
	if w.Left == 1 {
		verb = "is"
	}
	fmt.Fprintf(e.Err, "the worktree begins at commit %.10s: %s in %s %s not in it\n", w.Base, kit.Plural(w.Left, "uncommitted change"), e.Home(w.Repo), verb)
}

// header prints the first line of a run, and which jobs work in the same
// directory, or in one that contains the other: each may meet what the other is
// about to change.
func (s *session) header(ctx context.Context, started *adroit.Started) {
	j := started.Job
	model := j.Model
	if file, ok := strings.CutPrefix(model, "script:"); ok {
		model = "script:" + s.e.Home(file)
	}
	model += s.window(ctx, started) + show.Outside(j.Model)
	place := show.Place(&adroit.JobDetail{Job: j, Worktree: started.Worktree}, s.e.Home)
	w := s.e.Screen()
	cells := []string{fmt.Sprintf("job %s", j.ID), j.Agent, model}
	if started.Sandbox != "" {
		cells = append(cells, "sandbox "+started.Sandbox)
	}
	cells = append(cells, place)
	if c := started.Config; c.Engine != "" {
		cells = append(cells, "on "+c.Engine+", which goes on by itself; steps on "+c.Host)
	}
	for _, row := range kit.Rows(w, cells...) {
		fmt.Fprintln(w, w.Paint(kit.Bold, row))
	}
	for _, id := range started.Others {
		fmt.Fprintf(s.e.Err, "%s is also working here; --worktree keeps them apart\n", kit.SanitizeLine(id))
	}
}

// window describes the context window that was asked for and the one that the
// server reports it gave.
func (s *session) window(ctx context.Context, started *adroit.Started) string {
	asked := s.o.Window
	switch c := started.Config; {
	case asked > 0:
	case c.GuessedWindow > 0:
		return fmt.Sprintf(" (window %d, a guess)", c.GuessedWindow)
	case c.KnownWindow > 0:
		return fmt.Sprintf(" (window %d)", c.KnownWindow)
	default:
		return ""
	}
	m, err := s.c.ModelState(ctx, adroit.ModelQuery{Model: started.Job.Model, BaseURL: started.Config.BaseURL, Window: asked})
	switch {
	case err != nil:
		return ""
	case m.Given == asked:
		return fmt.Sprintf(" (window %d, verified)", asked)
	case m.Given == 0:
		return fmt.Sprintf(" (window %d, not verified)", asked)
	}
	return fmt.Sprintf(" (window %d asked, %d given)", asked, m.Given)
}

// Attached returns the files that a person's words attach to a message of a job in dir.
// The runtime reads the files of the workspace; an image elsewhere, such as a screenshot,
// is sent with the message.
func Attached(words, dir string) executor.Attached {
	a := executor.Attached{Mentions: words}
	for _, m := range turn.Mentions(words) {
		file, home := strings.CutPrefix(m.Path, "~/")
		switch base, err := os.UserHomeDir(); {
		case home && err == nil:
			file = filepath.Join(base, file)
		case !filepath.IsAbs(m.Path):
			continue
		}
		if in, err := filepath.Rel(dir, file); dir != "" && err == nil && filepath.IsLocal(in) {
			continue
		}
		if b := image(file); b != nil {
			a.Attachments = append(a.Attachments, executor.Attachment{Path: m.Path, Data: b})
		}
	}
	return a
}

// image reads a file if it is an image that fits; what is wrong with any other, the
// runtime says.
func image(file string) []byte {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > turn.MaxImage {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil || turn.ImageType(b) == "" {
		return nil
	}
	return b
}

// Options configure how a job runs and is shown.
type Options struct {
	adroit.StartOptions
	JSON   bool // its events as JSON, and nothing else
	Silent bool // nothing
	// Unattended asks nobody: a job that asks a person stays parked.
	Unattended bool
	Deltas     bool // with JSON: also pieces of responses, which are not kept
	Window     int  // the context window that its model was asked for, 0 for none
	// Known is the model's context window as far as it is known, for the meter.
	Known int
}

// A session is a job in the foreground.
type session struct {
	e     *kit.Env
	c     adroit.Client
	id    string
	job   *adroit.Job
	o     Options
	first bool   // nothing was shown yet
	last  string // the model's text that stands last on the screen
}

// A Template is a prompt of an MCP server that a request begins with.
type Template struct {
	Name  string   // SERVER/PROMPT, "" for none
	Pairs []string // its arguments, as key=value
}

// Begin puts the text of a template before the prompt. Others have written it.
func (f *Flags) Begin(ctx context.Context, c adroit.Client, t Template) error {
	server, prompt, ok := strings.Cut(t.Name, "/")
	switch {
	case t.Name == "" && len(t.Pairs) == 0:
		return nil
	case !ok:
		return kit.Usagef("for example --template docs/review --set file=a.go", "--template is SERVER/PROMPT")
	}
	args := map[string]string{}
	for _, p := range t.Pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return kit.Usagef("for example --set file=a.go", "--set %q is not key=value", p)
		}
		args[key] = value
	}
	text, err := c.ToolServerPrompt(ctx, adroit.ToolServerPrompt{Named: adroit.Named{Scope: adroit.Scope{Dir: f.Dir, Trust: f.Trust}, Name: server}, Prompt: prompt, Args: args})
	if err != nil {
		return err
	}
	f.Prompt = strings.TrimSpace(text + "\n\n" + f.Prompt)
	f.Taint |= tools.Untrusted
	return nil
}
