package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// move has a job go on with another host, as Retry of a remote promises.
func (r *remote) move(ctx context.Context, ref string, o adroit.RetryOptions) (*adroit.Submitted, error) {
	d, err := r.Job(ctx, ref)
	if err != nil {
		return nil, err
	}
	id, from := d.Job.ID, d.Config.Host
	switch {
	case o.From > 0 || o.CarryOut || o.Agent != "":
		return nil, problem.Invalidf("on its own host a job takes them", "a job that goes on with another host goes on from its last turn, with its agent")
	case from == o.Host:
		return nil, problem.Invalidf("it goes on there by itself, or with the same command without --host", "%s is on %s already", id, from)
	case d.Job.Status == jobs.Running || d.Job.Status == jobs.Queued:
		return nil, problem.Invalidf(hint.Command("jobs cancel %s", id)+" ends it there; what it has done goes on with the other host", "%s runs on %s", id, from)
	}
	known, err := r.t.past(ctx, id)
	if err != nil {
		return nil, err
	}
	q, err := known.request(id, from, o, true)
	if err != nil {
		return nil, err
	}
	s, err := r.t.on(o.Host).Submit(ctx, q)
	if p := new(problem.Error); q.Base != "" && errors.As(err, &p) && p.Kind == problem.NotFound { // of the commit, or of what the next one misses, too
		if q, err = known.request(id, from, o, false); err == nil {
			s, err = r.t.on(o.Host).Submit(ctx, q)
		}
	}
	if err != nil {
		return nil, err
	}
	s.Lost = known.lost
	if d.Job.Status.Final() {
		return s, nil
	}
	// Or it would go on when its host is back, beside the new one.
	if err := r.t.Cancel(ctx, id); err != nil && !errors.Is(err, jobs.ErrFinal) {
		_, gone := r.t.on(o.Host).Remove(ctx, s.Job.ID, adroit.RemoveOptions{})
		return nil, errors.Join(fmt.Errorf("%s may still go on, so the new job was taken back: %w", id, err), gone)
	}
	return s, nil
}

// A past is what Temporal has of a job.
type past struct {
	placed Placed
	asks   []json.RawMessage // of its models
	after  []*unseen         // calls of tools since the last of them
	acts   map[string]bool   // tools that may change the workspace
	lost   []string          // calls that have, or may have
}

// An unseen is a call whose result no model has seen.
type unseen struct {
	tool  string
	ended bool // else it may or may not have happened
}

// past reads the histories of all executions of a job, the oldest first.
func (t *Cluster) past(ctx context.Context, id string) (*past, error) {
	var all []*workflowpb.WorkflowExecutionInfo
	for next, first := []byte(nil), true; first || len(next) > 0; first = false {
		page, err := t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, NextPageToken: next, PageSize: 1000, Query: fmt.Sprintf("RootWorkflowId = %q", id)})
		if err != nil {
			return nil, err
		}
		all, next = append(all, page.Executions...), page.NextPageToken
	}
	slices.SortFunc(all, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
	})
	p := &past{acts: map[string]bool{}}
	for _, e := range all {
		of := p
		if e.GetExecution().GetWorkflowId() != id { // a sub-agent, which has a conversation of its own
			of = &past{acts: p.acts}
		}
		if err := t.read(ctx, of, e.GetExecution()); err != nil {
			return nil, fmt.Errorf("reading what Temporal has of %s: %w", id, err)
		}
		if of != p {
			p.lost = append(p.lost, of.lost...)
		}
	}
	if len(p.placed.Input) == 0 {
		return nil, problem.Invalidf(hint.Command("run")+" starts a new one", "Temporal has nothing of %s any more: its retention is over, or the job never began", id)
	}
	return p, nil
}

func (t *Cluster) read(ctx context.Context, p *past, of *common.WorkflowExecution) error {
	kinds, open := map[int64]string{}, map[int64]*unseen{} // by event, of activities
	value := func(in *common.Payloads, v any) error {
		plain, err := t.decode(in.GetPayloads())
		if err == nil {
			err = converter.GetDefaultDataConverter().FromPayloads(&common.Payloads{Payloads: plain}, v)
		}
		return err
	}
	for history := t.c.GetWorkflowHistory(ctx, of.GetWorkflowId(), of.GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); {
		ev, err := history.Next()
		if err != nil {
			return err
		}
		if began := ev.GetActivityTaskScheduledEventAttributes(); began != nil {
			kind := began.GetActivityType().GetName()
			kinds[ev.GetEventId()] = kind
			if kind != turn.ModelStep && kind != turn.ToolStep {
				continue
			}
			var now task
			if err := value(began.GetInput(), &now); err != nil {
				return err
			}
			if kind == turn.ModelStep {
				p.asks, p.after = append(p.asks, now.Step.Input), nil
				continue
			}
			p.call(now.Step)
			open[ev.GetEventId()] = &unseen{tool: now.Step.Name}
			p.after = append(p.after, open[ev.GetEventId()])
		}
		if done := ev.GetActivityTaskCompletedEventAttributes(); done != nil {
			switch at := done.GetScheduledEventId(); kinds[at] {
			case "open":
				var o opened
				if err := value(done.GetResult(), &o); err != nil {
					return err
				}
				p.placed = o.Placed
			case turn.ResolveStep:
				var o Outcome
				if err := value(done.GetResult(), &o); err != nil {
					return err
				}
				if err := p.resolved(o); err != nil {
					return err
				}
			case turn.ToolStep:
				if call := open[at]; call != nil {
					call.ended = true
				}
			}
		}
	}
	return nil
}

// resolved keeps which tools of a task may change the workspace.
func (p *past) resolved(o Outcome) error {
	if o.Failure != nil {
		return nil
	}
	var t struct{ executor.Work }
	if err := json.Unmarshal(o.Output, &t); err != nil {
		return err
	}
	for _, tool := range slices.Concat(t.Tools, t.Checks) {
		p.acts[tool.Name] = p.acts[tool.Name] || tool.Needs&(tools.Write|tools.Exec|tools.Shell) != 0
	}
	return nil
}

// mostLost bounds the calls of which a person and the model learn that what they changed is lost.
const mostLost = 40

// call keeps a call that may change the workspace.
func (p *past) call(s flow.Step) {
	if !p.acts[s.Name] {
		return
	}
	var in struct {
		Args struct {
			Path    string `json:"path"`
			Command string `json:"command"`
		} `json:"args"`
	}
	_ = json.Unmarshal(s.Input, &in) // other arguments: the name has to do
	what := strings.TrimSpace(s.Name + " " + cmp.Or(in.Args.Path, in.Args.Command))
	if what = spelling.ClipRunes(what, 120); !slices.Contains(p.lost, what) {
		p.lost = append(p.lost, what)
	}
}

// missing describes what a host that takes a job over does not have.
func (p *past) missing(host, from string, base bool) string {
	out := fmt.Sprintf("This job goes on with the host %s; it was on %s until %s. What you changed there, in files or outside of a repository that was pushed, is lost here unless you find it: read again what you rely on, and say in the end what is lost.",
		host, from, time.Now().UTC().Format(time.DateTime))
	switch {
	case p.placed.Base != "" && base:
		out += " You work in a new worktree of the commit " + p.placed.Base + ", at which the job began."
	case p.placed.Base != "":
		out += " You work in a new worktree of the last commit here: the commit " + p.placed.Base + ", at which the job began, is neither here nor in a remote."
	}
	if n := len(p.lost); n > 0 {
		out += " Calls there that may have changed files:\n* " + strings.Join(p.lost[:min(n, mostLost)], "\n* ") + "\n"
		if n > mostLost {
			out += fmt.Sprintf("* and %d more\n", n-mostLost)
		}
	}
	if len(p.after) > 0 {
		out += " Calls whose results you have not seen:\n"
		for _, call := range p.after {
			out += "* " + call.tool + map[bool]string{true: ": it has ended\n", false: ": it may or may not have happened\n"}[call.ended]
		}
		out += "Do not repeat one that must not happen twice before you have looked."
	}
	return strings.TrimSpace(out)
}

// request makes the request of a job that goes on with another host; base: at the commit at which
// the old one began.
func (p *past) request(id, from string, o adroit.RetryOptions, base bool) (q adroit.Request, err error) {
	if p.placed.Workflow != agents.Workflow.Name {
		return q, problem.Invalidf("on its own host it goes on by itself", "%s is led by the workflow %s, which has no conversation to go on from", id, p.placed.Workflow)
	}
	if err := json.Unmarshal(p.placed.Input, &q.Input); err != nil {
		return q, err
	}
	if len(q.Attachments) > 0 {
		return q, problem.Invalidf(hint.Command("run")+" starts a new one", "%s has images, which are on %s alone", id, from)
	}
	t := adroit.Of(&jobs.Job{ID: id}, p.asks)
	last := t.Last()
	for last > 0 && t.Turns[last-1].Response == nil { // it came after what was sent last
		last = t.Turns[last-1].After
	}
	said := o.To(strings.TrimSpace(p.missing(o.Host, from, base) + "\n\n" + o.Message))
	if o.Message == "" {
		said.Text += "\n\nGo on with the task."
	}
	q.Branch = &turn.Branch{Job: id, Turn: last, Opening: llm.Message{Role: llm.User, Text: q.Prompt}}
	if last > 0 {
		if q.Branch, err = t.Branch(last); err != nil {
			return q, err
		}
	}
	q.Branch.History = append(q.Branch.History, said)
	q.Target, q.Title = "", p.placed.Title
	if q.Spec == nil {
		q.Target, q.Agent = "agent:"+q.Agent, ""
	}
	if o.Model != "" {
		q.Model = o.Model
	}
	if o.Mode != "" {
		q.Mode = o.Mode
	}
	if p.placed.Dir != "" {
		q.Dir, q.Worktree = p.placed.Dir, true
		if base {
			q.Base = p.placed.Base
		}
	}
	q.Taint |= tools.Untrusted | tools.Secret
	q.Engine, q.Host, q.Sandbox, q.BaseURL = "temporal", o.Host, p.placed.Sandbox, p.placed.BaseURL
	return q, nil
}
