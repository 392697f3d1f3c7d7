package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	toolserver "github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// posted is a UI whose owner calls what is posted.
type posted chan func()

func (p posted) Post(f func())  { p <- f }
func (posted) Print(string)     {}
func (posted) Notify(string)    {}
func (posted) Edit(text string) {}
func (posted) Quit()            {}

// reopened is a client whose job has ended when a message comes, which reopens it:
// sent and ended hold back when the session learns of either.
type reopened struct {
	adroit.Client
	sent, ended chan struct{}
	starts      int
}

func (c *reopened) Send(context.Context, string, executor.Message) (*jobs.Job, error) {
	<-c.sent
	return nil, nil
}

func (c *reopened) Start(context.Context, string, adroit.StartOptions) (*adroit.Started, error) {
	c.starts++
	return &adroit.Started{}, nil
}

func (c *reopened) Events(context.Context, string, adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (c *reopened) Wait(context.Context, string) (*jobs.Job, error) {
	<-c.ended
	return nil, nil
}

func (c *reopened) Job(context.Context, string) (*adroit.JobDetail, error) {
	d := &adroit.JobDetail{Job: &jobs.Job{ID: "J1", Status: jobs.Queued}}
	if c.starts > 1 {
		d.Job.Status = jobs.Done
	}
	return d, nil
}

// A message that reopens the job at the end of a run is answered by another run,
// whichever of the two the session learns of first.
func TestMessageAtTheEndOfARun(t *testing.T) {
	for _, sentFirst := range []bool{true, false} {
		ui, c := make(posted, 10), &reopened{sent: make(chan struct{}), ended: make(chan struct{})}
		s := New(t.Context(), &kit.Env{Attendant: new(kit.Attendant), Served: func() bool { return false }, Config: func() (*config.Config, error) { return new(config.Config), nil }}, c, ui, Options{Screen: kit.NewColor(io.Discard, 80)})
		s.job, s.status = "J1", jobs.Interrupted
		s.resume()
		s.Enter("one more thing")
		first, second := c.sent, c.ended
		if !sentFirst {
			first, second = second, first
		}
		close(first)
		next(t, ui)()
		close(second)
		for s.Busy() {
			next(t, ui)()
		}
		if c.starts != 2 || s.State() != Idle || s.status != jobs.Done {
			t.Errorf("the message first: %v: %d runs, then state %v of a job that is %s", sentFirst, c.starts, s.State(), s.status)
		}
	}
}

// refusing is a client that takes no message.
type refusing struct{ adroit.Client }

func (refusing) Send(context.Context, string, executor.Message) (*jobs.Job, error) {
	return nil, errors.New("no")
}

// What goes with a message that could not be sent goes with the next one; what was stopped in one
// conversation goes to no other.
func TestNotesOfAMessageThatIsNotSent(t *testing.T) {
	ui := make(posted, 10)
	s := New(t.Context(), &kit.Env{Served: func() bool { return false }, Config: func() (*config.Config, error) { return new(config.Config), nil }}, refusing{}, ui, Options{Screen: kit.NewColor(io.Discard, 80)})
	s.job, s.status = "J1", jobs.Interrupted
	s.note("printed")
	s.input.stopped = "half"
	s.Enter("go on")
	s.Enter("and on")
	next(t, ui)()
	if got := strings.Join(s.input.notes, "|"); got != "printed\n\nI stopped you in this answer:\n````\nhalf\n````" {
		t.Errorf("with the next message goes %q", got)
	}
	s.input.stopped = "half"
	if s.Resume(&Past{detail: &adroit.JobDetail{Job: &jobs.Job{ID: "J2", Status: jobs.Interrupted, Input: []byte("{}")}}}); s.input.stopped != "" {
		t.Errorf("another conversation gets %q", s.input.stopped)
	}
}

func next(t *testing.T, ui posted) func() {
	select {
	case f := <-ui:
		return f
	case <-time.After(time.Minute):
		t.Fatal("nothing happens")
		return nil
	}
}

// slowServers is a client whose MCP servers are looked up until release is closed.
type slowServers struct {
	adroit.Client
	release chan struct{}
}

func (c *slowServers) ToolServers(context.Context, adroit.Scope) (*adroit.Listing[adroit.ToolServerInfo], error) {
	<-c.release
	prompt := adroit.ToolServerInfo{Name: "notes", Prompts: []toolserver.Prompt{{Name: "sum", Description: "Sum up."}}}
	return &adroit.Listing[adroit.ToolServerInfo]{Items: []adroit.ToolServerInfo{prompt}}, nil
}

// Keys do not wait for MCP servers: what is known is offered at once, their prompts
// once they are known.
func TestCompleteBesideSlowServers(t *testing.T) {
	ui, c := make(posted, 10), &slowServers{release: make(chan struct{})}
	s := New(t.Context(), &kit.Env{Served: func() bool { return false }, Config: func() (*config.Config, error) { return new(config.Config), nil }}, c, ui, Options{Screen: kit.NewColor(io.Discard, 80)})
	s.kept = []template{{name: "note", about: "Note it."}}
	var got []string
	then := func(found Completion) {
		got = nil
		for _, choice := range found.Choices {
			got = append(got, choice.Text)
		}
	}
	for _, before := range []string{"/", "/n", "/no"} {
		s.Complete(before, then)
	}
	if want := []string{"/note"}; !slices.Equal(got, want) {
		t.Errorf("beside a server that is silent: %q, want %q", got, want)
	}
	if n := s.tasks.open; n != 1 {
		t.Errorf("the servers are looked up %d times at once", n)
	}
	close(c.release)
	next(t, ui)()
	if want := []string{"/note", "/notes/sum"}; !slices.Equal(got, want) {
		t.Errorf("when it has answered: %q, want %q", got, want)
	}
}

// twoServers is a client with two providers, of which openai lists the model two.
type twoServers struct{ adroit.Client }

func (twoServers) Models(context.Context) ([]adroit.ModelInfo, error) {
	return []adroit.ModelInfo{{Model: "ollama/two"}, {Model: "openai/two"}, {Model: "openai/org-twelve:7b"}, {Model: "openai/NAME", Lacks: adroit.LacksName}}, nil
}

func (twoServers) Resolve(_ context.Context, r adroit.Request) (*adroit.Plan, error) {
	if !strings.Contains(r.Model, "/") && r.Model != "small" {
		return nil, problem.Invalidf("did you mean ollama/"+r.Model+"?", "model %q has no provider", r.Model)
	}
	return &adroit.Plan{}, nil
}

// A model without its provider is one of the provider in use, or proposed so; a role comes first.
func TestModelOfTheProviderInUse(t *testing.T) {
	s := New(t.Context(), &kit.Env{Config: func() (*config.Config, error) { return new(config.Config), nil }}, twoServers{}, make(posted, 10), Options{Screen: kit.NewColor(io.Discard, 80)})
	for _, c := range []struct{ name, provider, want, hint string }{
		{"two", "openai", "openai/two", ""},
		{"two", "ollama", "ollama/two", ""},
		{"small", "openai", "small", ""},
		{"three", "openai", "three", "did you mean openai/three?"},
		{"three", "", "three", "did you mean ollama/three?"},
		{"three", "script:", "three", "did you mean ollama/three?"},
		{"twelve", "ollama", "openai/org-twelve:7b", ""},
		{"ORG 7b", "", "openai/org-twelve:7b", ""},
		{"tw", "openai", "ollama/two", ""},
		{"qwen3:8b", "openai", "qwen3:8b", "did you mean ollama/qwen3:8b?"},
	} {
		var r adroit.Request
		r.Model = c.name
		err := s.findModel(t.Context(), &r, c.provider)
		if r.Model != c.want || problem.Hint(err) != c.hint {
			t.Errorf("%s beside %s is %s, hint %q; want %s, %q", c.name, c.provider, r.Model, problem.Hint(err), c.want, c.hint)
		}
	}
}

// Words mean what has them in its name before what is only described by them.
func TestFilter(t *testing.T) {
	list := []Choice{{"explain", "Explain why a plan failed."}, {"fix-plan", ""}, {"planner", "Plan."}, {"x/plan-b", ""}, {"other", ""}}
	got := fmt.Sprint(filter(list, "Plan "))
	if want := "[{planner Plan.} {x/plan-b } {fix-plan } {explain Explain why a plan failed.}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMentioned(t *testing.T) {
	for before, want := range map[string]string{
		"see @ca": "4 ca", `see @my\ no`: "4 my no", `a @b.go see @"my no`: "12 my no", "x\n@": "2 ", `see @"a b" and`: "-", "no": "-", "me@here": "-",
	} {
		got := "-"
		if start, path, ok := mentioned(before); ok {
			got = fmt.Sprintf("%d %s", start, path)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
}
