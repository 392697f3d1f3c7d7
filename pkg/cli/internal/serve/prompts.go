package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Arguments of prompts.
const (
	jobPrompt = "job_status"
	jobArg    = "job"
	taskArg   = "task"
)

// promptAgent makes an agent a prompt, which many programs show as a command: its
// text has the model call the agent's tool.
func (s *Server) promptAgent(a *agents.DynamicAgent, in *schema.Schema) {
	p := &sdk.Prompt{Name: a.Name, Description: a.Description}
	for _, f := range a.Inputs {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: f.Name, Description: f.Description, Required: !f.Optional && f.Default == nil})
	}
	if !declares(a, promptArg) {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: promptArg, Description: "What to do.", Required: len(a.Inputs) == 0})
	}
	s.sdk.AddPrompt(p, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		args := map[string]json.RawMessage{}
		for name, value := range req.Params.Arguments {
			b, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(a.Inputs, func(f agents.Field) bool { return f.Name == name }); i >= 0 {
				if k := kind(a.Inputs[i].Default); k == "number" || k == "boolean" { // prompts have texts only
					b = []byte(value)
				}
			}
			args[name] = b
		}
		b, err := json.Marshal(args)
		if err != nil {
			return nil, badArguments(fmt.Errorf("a number or true or false is expected: %w", err))
		}
		if faults := in.Validate(b); faults != nil {
			return nil, badArguments(fmt.Errorf("the arguments do not fit: %s", schema.FaultText(faults)))
		}
		return promptResult(a.Description, fmt.Sprintf("Call the tool %s of adroit with these arguments, and report what came of it:\n%s", a.Name, b)), nil
	})
}

// promptJob adds the prompt about a job.
func (s *Server) promptJob() {
	s.sdk.AddPrompt(&sdk.Prompt{Name: jobPrompt, Description: "How a job of adroit stands, and what it needs.", Arguments: []*sdk.PromptArgument{{Name: jobArg, Description: "Its id.", Required: true}}},
		func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			d, err := s.job(ctx, req.Params.Arguments[jobArg])
			if err != nil {
				return nil, badArguments(err)
			}
			return promptResult("", fmt.Sprintf("Call the tool job_result of adroit with the job %s. Report how it stands, what it came to and, if it waits for a person, how it is answered.", d.Job.ID)), nil
		})
}

// exposeSkills makes the skills that were chosen prompts.
func (s *Server) exposeSkills(ctx context.Context) error {
	if err := names(s.o.Skills); err != nil {
		return err
	}
	for _, name := range s.o.Skills {
		d, err := s.c.ShowSkill(ctx, adroit.Named{Scope: s.scope(), Name: name})
		if err != nil {
			return err
		}
		if s.agents[name] != nil || name == jobPrompt {
			return problem.Invalidf("expose one of them", "%s is a skill and another prompt", name)
		}
		s.sdk.AddPrompt(&sdk.Prompt{Name: name, Description: d.Description, Arguments: []*sdk.PromptArgument{{Name: taskArg, Description: "What to do with it."}}},
			func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				text := d.Skill.Body
				if task := strings.TrimSpace(req.Params.Arguments[taskArg]); task != "" {
					text += "\n\n" + task
				}
				return promptResult(d.Description, text), nil
			})
	}
	return nil
}

// promptResult returns a prompt of one message.
func promptResult(about, text string) *sdk.GetPromptResult {
	return &sdk.GetPromptResult{Description: about, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: kit.Sanitize(text)}}}}
}

func badArguments(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: kit.SanitizeLine(err.Error())}
}

// maxCompletions bounds an answer to what could be meant, as the protocol does.
const maxCompletions = 100

// complete lists what an argument could be: jobs, and what a job has produced.
func (s *Server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	var found []string
	var err error
	ref, arg := req.Params.Ref, req.Params.Argument
	switch {
	case ref == nil:
	case ref.Name == jobPrompt && arg.Name == jobArg, ref.URI == jobTemplate && arg.Name == jobArg, ref.URI == productTemplate && arg.Name == jobArg:
		found, err = s.jobIDs(ctx)
	case ref.URI == productTemplate && arg.Name == "name" && req.Params.Context != nil:
		found, err = s.productNames(ctx, req.Params.Context.Arguments[jobArg])
	}
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v string) bool { return !strings.HasPrefix(v, arg.Value) })
	out := sdk.CompletionResultDetails{Values: append([]string{}, found[:min(len(found), maxCompletions)]...), Total: len(found), HasMore: len(found) > maxCompletions}
	return &sdk.CompleteResult{Completion: out}, nil
}

// jobIDs are the jobs of the server, the newest first.
func (s *Server) jobIDs(ctx context.Context) (ids []string, err error) {
	all, err := s.c.Jobs(ctx, adroit.ListOptions{Dir: s.o.Request.Dir})
	slices.SortFunc(all, func(a, b adroit.JobSummary) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID)) })
	for _, j := range all {
		if s.exposes(j.Job) {
			ids = append(ids, j.ID)
		}
	}
	return ids, err
}

// productNames lists the artifacts of a job; none if the server does not expose the job.
func (s *Server) productNames(ctx context.Context, id string) ([]string, error) {
	d, err := s.job(ctx, id)
	if err != nil {
		return nil, nil
	}
	list, err := s.c.Artifacts(ctx, d.Job.ID)
	if err != nil {
		return nil, err
	}
	return append(slices.Sorted(maps.Keys(list.Artifacts)), changes), nil
}
