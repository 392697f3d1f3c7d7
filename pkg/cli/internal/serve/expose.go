package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) scope() adroit.Scope {
	return adroit.Scope{Dir: s.o.Request.Dir, Trust: s.o.Request.Trust}
}

// chooseAgents are the agents that are exposed.
func (s *Server) chooseAgents(ctx context.Context) (chosen []*agents.DynamicAgent, err error) {
	if err := names(s.o.Agents); err != nil {
		return nil, err
	}
	for _, name := range s.o.Agents {
		a, err := s.c.ShowAgent(ctx, adroit.Named{Scope: s.scope(), Name: name})
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, a.DynamicAgent)
	}
	if s.o.Agents == nil {
		all, err := s.c.Agents(ctx, s.scope())
		if err != nil {
			return nil, err
		}
		for _, p := range all.Problems {
			s.o.Log("not exposed: %s", p)
		}
		for _, a := range all.Items {
			if a.Expose {
				chosen = append(chosen, a.DynamicAgent)
			}
		}
	}
	return chosen, nil
}

// exposeAgents adds agents, and what there is for their jobs.
func (s *Server) exposeAgents(chosen []*agents.DynamicAgent) error {
	for _, a := range chosen {
		if err := s.exposeAgent(a); err != nil {
			return err
		}
	}
	if len(s.agents) == 0 {
		return nil
	}
	s.exposeResources()
	s.promptJob()
	return s.addJobTools()
}

// jobToolPrefix begins the names of the tools for jobs.
const jobToolPrefix = "job_"

// exposeAgent makes an agent a tool.
func (s *Server) exposeAgent(a *agents.DynamicAgent) error {
	if strings.HasPrefix(a.Name, jobToolPrefix) {
		return problem.Invalidf("rename the agent", "the agent %s has a name like the tools for jobs", a.Name)
	}
	in, err := inputSchema(a)
	if err != nil {
		return fmt.Errorf("agent %s: its inputs: %w", a.Name, err)
	}
	out, err := outputSchema(a)
	if err != nil {
		return fmt.Errorf("agent %s: its output: %w", a.Name, err)
	}
	s.agents[a.Name] = a
	only := len(a.Tools)+len(a.Auto)+len(a.MCPServers) == 0 && a.Spawn == nil && a.Workflow == ""
	t := &sdk.Tool{Name: a.Name, Description: a.Description, OutputSchema: out, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: only}}
	s.add(t, in, func(ctx context.Context, k *call) (*sdk.CallToolResult, error) { return k.runAgent(ctx, a) })
	s.promptAgent(a, in)
	return nil
}

// promptArg is the argument that has the prompt, unless an input has that name.
const promptArg = "prompt"

// inputSchema is the schema of an agent's arguments: its inputs and the prompt.
func inputSchema(a *agents.DynamicAgent) (*schema.Schema, error) {
	type m = map[string]any
	required := []string{}
	properties := m{}
	if !declares(a, promptArg) {
		properties[promptArg] = m{"type": "string", "description": "What to do."}
		if len(a.Inputs) == 0 {
			required = append(required, promptArg)
			properties[promptArg].(m)["minLength"] = 1
		}
	}
	for _, f := range a.Inputs {
		p := m{"type": kind(f.Default)}
		if f.Description != "" {
			p["description"] = f.Description
		}
		if f.Default != nil {
			p["default"] = f.Default
		}
		properties[f.Name] = p
		if !f.Optional && f.Default == nil {
			required = append(required, f.Name)
		}
	}
	b, err := json.Marshal(m{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		return nil, err
	}
	return schema.Compile(b)
}

func declares(a *agents.DynamicAgent, name string) bool {
	return slices.ContainsFunc(a.Inputs, func(f agents.Field) bool { return f.Name == name })
}

// kind returns the JSON types of an input: the type of its default, else string, array
// and object.
func kind(v json.RawMessage) any {
	var x any
	if v != nil && json.Unmarshal(v, &x) == nil {
		switch x.(type) {
		case bool:
			return "boolean"
		case float64:
			return "number"
		}
	}
	return []string{"string", "array", "object"}
}

// outputSchema returns the schema of the result of an agent's job.
func outputSchema(a *agents.DynamicAgent) (json.RawMessage, error) {
	out, err := schema.Infer[jobView]()
	if err != nil {
		return nil, err
	}
	if a == nil || a.Output == nil {
		return out.JSON(), nil
	}
	answer, err := schema.Compile(a.Output)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(out.JSON(), &doc); err != nil {
		return nil, err
	}
	if p, ok := doc["properties"].(map[string]any); ok {
		p["output"] = answer.JSON()
	}
	return json.Marshal(doc)
}

// exposeTools adds the tools that were chosen. They are called without a job.
func (s *Server) exposeTools(ctx context.Context) error {
	if len(s.o.Tools) == 0 {
		return nil
	}
	if err := names(s.o.Tools); err != nil {
		return err
	}
	all, err := s.c.Tools(ctx)
	if err != nil {
		return err
	}
	var have []string
	for _, t := range all.Items {
		have = append(have, t.Name)
	}
	for _, name := range s.o.Tools {
		i := slices.Index(have, name)
		if i < 0 {
			return problem.Invalidf(hint.Command("tools list")+" lists the tools"+spelling.DidYouMean(name, have), "unknown tool %q", name)
		}
		if s.agents[name] != nil {
			return problem.Invalidf("expose one of them", "%s is an agent and a tool", name)
		}
		if err := s.exposeTool(all.Items[i]); err != nil {
			return fmt.Errorf("tool %s: %w", name, err)
		}
	}
	return nil
}

func (s *Server) exposeTool(t adroit.ToolInfo) error {
	in, err := schema.Compile(t.Input)
	if err != nil {
		return err
	}
	var needs tools.Caps
	if err := needs.UnmarshalText([]byte(t.Needs)); err != nil {
		return err
	}
	s.add(&sdk.Tool{Name: t.Name, Description: t.Description, Annotations: annotations(needs, t.Effect)}, in, func(ctx context.Context, k *call) (*sdk.CallToolResult, error) {
		r, err := s.c.CallTool(ctx, adroit.ToolCall{Name: t.Name, Args: k.args, Dir: s.o.Request.Dir, Sandbox: string(s.o.Request.Sandbox), Mode: s.o.Request.Mode})
		if err != nil {
			return nil, err
		}
		res := text(r.Text)
		res.IsError = r.Failed
		return res, nil
	})
	return nil
}

// annotations show a client what a tool does, from what it needs.
func annotations(needs tools.Caps, effect tools.Effect) *sdk.ToolAnnotations {
	changes, open := needs&(tools.Write|tools.Shell|tools.Exec|tools.Publish) != 0, needs&(tools.Net|tools.Publish|tools.Shell) != 0
	return &sdk.ToolAnnotations{ReadOnlyHint: !changes && effect == tools.Pure, DestructiveHint: &changes, IdempotentHint: effect != tools.Unsafe, OpenWorldHint: &open}
}

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
		fmt.Fprintf(&b, "\n%s:\n%s\n", name, strings.TrimSuffix(jsontext.Text(v.Artifacts[name]), "\n"))
	}
	for _, o := range v.Omitted {
		fmt.Fprintf(&b, "\n%s has %d bytes; job_result shows it\n", o.Name, o.Bytes)
	}
	if q := v.Question; q != nil {
		fmt.Fprintf(&b, "\nIt asks (question %s):\n%s\n%s\n", q.ID, strings.TrimSuffix(q.Text, "\n"), q.How)
	}
	return strings.TrimSuffix(b.String(), "\n")
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
