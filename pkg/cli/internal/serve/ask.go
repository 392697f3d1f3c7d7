package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Answers to the question whether a call may run.
const (
	approve = "approve"
	deny    = "deny"
	always  = "always"
)

// maxQuestion bounds a question that is put to a person through a client, in bytes.
// Nobody can approve a call of which they see a part.
const maxQuestion = 16 << 10

// newRevision has no requests of the server's own: a question is a result, and the
// call is repeated with the answer.
const newRevision = "2026-07-28"

// A pendingAnswer is the state that a client sends back with an answer.
type pendingAnswer struct {
	Job      string `json:"job"`
	Question string `json:"question"`
}

// shortNames are the signals that a question takes, as people type them.
func shortNames(q *jobs.Question) []string {
	var out []string
	for _, s := range q.Signals {
		out = append(out, show.SignalName(s))
	}
	return out
}

// isApproval reports whether a question is about a call that may run or not.
func isApproval(q *jobs.Question) bool {
	return slices.Equal(slices.Sorted(slices.Values(shortNames(q))), []string{approve, deny})
}

// question returns the first open question of a job, nil if there is none.
func (s *Server) question(d *adroit.JobDetail) *questionView {
	if d.Job.Status != jobs.Waiting || len(d.Questions) == 0 {
		return nil
	}
	q := &d.Questions[0]
	words, _ := show.Question(q, maxArtifact, 0)
	v := &questionView{ID: questionID(q), Text: words + show.RuleLine(q), Answers: shortNames(q)}
	if isApproval(q) && !s.o.ModelApproves {
		v.How = fmt.Sprintf("A person decides, in a terminal: %s, or %s. job_follow shows how it goes on. job_answer can only deny.", hint.Command("answer approve %s", d.Job.ID), hint.Command("answer deny %s WHY", d.Job.ID))
	} else {
		v.How = "job_answer answers it."
	}
	return v
}

// put puts what a job asks to the person behind the client. It reports whether an
// answer was sent; more is a result that asks the client to come again with one.
func (k *call) put(ctx context.Context, d *adroit.JobDetail) (sent bool, more *sdk.CallToolResult, err error) {
	q := &d.Questions[0]
	form := formOf(d.Job, q)
	p := k.req.Session.InitializeParams()
	if form == nil || p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil || p.Capabilities.Elicitation.Form == nil && p.Capabilities.Elicitation.URL != nil {
		return false, nil, nil
	}
	if p.ProtocolVersion >= newRevision {
		state, err := json.Marshal(pendingAnswer{d.Job.ID, questionID(q)})
		return false, &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"answer": form}, RequestState: string(state)}, err
	}
	r, err := k.req.Session.Elicit(ctx, form)
	if err != nil {
		k.s.o.Log("job %s: asking through the client: %v", d.Job.ID, err)
		return false, nil, nil
	}
	sent, err = k.s.send(ctx, d.Job.ID, q, r)
	return sent, nil, err
}

// answered continues a job whose question the client has put to a person.
func (k *call) answered(ctx context.Context) (*sdk.CallToolResult, error) {
	var at pendingAnswer
	if err := json.Unmarshal([]byte(k.req.Params.RequestState), &at); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state of the request is not what was sent"}
	}
	d, err := k.s.job(ctx, at.Job) // a state may name what the client can reach, no more
	if err != nil {
		return nil, err
	}
	last, err := k.s.lastEvent(ctx, d.Job.ID)
	if err != nil {
		return nil, err
	}
	r, _ := k.req.Params.InputResponses["answer"].(*sdk.ElicitResult)
	if q := pending(d, at.Question); q != nil && r != nil {
		sent, err := k.s.send(ctx, d.Job.ID, q, r)
		if err != nil {
			return nil, err
		}
		if !sent {
			return k.s.result(ctx, d, k.replaced)
		}
	}
	return k.run(ctx, d.Job.ID, last) // or somebody else was faster
}

// questionID is the id of a question as clients get it, of what it asks too: at one place, a job may
// ask about something else later.
func questionID(q *jobs.Question) string { return q.Path + "@" + flow.Digest(q.About)[:16] }

// pending is the question of a job with an id, nil if it has an answer.
func pending(d *adroit.JobDetail, id string) *jobs.Question {
	for i := range d.Questions {
		if questionID(&d.Questions[i]) == id {
			return &d.Questions[i]
		}
	}
	return nil
}

// formOf is a question as a form, nil for one that is too long.
func formOf(j *jobs.Job, q *jobs.Question) *sdk.ElicitParams {
	type m = map[string]any
	words, whole := show.Question(q, -1, 0)
	if !whole || len(words) > maxQuestion {
		return nil
	}
	words = fmt.Sprintf("%s, job %s of adroit, asks.\n%s", kit.SanitizeLine(j.Agent), j.ID, words)
	properties := m{}
	if isApproval(q) {
		choices := []string{"yes", "no"}
		if t := show.ToolQuestion(q); t != nil && t.Always != nil {
			choices = []string{"yes", always, "no"}
			words += fmt.Sprintf("     always means, in this job only: %s\n", kit.SanitizeLine(t.Always.String()))
		}
		properties["decision"] = m{"type": "string", "enum": choices, "title": "May it run?"}
		properties["reason"] = m{"type": "string", "title": "Why not?", "description": "The agent reads it."}
		return &sdk.ElicitParams{Message: words, RequestedSchema: m{"type": "object", "properties": properties, "required": []string{"decision"}}}
	}
	properties["decision"] = m{"type": "string", "enum": shortNames(q), "title": "Answer"}
	properties["text"] = m{"type": "string", "title": "Text", "description": "May be left out."}
	return &sdk.ElicitParams{Message: words, RequestedSchema: m{"type": "object", "properties": properties, "required": []string{"decision"}}}
}

// send sends a person's answer. It reports false if there is none: a form that is
// declined or dismissed says nothing about the question, and programs without a
// person decline all of them.
func (s *Server) send(ctx context.Context, id string, q *jobs.Question, r *sdk.ElicitResult) (bool, error) {
	word, _ := r.Content["decision"].(string)
	reason, _ := r.Content["reason"].(string)
	words, _ := r.Content["text"].(string)
	if r.Action != "accept" || word == "" {
		return false, nil
	}
	switch {
	case isApproval(q) && word == "no":
		word, words = deny, reason
	case isApproval(q) && word == "yes":
		word, words = approve, ""
	}
	err := s.signal(ctx, id, q, word, words)
	if e := problem.AsError(err); e != nil && e.Kind == problem.Answered {
		s.o.Log("job %s: somebody else has answered: %v", id, err) // that answer holds
		return true, nil
	}
	return err == nil, err
}

// signal sends an answer to one question, whatever else a job asks by then.
func (s *Server) signal(ctx context.Context, id string, q *jobs.Question, word, words string) error {
	sig := adroit.Signal{Question: q.Path, About: q.About}
	name := word
	if word == always && isApproval(q) {
		name, sig.Value = approve, json.RawMessage(`{"always":true}`)
	}
	for _, full := range q.Signals {
		if show.SignalName(full) == name {
			sig.Name = full
		}
	}
	if sig.Name == "" {
		return problem.Invalidf("it takes "+strings.Join(shortNames(q), ", "), "the question does not take %q", word)
	}
	if words != "" {
		b, err := json.Marshal(words)
		if err != nil {
			return err
		}
		sig.Value = b
		if q.Type != "" && q.Type != "string" && json.Valid([]byte(words)) {
			sig.Value = json.RawMessage(words)
		}
	}
	if _, err := s.c.Signal(context.WithoutCancel(ctx), id, sig); err != nil {
		return err
	}
	s.o.Log("job %s: answered %s", id, word)
	return nil
}
