package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A jobView is the state of a job as clients get it.
type jobView struct {
	Job       string                     `json:"job" jsonschema:"description=Its id."`
	Agent     string                     `json:"agent"`
	Status    jobs.Status                `json:"status" jsonschema:"description=queued\\, running\\, waiting (for a person)\\, interrupted\\, blocked\\, done\\, limit\\, stuck\\, failed or cancelled."`
	Reason    string                     `json:"reason,omitempty"`
	Summary   string                     `json:"summary,omitempty" jsonschema:"description=The agent's last words."`
	Output    json.RawMessage            `json:"output,omitempty" jsonschema:"description=The answer of an agent that declares its form."`
	Unmet     []string                   `json:"unmet,omitempty" jsonschema:"description=What its definition of done lacks."`
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty" jsonschema:"description=What it produced\\, by name: findings\\, a diff and the like."`
	Omitted   []omitted                  `json:"omitted,omitempty" jsonschema:"description=Artifacts that are too long for this; job_result has them."`
	Changed   bool                       `json:"changed,omitempty" jsonschema:"description=It changed files; job_result with the artifact changes shows how."`
	Question  *questionView              `json:"question,omitempty"`
	Usage     *usageView                 `json:"usage,omitempty"`
	Replaced  []secret.Replaced          `json:"replaced,omitempty" jsonschema:"description=Secrets in what was asked that the job keeps nothing of."`
}

type omitted struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// A questionView is a job's question as clients get it.
type questionView struct {
	ID      string   `json:"id" jsonschema:"description=job_answer takes it."`
	Text    string   `json:"text"`
	Answers []string `json:"answers"`
	How     string   `json:"how" jsonschema:"description=How it is answered."`
}

type usageView struct {
	Turns   int     `json:"turns"`
	Calls   int     `json:"calls"`
	Tokens  int     `json:"tokens"`
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Bounds of what a result holds of artifacts.
const (
	maxArtifact  = 32 << 10
	maxArtifacts = 96 << 10
)

// view renders the state of a job, with its artifacts if it has stopped.
func (s *Server) view(ctx context.Context, d *adroit.JobDetail) (*jobView, error) {
	j := d.Job
	v := &jobView{Job: j.ID, Agent: j.Agent, Status: j.Status, Reason: j.Reason, Changed: d.Changes.Changed, Question: s.question(d)}
	if t := d.Usage.Total; t.Turns+t.Calls > 0 {
		v.Usage = &usageView{t.Turns, t.Calls, t.Usage.In + t.Usage.Out, t.Cost}
	}
	if d.Final == nil || !j.Status.Final() {
		return v, nil
	}
	v.Summary, v.Unmet = d.Final.Summary, d.Final.Unmet
	if a := s.agents[j.Agent]; a != nil && a.Output != nil && j.Status.Succeeded() {
		v.Output = answer(j)
	}
	list, err := s.c.Artifacts(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(list.Artifacts)) {
		value := list.Artifacts[name].Value
		if len(value) > maxArtifact || total+len(value) > maxArtifacts {
			v.Omitted = append(v.Omitted, omitted{name, len(value)})
			continue
		}
		if v.Artifacts == nil {
			v.Artifacts = map[string]json.RawMessage{}
		}
		v.Artifacts[name] = value
		total += len(value)
	}
	return v, nil
}

// answer is the last answer of an agent that declares its form, nil if it is no JSON.
func answer(j *jobs.Job) json.RawMessage {
	var state executor.State
	if json.Unmarshal(j.Output, &state) != nil || !json.Valid([]byte(state.Last)) {
		return nil
	}
	return json.RawMessage(state.Last)
}

// result is a job as the result of a call, in whose request these secrets were replaced.
func (s *Server) result(ctx context.Context, d *adroit.JobDetail, replaced []secret.Replaced) (*sdk.CallToolResult, error) {
	v, err := s.view(ctx, d)
	if err != nil {
		return nil, err
	}
	v.Replaced = replaced
	r := withValue(v.text(), v)
	switch s := v.Status; {
	case s.Halted() || s == jobs.Failed || s == jobs.Cancelled || s == jobs.Blocked || s == jobs.Interrupted:
		r.IsError = true
	}
	return r, nil
}

// text is a view for clients that have no use for values.
func (v *jobView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s of %s: %s\n", v.Job, v.Agent, v.Status.Words())
	if v.Reason != "" && v.Status != jobs.Done {
		fmt.Fprintf(&b, "because: %s\n", v.Reason)
	}
	for _, r := range v.Replaced {
		fmt.Fprintf(&b, "note: %s\n", secret.ReplacedWords(r))
	}
	for _, u := range v.Unmet {
		fmt.Fprintf(&b, "not met: %s\n", u)
	}
	if v.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", v.Summary)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Artifacts)) {
		fmt.Fprintf(&b, "\n%s:\n%s\n", name, strings.TrimSuffix(plain(v.Artifacts[name]), "\n"))
	}
	for _, o := range v.Omitted {
		fmt.Fprintf(&b, "\n%s has %d bytes; job_result shows it\n", o.Name, o.Bytes)
	}
	if q := v.Question; q != nil {
		fmt.Fprintf(&b, "\nIt asks (question %s):\n%s\n%s\n", q.ID, strings.TrimSuffix(q.Text, "\n"), q.How)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain is a value as text.
func plain(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// maxLine bounds the line that reports an event, in characters.
const maxLine = 240

// line renders an event in a line, "" for one that is not worth reporting.
func line(ev event.Event) string {
	words := ""
	switch ev.Kind {
	case event.StepStarted:
		if ev.Step == turn.ToolStep || ev.Step == turn.ModelStep {
			words = ev.Step + " " + ev.Name
		}
	case event.StepFinished:
		if ev.Step == flow.KindAwait {
			break
		}
		if words = ev.Text; ev.Error != "" {
			words = "failed: " + ev.Error
		}
		if ev.Name != "" && words != "" {
			words = ev.Name + ": " + words
		}
	case event.StepRetried:
		words = ev.Name + " is tried again: " + ev.Error
	case event.Note, event.AgentStarted, event.AgentFinished, event.Activity:
		words = strings.TrimSpace(ev.Name + " " + ev.Text)
	case event.JobQueued, event.JobStarted, event.JobWaiting, event.JobFinished:
		words = strings.TrimPrefix(string(ev.Kind), "job.")
	}
	return kit.Cut(kit.SanitizeLine(words), maxLine)
}
