package serve

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// runAgent runs a job of an agent to its end.
func (k *call) runAgent(ctx context.Context, a *agents.DynamicAgent) (*sdk.CallToolResult, error) {
	if k.req.Params.RequestState != "" {
		return k.answered(ctx)
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(k.args, &args); err != nil {
		return nil, err
	}
	prompt := ""
	if !declares(a, promptArg) {
		if err := json.Unmarshal(args[promptArg], &prompt); args[promptArg] != nil && err != nil {
			return nil, err
		}
		delete(args, promptArg)
	}
	j, err := k.submit(ctx, a.Name, prompt, args, "")
	if err != nil {
		return nil, err
	}
	return k.run(ctx, j.ID, 0)
}

// submit adds a job for an exposed agent. What it is asked was written by another
// model, which may have read anything.
func (k *call) submit(ctx context.Context, agent, prompt string, inputs map[string]json.RawMessage, key string) (*jobs.Job, error) {
	s := k.s
	r := s.o.Request
	r.Target, r.Prompt, r.Inputs, r.Key, r.Taint = "agent:"+agent, prompt, inputs, key, tools.Untrusted
	sub, err := s.c.Submit(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	s.o.Log("job %s: %s", sub.Job.ID, agent)
	k.replaced = sub.Job.Replaced
	return sub.Job, nil
}

// start has a job run, unless somebody runs it already or it has ended.
func (s *Server) start(ctx context.Context, id string) error {
	_, err := s.c.Start(context.WithoutCancel(ctx), id, adroit.StartOptions{})
	if errors.Is(err, jobs.ErrHeld) || errors.Is(err, jobs.ErrFinal) {
		return nil
	}
	return err
}

// run runs a job until it ends or waits for a person who cannot be asked here. The
// client's cancellation cancels the job; if the client has gone, the job is left to
// whoever runs it.
func (k *call) run(ctx context.Context, id string, after int64) (*sdk.CallToolResult, error) {
	for {
		d, last, err := k.runOnce(ctx, id, after)
		if ctx.Err() != nil {
			return nil, k.s.cancelled(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		after = last
		if d.Job.Status != jobs.Waiting || len(d.Questions) == 0 {
			return k.s.result(ctx, d, k.replaced)
		}
		switch sent, more, err := k.put(ctx, d); {
		case ctx.Err() != nil:
			return nil, k.s.cancelled(ctx, id)
		case err != nil:
			return nil, err
		case more != nil:
			return more, nil
		case !sent:
			return k.s.result(ctx, d, k.replaced)
		}
	}
}

// runOnce runs a job as far as it gets and reports the events after a number.
func (k *call) runOnce(ctx context.Context, id string, after int64) (*adroit.JobDetail, int64, error) {
	if err := k.s.start(ctx, id); err != nil {
		return nil, after, err
	}
	for ev, err := range k.s.c.Events(ctx, id, adroit.EventOptions{After: after, Follow: true}) {
		if err != nil {
			return nil, after, err
		}
		after = ev.Seq
		k.report(ctx, line(ev))
	}
	if _, err := k.s.c.Wait(ctx, id); err != nil {
		return nil, after, err
	}
	d, err := k.s.c.Job(ctx, id)
	return d, after, err
}

// cancelled deals with the job of a call that has ended before it.
func (s *Server) cancelled(ctx context.Context, id string) error {
	if s.abandoned() {
		s.o.Log("job %s: the client has gone; %s goes on with it", id, hint.Command("jobs resume %s", id))
		return ctx.Err()
	}
	s.o.Log("job %s: cancelled by the client", id)
	if _, err := s.c.Cancel(context.WithoutCancel(ctx), id); err != nil && !errors.Is(err, jobs.ErrFinal) {
		s.o.Log("job %s: %v", id, err)
	}
	return ctx.Err()
}

// job finds a job of this server: of an exposed agent, in its directory.
func (s *Server) job(ctx context.Context, id string) (*adroit.JobDetail, error) {
	d, err := s.c.Job(ctx, id)
	if errors.Is(err, jobs.ErrNotExist) || err == nil && !s.ours(d.Job) {
		return nil, noJob(id)
	}
	return d, err
}

func (s *Server) ours(j *jobs.Job) bool {
	return s.agents[j.Agent] != nil && j.Dir == s.o.Request.Dir
}

// lastEvent is the number of a job's last event.
func (s *Server) lastEvent(ctx context.Context, id string) (last int64, err error) {
	for ev, err := range s.c.Events(ctx, id, adroit.EventOptions{}) {
		if err != nil {
			return last, err
		}
		last = ev.Seq
	}
	return last, nil
}

// exposed are the names of the agents.
func (s *Server) exposed() []string {
	var out []string
	for name := range s.agents {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
