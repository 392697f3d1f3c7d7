package api

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A route is one method of an [adroit.Client] over HTTP: a POST to /v1/ and its
// name with In as JSON, answered with Out. It is both ends: serve and do.
type route[In, Out any] struct {
	name string
	doc  string
	call func(ctx context.Context, c adroit.Client, in In) (Out, error)
}

// An endpoint is a route whatever its types.
type endpoint interface {
	path() string
	describe() description
	serve(c adroit.Client) http.HandlerFunc
	line() string // of the reference
}

// of is a job and how it is called.
type of[T any] struct {
	Job     string `json:"job"`
	Options T      `json:"options,omitzero"`
}

func (o of[T]) job() string { return o.Job }

type none struct{}

// Arguments and results of methods that are no values of their own in Go.
type (
	stopping struct {
		Reason string `json:"reason,omitempty"`
	}
	merging struct {
		Message string `json:"message,omitempty"`
	}
	linting struct {
		adroit.Scope
		Kind  string            `json:"kind"`
		Files []adroit.LintFile `json:"files,omitempty"`
		Names []string          `json:"names,omitempty"`
	}
	promptText struct {
		Text string `json:"text"`
	}
	// A factFile is facts to import, imported what became of them.
	factFile struct {
		Dir   string        `json:"dir"`
		Facts []memory.Fact `json:"facts"`
	}
	imported struct {
		Added   int      `json:"added"`
		Refused []string `json:"refused,omitempty"`
	}
)

// lint checks a request's subject.
func lint(ctx context.Context, c adroit.Client, in linting) (*adroit.LintReport, error) {
	r := adroit.LintRequest{Scope: in.Scope, Files: in.Files, Names: in.Names}
	switch in.Kind {
	case "agents":
		return c.LintAgents(ctx, r)
	case "pipelines":
		return c.LintPipelines(ctx, r)
	}
	return nil, problem.Invalidf("it is agents or pipelines", "nothing checks %q", in.Kind)
}

// A streamRoute is a method that answers with server-sent events.
type streamRoute[In, Out any] struct {
	name string
	doc  string
	call func(ctx context.Context, c adroit.Client, in In) iter.Seq2[Out, error]
}

// The table of routes. Handler, Client and Reference are made from it.
var (
	jobsList = route[adroit.ListOptions, []adroit.JobSummary]{"jobs/list", "List jobs, the newest first.",
		func(ctx context.Context, c adroit.Client, o adroit.ListOptions) ([]adroit.JobSummary, error) {
			return c.Jobs(ctx, o)
		}}
	jobsShow = route[of[none], *adroit.JobDetail]{"jobs/show", "Show a job, its questions and what can be done with it.",
		func(ctx context.Context, c adroit.Client, in of[none]) (*adroit.JobDetail, error) {
			return c.Job(ctx, in.Job)
		}}
	jobsWait = route[of[none], *jobs.Job]{"jobs/wait", "Wait until a job neither runs nor is queued.",
		func(ctx context.Context, c adroit.Client, in of[none]) (*jobs.Job, error) { return c.Wait(ctx, in.Job) }}
	jobsArtifacts = route[of[none], *adroit.ArtifactList]{"jobs/artifacts", "Return what a job has produced.",
		func(ctx context.Context, c adroit.Client, in of[none]) (*adroit.ArtifactList, error) {
			return c.Artifacts(ctx, in.Job)
		}}
	jobsTranscript = route[of[none], *adroit.Transcript]{"jobs/transcript", "Return all that a job's models were sent and answered.",
		func(ctx context.Context, c adroit.Client, in of[none]) (*adroit.Transcript, error) {
			return c.Transcript(ctx, in.Job)
		}}
	failuresList = route[adroit.FailureQuery, []adroit.Failure]{"failures/list", "List what coordinators remember, the newest first.",
		func(ctx context.Context, c adroit.Client, q adroit.FailureQuery) ([]adroit.Failure, error) {
			return c.Failures(ctx, q)
		}}
	failuresForget = route[adroit.FailureQuery, int]{"failures/forget", "Forget what coordinators remember; return how much it was.",
		func(ctx context.Context, c adroit.Client, q adroit.FailureQuery) (int, error) {
			return c.ForgetFailures(ctx, q)
		}}
	failuresStats = route[adroit.StatsQuery, *adroit.CoordinatorStats]{"failures/stats", "Count what coordinators did in jobs that have ended.",
		func(ctx context.Context, c adroit.Client, q adroit.StatsQuery) (*adroit.CoordinatorStats, error) {
			return c.FailureStats(ctx, q)
		}}
	jobsFile = route[of[adroit.ArtifactFile], *adroit.FilePiece]{"jobs/file", "Read a piece of a file that an artifact of a job names; GET sends all of it.",
		func(ctx context.Context, c adroit.Client, in of[adroit.ArtifactFile]) (*adroit.FilePiece, error) {
			return c.ArtifactFile(ctx, in.Job, in.Options)
		}}
	access = route[none, standing]{"access", "Report what whoever asks may do: the name, scopes and roots of the token. Who may do all gets the project in which the server was started.",
		func(ctx context.Context, _ adroit.Client, _ none) (standing, error) {
			return standingOf(ctx), nil
		}}
	jobsResolve = route[adroit.Request, *adroit.Plan]{"jobs/resolve", "Return what submit would pin.",
		func(ctx context.Context, c adroit.Client, r adroit.Request) (*adroit.Plan, error) {
			return c.Resolve(ctx, r)
		}}
	jobsSubmit = route[adroit.Request, *adroit.Submitted]{"jobs/submit", "Add a job.",
		func(ctx context.Context, c adroit.Client, r adroit.Request) (*adroit.Submitted, error) {
			return c.Submit(ctx, r)
		}}
	jobsStart = route[of[adroit.StartOptions], *adroit.Started]{"jobs/start", "Run a job, or go on with it; return once its lease is taken.",
		func(ctx context.Context, c adroit.Client, in of[adroit.StartOptions]) (*adroit.Started, error) {
			return c.Start(ctx, in.Job, in.Options)
		}}
	jobsStop = route[of[stopping], *jobs.Job]{"jobs/stop", "Interrupt a job that the runtime runs; start resumes it.",
		func(ctx context.Context, c adroit.Client, in of[stopping]) (*jobs.Job, error) {
			return c.Stop(ctx, in.Job, in.Options.Reason)
		}}
	jobsSignal = route[of[adroit.Signal], *adroit.SignalSent]{"jobs/signal", "Answer a job's question, or send a signal early.",
		func(ctx context.Context, c adroit.Client, in of[adroit.Signal]) (*adroit.SignalSent, error) {
			return c.Signal(ctx, in.Job, in.Options)
		}}
	jobsSend = route[of[executor.Message], *jobs.Job]{"jobs/send", "Give a job a message of a person; one that does not run goes on with it when it is started.",
		func(ctx context.Context, c adroit.Client, in of[executor.Message]) (*jobs.Job, error) {
			return c.Send(ctx, in.Job, in.Options)
		}}
	jobsCancel = route[of[none], *jobs.Job]{"jobs/cancel", "End a job for good.",
		func(ctx context.Context, c adroit.Client, in of[none]) (*jobs.Job, error) {
			return c.Cancel(ctx, in.Job)
		}}
	jobsRetry = route[of[adroit.RetryOptions], *adroit.Submitted]{"jobs/retry", "Add a new job with the task of an old one, which may go on from a turn of it.",
		func(ctx context.Context, c adroit.Client, in of[adroit.RetryOptions]) (*adroit.Submitted, error) {
			return c.Retry(ctx, in.Job, in.Options)
		}}
	jobsRemove = route[of[adroit.RemoveOptions], *adroit.Removed]{"jobs/remove", "Forget a job.",
		func(ctx context.Context, c adroit.Client, in of[adroit.RemoveOptions]) (*adroit.Removed, error) {
			return c.Remove(ctx, in.Job, in.Options)
		}}
	jobsPrune = route[adroit.PruneOptions, *adroit.PruneReport]{"jobs/prune", "Remove the jobs that ended long ago.",
		func(ctx context.Context, c adroit.Client, o adroit.PruneOptions) (*adroit.PruneReport, error) {
			return c.Prune(ctx, o)
		}}
	jobsSteps = route[of[none], *adroit.StepList]{"jobs/steps", "List the steps that changed files.",
		func(ctx context.Context, c adroit.Client, in of[none]) (*adroit.StepList, error) {
			return c.Steps(ctx, in.Job)
		}}
	jobsDiff = route[of[adroit.Selection], *adroit.Diff]{"jobs/diff", "Show what a job changed.",
		func(ctx context.Context, c adroit.Client, in of[adroit.Selection]) (*adroit.Diff, error) {
			return c.Diff(ctx, in.Job, in.Options)
		}}
	jobsUndo = route[of[adroit.Selection], *adroit.UndoReport]{"jobs/undo", "Restore what a job changed.",
		func(ctx context.Context, c adroit.Client, in of[adroit.Selection]) (*adroit.UndoReport, error) {
			return c.Undo(ctx, in.Job, in.Options)
		}}
	jobsMerge = route[of[merging], *adroit.MergeReport]{"jobs/merge", "Merge a job's worktree.",
		func(ctx context.Context, c adroit.Client, in of[merging]) (*adroit.MergeReport, error) {
			return c.Merge(ctx, in.Job, in.Options.Message)
		}}
	agentsList = route[adroit.Scope, *adroit.Listing[adroit.AgentInfo]]{"agents/list", "List the agents.",
		func(ctx context.Context, c adroit.Client, in adroit.Scope) (*adroit.Listing[adroit.AgentInfo], error) {
			return c.Agents(ctx, in)
		}}
	pipelinesList = route[adroit.Scope, *adroit.Listing[adroit.PipelineInfo]]{"pipelines/list", "List the pipelines.",
		func(ctx context.Context, c adroit.Client, in adroit.Scope) (*adroit.Listing[adroit.PipelineInfo], error) {
			return c.Pipelines(ctx, in)
		}}
	skillsList = route[adroit.Scope, *adroit.Listing[adroit.SkillInfo]]{"skills/list", "List the skills.",
		func(ctx context.Context, c adroit.Client, in adroit.Scope) (*adroit.Listing[adroit.SkillInfo], error) {
			return c.Skills(ctx, in)
		}}
	agentsShow = route[adroit.Named, *adroit.AgentInfo]{"agents/show", "Show an agent.",
		func(ctx context.Context, c adroit.Client, in adroit.Named) (*adroit.AgentInfo, error) {
			return c.ShowAgent(ctx, in)
		}}
	pipelinesShow = route[adroit.Named, *adroit.PipelineDetail]{"pipelines/show", "Show a pipeline.",
		func(ctx context.Context, c adroit.Client, in adroit.Named) (*adroit.PipelineDetail, error) {
			return c.ShowPipeline(ctx, in)
		}}
	pipelinesRead = route[adroit.Named, *adroit.PipelineFile]{"pipelines/read", "Return the text of a pipeline, with its digest if it is a file of the project.",
		func(ctx context.Context, c adroit.Client, in adroit.Named) (*adroit.PipelineFile, error) {
			return c.PipelineFile(ctx, in)
		}}
	pipelinesWrite = route[adroit.PipelineWrite, *adroit.PipelineFile]{"pipelines/write", "Write a pipeline of a project, and trust it as it is. 409 if the file is not as it was read.",
		func(ctx context.Context, c adroit.Client, in adroit.PipelineWrite) (*adroit.PipelineFile, error) {
			return c.WritePipeline(ctx, in)
		}}
	pipelinesSchema = route[none, json.RawMessage]{"pipelines/schema", "Return the JSON Schema of a pipeline's file.",
		func(ctx context.Context, c adroit.Client, _ none) (json.RawMessage, error) {
			return c.PipelineSchema(ctx)
		}}
	skillsShow = route[adroit.Named, *adroit.SkillDetail]{"skills/show", "Show a skill.",
		func(ctx context.Context, c adroit.Client, in adroit.Named) (*adroit.SkillDetail, error) {
			return c.ShowSkill(ctx, in)
		}}
	lintFiles = route[linting, *adroit.LintReport]{"lint", "Check agents or pipelines.", lint}
	toolsList = route[none, *adroit.Listing[adroit.ToolInfo]]{"tools/list", "List the tools.",
		func(ctx context.Context, c adroit.Client, _ none) (*adroit.Listing[adroit.ToolInfo], error) {
			return c.Tools(ctx)
		}}
	serversList = route[adroit.Scope, *adroit.Listing[adroit.ToolServerInfo]]{"servers/list", "List the MCP servers.",
		func(ctx context.Context, c adroit.Client, in adroit.Scope) (*adroit.Listing[adroit.ToolServerInfo], error) {
			return c.ToolServers(ctx, in)
		}}
	serversCheck = route[adroit.ToolServerCheck, *adroit.ToolServerReport]{"servers/check", "Start an MCP server and list its tools.",
		func(ctx context.Context, c adroit.Client, in adroit.ToolServerCheck) (*adroit.ToolServerReport, error) {
			return c.CheckToolServer(ctx, in)
		}}
	serversPrompt = route[adroit.ToolServerPrompt, promptText]{"servers/prompt", "Fill in a prompt of an MCP server.",
		func(ctx context.Context, c adroit.Client, in adroit.ToolServerPrompt) (out promptText, err error) {
			out.Text, err = c.ToolServerPrompt(ctx, in)
			return out, err
		}}
	toolsCall = route[adroit.ToolCall, *executor.ToolResult]{"tools/call", "Call a tool without a job.",
		func(ctx context.Context, c adroit.Client, in adroit.ToolCall) (*executor.ToolResult, error) {
			return c.CallTool(ctx, in)
		}}
	modelsList = route[none, []adroit.ModelInfo]{"models/list", "List the models.",
		func(ctx context.Context, c adroit.Client, _ none) ([]adroit.ModelInfo, error) { return c.Models(ctx) }}
	modelsCheck = route[adroit.ModelQuery, *adroit.ModelReport]{"models/check", "Ask a model for a word.",
		func(ctx context.Context, c adroit.Client, q adroit.ModelQuery) (*adroit.ModelReport, error) {
			return c.CheckModel(ctx, q)
		}}
	modelsState = route[adroit.ModelQuery, *adroit.ModelState]{"models/state", "Report how a model would serve a request.",
		func(ctx context.Context, c adroit.Client, q adroit.ModelQuery) (*adroit.ModelState, error) {
			return c.ModelState(ctx, q)
		}}
	modelsForget = route[string, int]{"models/forget", "Forget which ways to call tools did not work.",
		func(ctx context.Context, c adroit.Client, ref string) (int, error) { return c.ForgetModel(ctx, ref) }}
	modelsPull = streamRoute[adroit.ModelPull, adroit.PullProgress]{"models/pull", "Fetch a model, as server-sent events.",
		func(ctx context.Context, c adroit.Client, p adroit.ModelPull) iter.Seq2[adroit.PullProgress, error] {
			return c.PullModel(ctx, p)
		}}
	memoryFacts = route[adroit.FactQuery, []memory.Fact]{"memory/facts", "List or search what is remembered.",
		func(ctx context.Context, c adroit.Client, q adroit.FactQuery) ([]memory.Fact, error) {
			return c.Facts(ctx, q)
		}}
	memoryRemember = route[adroit.FactNote, *memory.Fact]{"memory/remember", "Remember a fact.",
		func(ctx context.Context, c adroit.Client, n adroit.FactNote) (*memory.Fact, error) {
			return c.Remember(ctx, n)
		}}
	memoryForget = route[adroit.FactQuery, int]{"memory/forget", "Forget facts.",
		func(ctx context.Context, c adroit.Client, q adroit.FactQuery) (int, error) { return c.Forget(ctx, q) }}
	memoryImport = route[factFile, imported]{"memory/import", "Add facts of a file, as untrusted.",
		func(ctx context.Context, c adroit.Client, in factFile) (out imported, err error) {
			out.Added, out.Refused, err = c.ImportFacts(ctx, in.Dir, in.Facts)
			return out, err
		}}
	trustShow = route[string, *trust.Status]{"trust/show", "Report which files of a workspace would instruct agents.",
		func(ctx context.Context, c adroit.Client, dir string) (*trust.Status, error) {
			return c.Trust(ctx, dir)
		}}
	doctor = route[adroit.DoctorQuery, []adroit.Finding]{"doctor", "Look for what keeps jobs from running.",
		func(ctx context.Context, c adroit.Client, q adroit.DoctorQuery) ([]adroit.Finding, error) {
			return c.Doctor(ctx, q)
		}}
	trustSet = route[adroit.TrustChange, *trust.Status]{"trust/set", "Decide about the files of a workspace.",
		func(ctx context.Context, c adroit.Client, in adroit.TrustChange) (*trust.Status, error) {
			return c.SetTrust(ctx, in)
		}}
	trustList = route[struct{}, []trust.Place]{"trust/list", "List the workspaces about which something was decided.",
		func(ctx context.Context, c adroit.Client, _ struct{}) ([]trust.Place, error) { return c.Trusts(ctx) }}
)

// endpoints is the table in the order of the reference.
var endpoints = []endpoint{
	jobsList, jobsShow, jobsWait, jobsArtifacts, jobsFile, jobsTranscript, failuresList, failuresStats, failuresForget, jobsResolve, jobsSubmit, jobsStart, jobsStop, jobsSignal, jobsSend, jobsCancel, jobsRetry, jobsRemove, jobsPrune,
	jobsSteps, jobsDiff, jobsUndo, jobsMerge, agentsList, agentsShow, pipelinesList, pipelinesShow, pipelinesRead, pipelinesWrite, pipelinesSchema, skillsList, skillsShow, lintFiles, toolsList, toolsCall, serversList, serversCheck, serversPrompt,
	modelsList, modelsCheck, modelsState, modelsForget, modelsPull, memoryFacts, memoryRemember, memoryForget, memoryImport, trustShow, trustSet, trustList, doctor, access,
}

func (r route[In, Out]) path() string { return "/v1/" + r.name }

func (r streamRoute[In, Out]) path() string { return "/v1/" + r.name }

func (r route[In, Out]) line() string { return line[In, Out](r.path(), r.doc) }

func (r streamRoute[In, Out]) line() string { return line[In, Out](r.path(), r.doc) }

func line[In, Out any](path, doc string) string {
	return fmt.Sprintf("| `POST %s` | %s | %s | %s |\n", path, doc, words(reflect.TypeFor[In]()), words(reflect.TypeFor[Out]()))
}

// words describes a type in the reference.
func words(t reflect.Type) string {
	if t == reflect.TypeFor[none]() {
		return "nothing"
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return "JSON"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return words(t.Elem())
	case reflect.Slice:
		return "list of " + words(t.Elem())
	case reflect.Map:
		return words(t.Elem()) + " by name"
	case reflect.String:
		return "text"
	case reflect.Int:
		return "a number"
	}
	if t.PkgPath() == reflect.TypeFor[none]().PkgPath() {
		return own(t)
	}
	name, argument, _ := strings.Cut(t.String(), "[")
	if _, argument, _ = strings.Cut(strings.TrimSuffix(argument, "]"), "/pkg/"); argument != "" {
		return "`" + name + "` of `" + argument + "`"
	}
	return "`" + name + "`"
}

// own describes a type of this package: by what it has.
func own(t reflect.Type) string {
	if strings.HasPrefix(t.Name(), "of[") {
		if options, _ := t.FieldByName("Options"); options.Type != reflect.TypeFor[none]() {
			return "a job, " + words(options.Type)
		}
		return "a job"
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
			names = append(names, "`"+name+"`")
		}
	}
	return strings.Join(names, ", ")
}

// Reference is the table of routes in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| route | what it does | request | answer |\n|---|---|---|---|\n")
	for _, e := range endpoints {
		b.WriteString(e.line())
	}
	b.WriteString("| `GET /v1/jobs/file?job=&artifact=&path=` | Send a file that an artifact of a job names, or the bytes that `Range` asks for. `download=true` has a browser save it. | query | the bytes |\n")
	b.WriteString("| `GET /v1/events?after=&follow=&wait=` | Stream the events of all jobs as server-sent events, in one order; the id is the event's `id`. A negative `after` is how many of the last it begins with. | query | `event.Event` |\n")
	b.WriteString("| `GET /v1/jobs/events?job=&after=&follow=&live=&wait=` | Stream a job's events as server-sent events; the id is the event's number, and Last-Event-ID goes on after it. What live adds has none. | query | `event.Event` |\n")
	return b.String()
}

// Facts implements [adroit.Client].
func (c *client) Facts(ctx context.Context, q adroit.FactQuery) ([]memory.Fact, error) {
	return memoryFacts.do(ctx, c, q)
}

// Remember implements [adroit.Client].
func (c *client) Remember(ctx context.Context, n adroit.FactNote) (*memory.Fact, error) {
	return memoryRemember.do(ctx, c, n)
}

// Forget implements [adroit.Client].
func (c *client) Forget(ctx context.Context, q adroit.FactQuery) (int, error) {
	return memoryForget.do(ctx, c, q)
}

// ImportFacts implements [adroit.Client].
func (c *client) ImportFacts(ctx context.Context, dir string, facts []memory.Fact) (added int, refused []string, err error) {
	out, err := memoryImport.do(ctx, c, factFile{dir, facts})
	return out.Added, out.Refused, err
}

// openAPIPath is the path of the interface's description.
const openAPIPath = "/openapi.json"

func (r route[In, Out]) describe() description {
	return description{r.path(), r.doc, reflect.TypeFor[In](), reflect.TypeFor[Out](), false}
}

func (r streamRoute[In, Out]) describe() description {
	return description{r.path(), r.doc, reflect.TypeFor[In](), reflect.TypeFor[Out](), true}
}

// A description is a route for programs that make clients.
type description struct {
	path, doc string
	in, out   reflect.Type
	stream    bool
}

type object = map[string]any

// OpenAPI is the interface as OpenAPI 3.1 describes it, made from the table of routes.
var OpenAPI = sync.OnceValue(func() json.RawMessage {
	s := &shapes{all: object{}}
	problems := object{"description": "An error: detail is what is wrong, hint what to do.", "content": object{"application/problem+json": object{"schema": s.of(reflect.TypeFor[details]())}}}
	paths := object{}
	add := func(method, path, doc string, op object, out object) {
		op["operationId"], op["summary"] = operation(path), doc
		op["security"] = []object{{"token": []string{string(scopeOf(path))}}}
		op["responses"] = object{"200": object{"description": "The answer.", "content": out}, "default": problems}
		if all, ok := paths[path].(object); ok {
			all[method] = op
			return
		}
		paths[path] = object{method: op}
	}
	for _, e := range endpoints {
		d := e.describe()
		op := object{"requestBody": object{"required": true, "content": object{"application/json": object{"schema": s.of(d.in)}}}}
		if d.path == jobsSubmit.path() {
			op["parameters"] = []object{parameter("header", idempotencyKey, "string", "The key of the job, instead of that of the body.")}
		}
		media := "application/json"
		if d.stream {
			media = "text/event-stream"
		}
		add("post", d.path, d.doc, op, object{media: object{"schema": s.of(d.out)}})
	}
	for path, doc := range map[string]string{eventsPath: "Stream a job's events.", allEventsPath: "Stream the events of all jobs, in one order."} {
		in := []object{
			parameter("query", "after", "integer", "Only events with a higher number."), parameter("query", "follow", "boolean", "Go on with what comes."),
			parameter("query", "wait", "string", "Answer with JSON instead, at the latest after this time, as in 20s."), parameter("header", lastEventID, "string", "As after, from a reader that connects again."),
		}
		if path == eventsPath {
			in = append(in, required("query", "job", "The job's id."), parameter("query", "live", "boolean", "With pieces of answers, which have no number."))
		}
		add("get", path, doc, object{"parameters": in}, object{
			"text/event-stream": object{"schema": s.of(reflect.TypeFor[event.Event]())}, "application/json": object{"schema": s.of(reflect.TypeFor[polled]())},
		})
	}
	sent := object{"parameters": []object{
		required("query", "job", "The job's id."), required("query", "artifact", "The name of the artifact."), parameter("query", "path", "string", "The path as the artifact has it; it may be left out where there is one."),
		parameter("query", "download", "boolean", "Have a browser save it."), parameter("header", "Range", "string", "The bytes to send, as in bytes=0-99."),
	}}
	add("get", jobsFile.path(), "Send a file that an artifact of a job names.", sent, object{"application/octet-stream": object{}})
	sent["operationId"] = "jobsFileBytes"
	b, err := jsontext.Marshal(object{
		"openapi": "3.1.0",
		"info": object{"title": "adroit", "version": "1", "description": "Run, follow and answer jobs of agents. " + hint.Name("serve") + " listens; see docs/serve.md.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":    []object{{"url": "/"}},
		"paths":      paths,
		"components": object{"schemas": s.all, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "A token, with its scopes: " + hint.Name("serve token") + "."}}},
	})
	if err != nil {
		panic(err) // maps of text
	}
	return b
})

func parameter(in, name, kind, doc string) object {
	return object{"in": in, "name": name, "description": doc, "schema": object{"type": kind}}
}

func required(in, name, doc string) object {
	p := parameter(in, name, "string", doc)
	p["required"] = true
	return p
}

// operation is the name of a route for programs: jobsSubmit of /v1/jobs/submit.
func operation(path string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	if rest == "" {
		return first
	}
	return first + strings.ToUpper(rest[:1]) + rest[1:]
}

// shapes are the schemas of types, by name.
type shapes struct{ all object }

// of is the schema of a type, which refers to those of others.
func (s *shapes) of(t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	r := jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true, Namer: shapeName, Mapper: shapeOf}
	b, err := json.Marshal(r.ReflectFromType(t))
	if err != nil {
		panic(err) // types of the table
	}
	var doc object
	if err := json.Unmarshal(b, &doc); err != nil {
		return true // any value
	}
	delete(doc, "$schema")
	if defs, ok := doc["$defs"].(object); ok {
		for name, def := range defs {
			s.all[name] = referring(def)
		}
		delete(doc, "$defs")
	}
	return referring(doc)
}

// referring moves references from where JSON Schema has definitions to where OpenAPI has them.
func referring(v any) any {
	switch v := v.(type) {
	case object:
		for k, x := range v {
			if ref, ok := x.(string); ok && k == "$ref" {
				v[k] = strings.Replace(ref, "#/$defs/", "#/components/schemas/", 1)
			} else {
				v[k] = referring(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = referring(v[i])
		}
	}
	return v
}

// shapeName is the name of a type: those of its package and of its own, and of what it is made with.
func shapeName(t reflect.Type) string {
	name := t.Name()
	if name == "" {
		return ""
	}
	name, of, generic := strings.Cut(name, "[")
	pkg := t.PkgPath()
	name = title(pkg[strings.LastIndex(pkg, "/")+1:]) + title(name)
	if generic {
		of = strings.TrimSuffix(of, "]")
		of = of[strings.LastIndexAny(of, "/ ")+1:]
		for part := range strings.SplitSeq(of, ".") {
			name += title(part)
		}
	}
	return name
}

func title(s string) string {
	if s = strings.Trim(s, "*{}"); s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// shapeOf is the schema of types that invopop takes for something else than encoding/json does.
func shapeOf(t reflect.Type) *jsonschema.Schema {
	switch p := reflect.PointerTo(t); {
	case t == reflect.TypeFor[time.Time]():
		return nil
	case t.Kind() == reflect.Interface, p.Implements(reflect.TypeFor[json.Marshaler]()):
		return jsonschema.TrueSchema
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// serveOpenAPI answers with the description.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(OpenAPI()) // who has gone needs none
}
