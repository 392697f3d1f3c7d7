package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Inputs of the tools for jobs.
type (
	startInput struct {
		Agent  string                     `json:"agent" jsonschema:"description=Name of an exposed agent."`
		Prompt string                     `json:"prompt,omitempty" jsonschema:"description=What to do."`
		Inputs map[string]json.RawMessage `json:"inputs,omitempty" jsonschema:"description=The agent's inputs by name."`
		Key    string                     `json:"key,omitempty" jsonschema:"minLength=1,description=The same key gives the same job\\, also when the call is repeated."`
	}
	jobInput struct {
		Job string `json:"job" jsonschema:"description=Its id."`
	}
	listInput struct {
		Status []jobs.Status `json:"status,omitempty" jsonschema:"description=Any of these; none: all."`
		Limit  int           `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=The newest; 20 if left out."`
	}
	followInput struct {
		Job     string `json:"job" jsonschema:"description=Its id."`
		After   int64  `json:"after,omitempty" jsonschema:"minimum=0,description=Number of the last event that is known."`
		Seconds int    `json:"seconds,omitempty" jsonschema:"minimum=0,maximum=600,description=How long to wait until it ends or asks; 0: not at all."`
	}
	resultInput struct {
		Job      string `json:"job" jsonschema:"description=Its id."`
		Artifact string `json:"artifact,omitempty" jsonschema:"description=Only this one\\, whole; changes is what it did to files."`
		Offset   int    `json:"offset,omitempty" jsonschema:"minimum=0,description=Bytes to leave out at its beginning."`
	}
	answerInput struct {
		Job      string `json:"job" jsonschema:"description=Its id."`
		Question string `json:"question" jsonschema:"description=Id of the question."`
		Answer   string `json:"answer" jsonschema:"description=One of the answers that the question names."`
		Text     string `json:"text,omitempty" jsonschema:"description=What goes with it: why\\, or a text."`
	}
)

// Results of the tools for jobs.
type (
	jobLine struct {
		Job     string      `json:"job"`
		Agent   string      `json:"agent"`
		Status  jobs.Status `json:"status"`
		Title   string      `json:"title,omitempty"`
		Created time.Time   `json:"created"`
	}
	listOutput struct {
		Jobs []jobLine `json:"jobs"`
	}
	eventLine struct {
		Number int64  `json:"number"`
		Text   string `json:"text"`
	}
	followOutput struct {
		Result jobView     `json:"result"`
		Events []eventLine `json:"events"`
		After  int64       `json:"after" jsonschema:"description=For the next call."`
		More   bool        `json:"more,omitempty" jsonschema:"description=There are more already."`
	}
	partOutput struct {
		Text  string `json:"text"`
		Bytes int    `json:"bytes" jsonschema:"description=Of all of it."`
		Next  int    `json:"next,omitempty" jsonschema:"description=The offset that goes on; 0: that was the end."`
	}
	resultOutput struct { // a job, or a part of what it has produced
		Job  *jobView    `json:"result,omitempty"`
		Part *partOutput `json:"part,omitempty"`
	}
)

// Bounds of what one call of a tool for jobs returns.
const (
	defaultJobs = 20
	maxEvents   = 200
	maxPart     = 64 << 10
)

// addJobTools adds the tools for jobs.
func (s *Server) addJobTools() error {
	yes, no := true, false
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	return errors.Join(
		addTool(s, "job_start", "Start a job of an agent and return at once. It runs on by itself; job_follow waits for it. Agents: "+strings.Join(s.exposed(), ", ")+".", &jobView{}, nil, (*call).jobStart),
		addTool(s, "job_list", "List the jobs of these agents in this directory, the newest first.", &listOutput{}, reads, (*call).jobList),
		addTool(s, "job_follow", "What a job has done since an event, and how it stands; waits for it if asked to.", &followOutput{}, reads, (*call).jobFollow),
		addTool(s, "job_result", "What a job has come to, or one of its artifacts whole.", &resultOutput{}, reads, (*call).jobResult),
		addTool(s, "job_answer", "Answer what a job asks; it goes on by itself then.", &jobView{}, &sdk.ToolAnnotations{DestructiveHint: &yes}, (*call).jobAnswer),
		addTool(s, "job_resume", "Go on with a job that was interrupted, failed, or has its answer, and wait for its end.", &jobView{}, nil, (*call).jobResume),
		addTool(s, "job_cancel", "End a job for good.", &jobView{}, &sdk.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true}, (*call).jobCancel),
	)
}

// addTool adds a tool with a typed input and an output of the type of out.
func addTool[In, Out any](s *Server, name, about string, _ *Out, hints *sdk.ToolAnnotations, run func(*call, context.Context, In) (*sdk.CallToolResult, error)) error {
	in, err := schema.Infer[In]()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t := &sdk.Tool{Name: name, Description: about, Annotations: hints}
	out, err := schema.Infer[Out]()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.OutputSchema = out.JSON()
	s.add(t, in, func(ctx context.Context, k *call) (*sdk.CallToolResult, error) {
		var v In
		if err := schema.Decode(k.args, &v); err != nil {
			return nil, err
		}
		return run(k, ctx, v)
	})
	return nil
}

func (k *call) jobStart(ctx context.Context, in startInput) (*sdk.CallToolResult, error) {
	if k.s.agents[in.Agent] == nil {
		return nil, problem.Invalidf("it is one of "+strings.Join(k.s.exposed(), ", "), "there is no agent %q here", in.Agent)
	}
	j, err := k.submit(ctx, in.Agent, in.Prompt, in.Inputs, in.Key)
	if err != nil {
		return nil, err
	}
	if j.Status == jobs.Queued {
		if err := k.s.start(ctx, j.ID); err != nil {
			return nil, err
		}
	}
	return k.state(ctx, j.ID)
}

// state renders a job. The result is no error even if the job has failed.
func (k *call) state(ctx context.Context, id string) (*sdk.CallToolResult, error) {
	d, err := k.s.job(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := k.s.result(ctx, d, k.replaced)
	if err == nil {
		r.IsError = false
	}
	return r, err
}

func (k *call) jobList(ctx context.Context, in listInput) (*sdk.CallToolResult, error) {
	all, err := k.s.c.Jobs(ctx, adroit.ListOptions{Dir: k.s.o.Request.Dir, Status: in.Status})
	if err != nil {
		return nil, err
	}
	out, words := listOutput{Jobs: []jobLine{}}, []string{}
	limit := in.Limit
	limit = cmp.Or(limit, defaultJobs)
	for _, j := range all {
		if len(out.Jobs) == limit {
			break
		}
		if k.s.exposes(j.Job) {
			out.Jobs = append(out.Jobs, jobLine{j.ID, j.Agent, j.Status, j.Title, j.Created})
			words = append(words, fmt.Sprintf("%s %s %s %s", j.ID, j.Status, j.Agent, kit.SanitizeLine(j.Title)))
		}
	}
	if len(words) == 0 {
		words = append(words, "There are no such jobs.")
	}
	return withValue(strings.Join(words, "\n"), out), nil
}

func (k *call) jobFollow(ctx context.Context, in followInput) (*sdk.CallToolResult, error) {
	d, err := k.s.job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	out := followOutput{Events: []eventLine{}, After: in.After}
	until, stop := context.WithTimeout(ctx, time.Duration(in.Seconds)*time.Second)
	defer stop()
	reading := ctx
	if in.Seconds > 0 {
		reading = until
	}
	for ev, err := range k.s.c.Events(reading, d.Job.ID, adroit.EventOptions{After: in.After, Follow: in.Seconds > 0}) {
		if err != nil {
			if ctx.Err() == nil && until.Err() != nil {
				break // the time is over
			}
			return nil, err
		}
		if len(out.Events) == maxEvents {
			out.More = true
			break
		}
		out.After = ev.Seq
		if words := line(ev); words != "" {
			out.Events = append(out.Events, eventLine{ev.Seq, words})
			k.report(ctx, words)
		}
	}
	if d, err = k.s.job(ctx, in.Job); err != nil {
		return nil, err
	}
	v, err := k.s.view(ctx, d)
	if err != nil {
		return nil, err
	}
	out.Result = *v
	var words strings.Builder
	for _, e := range out.Events {
		fmt.Fprintf(&words, "%d %s\n", e.Number, e.Text)
	}
	return withValue(words.String()+v.text(), out), nil
}

func (k *call) jobResult(ctx context.Context, in resultInput) (*sdk.CallToolResult, error) {
	d, err := k.s.job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	if in.Artifact == "" {
		v, err := k.s.view(ctx, d)
		if err != nil {
			return nil, err
		}
		return withValue(v.text(), resultOutput{Job: v}), nil
	}
	whole, err := k.s.artifact(ctx, d.Job.ID, in.Artifact)
	if err != nil {
		return nil, err
	}
	if in.Offset > len(whole) {
		return nil, problem.Invalidf("begin at 0", "%s has %d bytes", in.Artifact, len(whole))
	}
	part, next := whole[in.Offset:], 0
	if len(part) > maxPart {
		end := maxPart
		for end > 0 && !utf8.RuneStart(part[end]) {
			end--
		}
		part, next = part[:end], in.Offset+end
	}
	part = strings.ToValidUTF8(part, "\uFFFD")
	return withValue(part, resultOutput{Part: &partOutput{part, len(whole), next}}), nil
}

// artifact returns a job's artifact, as text.
func (s *Server) artifact(ctx context.Context, id, name string) (string, error) {
	list, err := s.c.Artifacts(ctx, id)
	if err != nil {
		return "", err
	}
	if a, ok := list.Artifacts[name]; ok {
		return jsontext.Text(a.Value), nil
	}
	if name != changes {
		return "", problem.Invalidf("job_result without artifact lists them; changes is what it did to files", "the job has no artifact %q", name)
	}
	diff, err := s.c.Diff(ctx, id, adroit.Selection{Uncertain: true})
	if err != nil {
		return "", err
	}
	return diff.Diff, nil
}

func (k *call) jobAnswer(ctx context.Context, in answerInput) (*sdk.CallToolResult, error) {
	d, err := k.s.job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	q := pending(d, in.Question)
	switch {
	case q == nil:
		return nil, &problem.Error{Kind: problem.Answered, Message: fmt.Sprintf("%s does not ask the question %q, or has its answer already", d.Job.ID, in.Question), Hint: "job_result shows what it asks now"}
	case isApproval(q) && in.Answer != deny && !k.s.o.ModelApproves:
		return nil, problem.Invalidf(k.s.question(d).How, "whether a call may run is for a person to say")
	}
	if err := k.s.signal(ctx, d.Job.ID, q, in.Answer, in.Text); err != nil {
		return nil, err
	}
	if err := k.s.start(ctx, d.Job.ID); err != nil {
		return nil, err
	}
	return k.state(ctx, d.Job.ID)
}

func (k *call) jobResume(ctx context.Context, in jobInput) (*sdk.CallToolResult, error) {
	if k.req.Params.RequestState != "" {
		return k.answered(ctx)
	}
	d, err := k.s.job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	id := d.Job.ID
	if _, err := k.s.c.Start(ctx, id, adroit.StartOptions{DryRun: true}); err != nil && !errors.Is(err, jobs.ErrHeld) {
		return nil, err
	}
	last, err := k.s.lastEvent(ctx, id)
	if err != nil {
		return nil, err
	}
	return k.run(ctx, id, last)
}

func (k *call) jobCancel(ctx context.Context, in jobInput) (*sdk.CallToolResult, error) {
	d, err := k.s.job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	if _, err := k.s.c.Cancel(ctx, d.Job.ID); err != nil {
		return nil, err
	}
	return k.state(ctx, d.Job.ID)
}

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
// client's cancellation cancels the job; if the client has gone, the job's runner keeps
// it.
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
		s.o.Log("job %s: the client has gone; %s goes on with it", id, hint.Command("continue %s", id))
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
	if errors.Is(err, jobs.ErrNotExist) || err == nil && !s.exposes(d.Job) {
		return nil, noJob(id)
	}
	return d, err
}

func (s *Server) exposes(j *jobs.Job) bool {
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
