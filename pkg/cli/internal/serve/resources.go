package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
)

// Addresses of resources.
const (
	jobURIs         = "adroit://jobs/"
	jobTemplate     = jobURIs + "{job}"
	productTemplate = jobURIs + "{job}/artifacts/{name}"
	changes         = "changes" // what a job did to files, as an artifact
)

// Bounds of resources.
const (
	jobsPerPage = 20
	maxResource = 1 << 20
)

// exposeResources makes the jobs and what they have produced resources.
func (s *Server) exposeResources() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: "job", Title: "A job", URITemplate: jobTemplate, MIMEType: "application/json",
		Description: "How a job of an exposed agent stands, and what it came to."}, s.readJob)
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: "artifact", Title: "What a job has produced", URITemplate: productTemplate,
		Description: "An artifact of a job: findings, a diff and the like; " + changes + " is what it did to files."}, s.readArtifact)
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if r, ok := req.(*sdk.ListResourcesRequest); ok && method == "resources/list" {
				return s.listResources(ctx, r, next)
			}
			return next(ctx, method, req)
		}
	})
}

// cursorPrefix begins the cursors of pages of jobs.
const cursorPrefix = "job:"

// listResources is a page of what jobs have produced, the newest job first.
func (s *Server) listResources(ctx context.Context, req *sdk.ListResourcesRequest, next sdk.MethodHandler) (sdk.Result, error) {
	p := sdk.ListResourcesParams{}
	if req.Params != nil {
		p = *req.Params
	}
	after, ours := strings.CutPrefix(p.Cursor, cursorPrefix)
	if ours {
		p.Cursor = ""
	}
	own := *req
	own.Params = &p
	res, err := next(ctx, "resources/list", &own) // those that do not change; it refuses other cursors
	if err != nil {
		return nil, err
	}
	out, ok := res.(*sdk.ListResourcesResult)
	if !ok || out.NextCursor != "" {
		return res, nil
	}
	if ours {
		out.Resources = []*sdk.Resource{}
	}
	return out, s.addProducts(ctx, out, after)
}

// addProducts adds what a page of jobs has produced, those older than the job of a
// cursor.
func (s *Server) addProducts(ctx context.Context, out *sdk.ListResourcesResult, after string) error {
	older := func(adroit.JobSummary) bool { return true }
	if after != "" {
		at, id, ok := strings.Cut(after, "-")
		ns, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is none of this list"}
		}
		older = func(j adroit.JobSummary) bool {
			return cmp.Or(cmp.Compare(j.Created.UnixNano(), ns), cmp.Compare(j.ID, id)) < 0
		}
	}
	all, err := s.c.Jobs(ctx, adroit.ListOptions{Dir: s.o.Request.Dir})
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(j adroit.JobSummary) bool { return !s.exposes(j.Job) || !older(j) })
	slices.SortFunc(all, func(a, b adroit.JobSummary) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID)) })
	for i, j := range all {
		if i == jobsPerPage {
			last := all[i-1]
			out.NextCursor = fmt.Sprintf("%s%d-%s", cursorPrefix, last.Created.UnixNano(), last.ID)
			break
		}
		list, err := s.c.Artifacts(ctx, j.ID)
		if err != nil {
			return err
		}
		about := kit.SanitizeLine(fmt.Sprintf("%s: %s", j.Agent, cmp.Or(j.Title, string(j.Status))))
		out.Resources = append(out.Resources, &sdk.Resource{URI: jobURIs + j.ID, Name: j.ID, Title: "job " + j.ID, Description: about, MIMEType: "application/json"})
		for _, name := range slices.Sorted(maps.Keys(list.Artifacts)) {
			value := list.Artifacts[name].Value
			out.Resources = append(out.Resources, &sdk.Resource{URI: jobURIs + j.ID + "/artifacts/" + url.PathEscape(name), Name: name, Title: name + " of " + j.ID, Description: about,
				MIMEType: mime(name, value), Size: int64(len(jsontext.Text(value)))})
		}
	}
	return nil
}

// mime returns the MIME type of an artifact.
func mime(name string, value json.RawMessage) string {
	switch {
	case !strings.HasPrefix(strings.TrimSpace(string(value)), `"`):
		return "application/json"
	case name == "diff":
		return "text/x-diff"
	}
	return "text/plain"
}

// readJob reads a job as a resource.
func (s *Server) readJob(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	d, err := s.resourceJob(ctx, req.Params.URI, strings.TrimPrefix(req.Params.URI, jobURIs))
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, d)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return contents(req.Params.URI, "application/json", string(b)), nil
}

// readArtifact reads an artifact whole, if it is not too long.
func (s *Server) readArtifact(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	id, escaped, _ := strings.Cut(strings.TrimPrefix(uri, jobURIs), "/artifacts/")
	d, err := s.resourceJob(ctx, uri, id)
	if err != nil {
		return nil, err
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	list, err := s.c.Artifacts(ctx, d.Job.ID)
	if err != nil {
		return nil, err
	}
	text, kind := "", "text/x-diff"
	if a, ok := list.Artifacts[name]; ok {
		text, kind = jsontext.Text(a.Value), mime(name, a.Value)
	} else if name != changes {
		return nil, sdk.ResourceNotFoundError(uri)
	} else if text, err = s.artifact(ctx, d.Job.ID, name); err != nil {
		return nil, err
	}
	if len(text) > maxResource {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s has %d bytes, and a resource at most %d; the tool job_result reads it in parts", name, len(text), maxResource)}
	}
	return contents(uri, kind, text), nil
}

// resourceJob is the job that an address names: another client's does not exist.
func (s *Server) resourceJob(ctx context.Context, uri, id string) (*adroit.JobDetail, error) {
	d, err := s.job(ctx, id)
	if err != nil || d.Job.ID != id { // an address is whole
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return d, nil
}

func contents(uri, kind, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: kit.Sanitize(strings.ToValidUTF8(text, "\uFFFD"))}}}
}

// subscribe notifies clients that subscribe to a job of its states while it runs.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	id, ok := strings.CutPrefix(uri, jobURIs)
	if !ok {
		return sdk.ResourceNotFoundError(uri)
	}
	if _, err := s.resourceJob(ctx, uri, id); err != nil {
		return err
	}
	last, err := s.lastEvent(ctx, id)
	if err != nil {
		return err
	}
	if _, watched := s.watched.LoadOrStore(id, true); !watched {
		go s.watch(id, last)
	}
	return nil
}

// unsubscribe leaves it to the library who is notified: watching ends with the run.
func (s *Server) unsubscribe(context.Context, *sdk.UnsubscribeRequest) error { return nil }

// watch notifies of what happens to a job after an event, until it no longer runs or
// the server stops.
func (s *Server) watch(id string, after int64) {
	defer s.watched.Delete(id)
	for ev, err := range s.c.Events(s.life, id, adroit.EventOptions{After: after, Follow: true}) {
		if err != nil {
			return // whoever asks for the job learns why
		}
		switch ev.Kind {
		case event.JobQueued, event.JobStarted, event.JobWaiting, event.JobFinished:
			_ = s.sdk.ResourceUpdated(s.life, &sdk.ResourceUpdatedNotificationParams{URI: jobURIs + id}) // who has gone needs none
		}
	}
}

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
			return nil, badArguments(fmt.Errorf("the arguments do not fit: %s", schema.FaultList(faults)))
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
