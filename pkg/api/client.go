// Package api is adroit over HTTP. One table of typed routes gives the handler, the client
// and the reference, so that they cannot differ:
//
//	http.Handle("/v1/", api.Handler(rt))
//	c := api.NewClient("http://127.0.0.1:8000", http.DefaultClient)
//
// Loopback joins the two in memory: every value passes through JSON and events through
// server-sent events, without a socket. A [Listener] answers programs that know a token,
// and no page of a browser.
package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A client speaks to a Handler. It is safe for concurrent use.
type client struct {
	base string
	http *http.Client
}

var _ adroit.Client = (*client)(nil)

// NewClient returns a client of the handler at base, such as http://127.0.0.1:8000. Without base, errors
// are those of h's transport, which is then not that of a network.
func NewClient(base string, h *http.Client) adroit.Client {
	return &client{strings.TrimSuffix(base, "/"), h}
}

// do calls a route.
func (r route[In, Out]) do(ctx context.Context, c *client, in In) (out Out, err error) {
	req, err := c.post(ctx, r.path(), in)
	if err != nil {
		return out, problem.AsError(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return out, c.lost(ctx, err)
	}
	defer res.Body.Close()
	if err := failure(res); err != nil {
		return out, err
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return out, c.lost(ctx, fmt.Errorf("decoding the answer of %s: %w", r.path(), err))
	}
	return out, nil
}

// do calls a route that streams.
func (r streamRoute[In, Out]) do(ctx context.Context, c *client, in In) iter.Seq2[Out, error] {
	return values[Out](ctx, c, func(ctx context.Context) (*http.Request, error) { return c.post(ctx, r.path(), in) })
}

func (c *client) post(ctx context.Context, path string, in any) (*http.Request, error) {
	b, err := jsontext.Marshal(in)
	if e := new(json.UnsupportedValueError); errors.As(err, &e) {
		return nil, problem.Invalidf("give numbers that are finite", "the request to %s has %s, which is no number", path, e.Str)
	} else if err != nil {
		return nil, fmt.Errorf("encoding the request to %s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(b))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// lost is the error of a call whose answer did not come: the cause why ctx
// ended, if it has.
func (c *client) lost(ctx context.Context, err error) error {
	sent := new(url.Error)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &sent) && c.base == "":
		err = sent.Err
	case errors.As(err, &sent): // not the route, which nobody has typed
		err = fmt.Errorf("%s: %w", c.base, sent.Err)
	}
	return problem.AsError(err)
}

// failure is the error that an answer is, nil if it is none.
func failure(res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var d details
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil || d.Detail == "" {
		return problem.AsError(fmt.Errorf("the server answered %s", res.Status))
	}
	return d.decode()
}

// Events implements [adroit.JobReader].
func (c *client) Events(ctx context.Context, ref string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return c.events(ctx, eventsPath, url.Values{"job": {ref}}, o)
}

// AllEvents implements [adroit.JobReader].
func (c *client) AllEvents(ctx context.Context, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return c.events(ctx, allEventsPath, url.Values{}, o)
}

func (c *client) events(ctx context.Context, path string, q url.Values, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	q.Set("after", strconv.FormatInt(o.After, 10))
	q.Set("follow", strconv.FormatBool(o.Follow))
	q.Set("live", strconv.FormatBool(o.Live))
	return values[event.Event](ctx, c, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, c.base+path+"?"+q.Encode(), nil)
	})
}

// values iterates over a request's server-sent events.
func values[T any](ctx context.Context, c *client, request func(context.Context) (*http.Request, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := read(ctx, c, request, func(v T) bool { return yield(v, nil) }); err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// read reads a stream until its end, or until yield returns false.
func read[T any](ctx context.Context, c *client, request func(context.Context) (*http.Request, error), yield func(T) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	req, err := request(ctx)
	if err != nil {
		return problem.AsError(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.lost(ctx, err)
	}
	defer res.Body.Close()
	if err := failure(res); err != nil {
		return err
	}
	name := ""
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("the stream of events was cut: %w", io.ErrUnexpectedEOF)
			}
			return c.lost(ctx, err)
		}
		field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch {
		case string(field) == "event":
			name = string(value)
		case string(field) != "data":
		case name == streamEnd:
			return nil
		case name == streamError:
			var d details
			if err := json.Unmarshal(value, &d); err != nil {
				return problem.AsError(err)
			}
			return d.decode()
		default:
			var v T
			if err := json.Unmarshal(value, &v); err != nil {
				return problem.AsError(fmt.Errorf("decoding an event: %w", err))
			}
			if !yield(v) {
				return nil
			}
		}
	}
}

// Close implements [adroit.Client]. The runtime behind the handler goes on.
func (c *client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// The methods of [adroit.Client], each a route.

func (c *client) Jobs(ctx context.Context, o adroit.ListOptions) ([]adroit.JobSummary, error) {
	return jobsList.do(ctx, c, o)
}

func (c *client) Job(ctx context.Context, ref string) (*adroit.JobDetail, error) {
	return jobsShow.do(ctx, c, of[none]{Job: ref})
}

func (c *client) Wait(ctx context.Context, ref string) (*jobs.Job, error) {
	return jobsWait.do(ctx, c, of[none]{Job: ref})
}

func (c *client) Artifacts(ctx context.Context, ref string) (*adroit.ArtifactList, error) {
	return jobsArtifacts.do(ctx, c, of[none]{Job: ref})
}

func (c *client) Transcript(ctx context.Context, ref string) (*adroit.Transcript, error) {
	return jobsTranscript.do(ctx, c, of[none]{Job: ref})
}

func (c *client) ArtifactFile(ctx context.Context, ref string, f adroit.ArtifactFile) (*adroit.FilePiece, error) {
	return jobsFile.do(ctx, c, of[adroit.ArtifactFile]{ref, f})
}

// FailureStats implements [adroit.Client].
func (c *client) FailureStats(ctx context.Context, q adroit.StatsQuery) (*adroit.CoordinatorStats, error) {
	return failuresStats.do(ctx, c, q)
}

// Failures implements [adroit.Client].
func (c *client) Failures(ctx context.Context, q adroit.FailureQuery) ([]adroit.Failure, error) {
	return failuresList.do(ctx, c, q)
}

// ForgetFailures implements [adroit.Client].
func (c *client) ForgetFailures(ctx context.Context, q adroit.FailureQuery) (int, error) {
	return failuresForget.do(ctx, c, q)
}

func (c *client) Resolve(ctx context.Context, r adroit.Request) (*adroit.Plan, error) {
	return jobsResolve.do(ctx, c, r)
}

func (c *client) Submit(ctx context.Context, r adroit.Request) (*adroit.Submitted, error) {
	return jobsSubmit.do(ctx, c, r)
}

func (c *client) Start(ctx context.Context, ref string, o adroit.StartOptions) (*adroit.Started, error) {
	return jobsStart.do(ctx, c, of[adroit.StartOptions]{ref, o})
}

func (c *client) Stop(ctx context.Context, ref, reason string) (*jobs.Job, error) {
	return jobsStop.do(ctx, c, of[stopping]{ref, stopping{reason}})
}

func (c *client) Signal(ctx context.Context, ref string, s adroit.Signal) (*adroit.SignalSent, error) {
	return jobsSignal.do(ctx, c, of[adroit.Signal]{ref, s})
}

func (c *client) Send(ctx context.Context, ref string, m executor.Message) (*jobs.Job, error) {
	return jobsSend.do(ctx, c, of[executor.Message]{ref, m})
}

func (c *client) Cancel(ctx context.Context, ref string) (*jobs.Job, error) {
	return jobsCancel.do(ctx, c, of[none]{Job: ref})
}

func (c *client) Retry(ctx context.Context, ref string, o adroit.RetryOptions) (*adroit.Submitted, error) {
	return jobsRetry.do(ctx, c, of[adroit.RetryOptions]{ref, o})
}

func (c *client) Remove(ctx context.Context, ref string, o adroit.RemoveOptions) (*adroit.Removed, error) {
	return jobsRemove.do(ctx, c, of[adroit.RemoveOptions]{ref, o})
}

func (c *client) Prune(ctx context.Context, o adroit.PruneOptions) (*adroit.PruneReport, error) {
	return jobsPrune.do(ctx, c, o)
}

func (c *client) Steps(ctx context.Context, ref string) (*adroit.StepList, error) {
	return jobsSteps.do(ctx, c, of[none]{Job: ref})
}

func (c *client) Diff(ctx context.Context, ref string, s adroit.Selection) (*adroit.Diff, error) {
	d, err := jobsDiff.do(ctx, c, of[adroit.Selection]{ref, s})
	if err == nil && d.Raw != nil {
		d.Diff = string(d.Raw)
	}
	return d, err
}

func (c *client) Undo(ctx context.Context, ref string, s adroit.Selection) (*adroit.UndoReport, error) {
	return jobsUndo.do(ctx, c, of[adroit.Selection]{ref, s})
}

func (c *client) Merge(ctx context.Context, ref, message string) (*adroit.MergeReport, error) {
	return jobsMerge.do(ctx, c, of[merging]{ref, merging{message}})
}

func (c *client) Agents(ctx context.Context, in adroit.Scope) (*adroit.Listing[adroit.AgentInfo], error) {
	return agentsList.do(ctx, c, in)
}

func (c *client) Pipelines(ctx context.Context, in adroit.Scope) (*adroit.Listing[adroit.PipelineInfo], error) {
	return pipelinesList.do(ctx, c, in)
}

func (c *client) PipelineFile(ctx context.Context, in adroit.Named) (*adroit.PipelineFile, error) {
	return pipelinesRead.do(ctx, c, in)
}

func (c *client) WritePipeline(ctx context.Context, in adroit.PipelineWrite) (*adroit.PipelineFile, error) {
	return pipelinesWrite.do(ctx, c, in)
}

func (c *client) PipelineSchema(ctx context.Context) (json.RawMessage, error) {
	return pipelinesSchema.do(ctx, c, none{})
}

func (c *client) Skills(ctx context.Context, in adroit.Scope) (*adroit.Listing[adroit.SkillInfo], error) {
	return skillsList.do(ctx, c, in)
}

func (c *client) ShowAgent(ctx context.Context, in adroit.Named) (*adroit.AgentInfo, error) {
	return agentsShow.do(ctx, c, in)
}

func (c *client) ShowPipeline(ctx context.Context, in adroit.Named) (*adroit.PipelineDetail, error) {
	return pipelinesShow.do(ctx, c, in)
}

func (c *client) ShowSkill(ctx context.Context, in adroit.Named) (*adroit.SkillDetail, error) {
	return skillsShow.do(ctx, c, in)
}

func (c *client) LintAgents(ctx context.Context, in adroit.LintRequest) (*adroit.LintReport, error) {
	return lintFiles.do(ctx, c, linting{in.Scope, "agents", in.Files, in.Names})
}

func (c *client) LintPipelines(ctx context.Context, in adroit.LintRequest) (*adroit.LintReport, error) {
	return lintFiles.do(ctx, c, linting{in.Scope, "pipelines", in.Files, in.Names})
}

func (c *client) Tools(ctx context.Context) (*adroit.Listing[adroit.ToolInfo], error) {
	return toolsList.do(ctx, c, none{})
}

func (c *client) CallTool(ctx context.Context, call adroit.ToolCall) (*executor.ToolResult, error) {
	return toolsCall.do(ctx, c, call)
}

// ToolServers implements [adroit.Catalog].
func (c *client) ToolServers(ctx context.Context, in adroit.Scope) (*adroit.Listing[adroit.ToolServerInfo], error) {
	return serversList.do(ctx, c, in)
}

// CheckToolServer implements [adroit.Catalog].
func (c *client) CheckToolServer(ctx context.Context, in adroit.ToolServerCheck) (*adroit.ToolServerReport, error) {
	return serversCheck.do(ctx, c, in)
}

// ToolServerPrompt implements [adroit.Catalog].
func (c *client) ToolServerPrompt(ctx context.Context, in adroit.ToolServerPrompt) (string, error) {
	out, err := serversPrompt.do(ctx, c, in)
	return out.Text, err
}

func (c *client) Models(ctx context.Context) ([]adroit.ModelInfo, error) {
	return modelsList.do(ctx, c, none{})
}

func (c *client) CheckModel(ctx context.Context, q adroit.ModelQuery) (*adroit.ModelReport, error) {
	return modelsCheck.do(ctx, c, q)
}

func (c *client) ModelState(ctx context.Context, q adroit.ModelQuery) (*adroit.ModelState, error) {
	return modelsState.do(ctx, c, q)
}

func (c *client) PullModel(ctx context.Context, p adroit.ModelPull) iter.Seq2[adroit.PullProgress, error] {
	return modelsPull.do(ctx, c, p)
}

func (c *client) ForgetModel(ctx context.Context, ref string) (int, error) {
	return modelsForget.do(ctx, c, ref)
}

func (c *client) Doctor(ctx context.Context, q adroit.DoctorQuery) ([]adroit.Finding, error) {
	return doctor.do(ctx, c, q)
}

func (c *client) Trust(ctx context.Context, dir string) (*trust.Status, error) {
	return trustShow.do(ctx, c, dir)
}

func (c *client) Trusts(ctx context.Context) ([]trust.Place, error) {
	return trustList.do(ctx, c, struct{}{})
}

func (c *client) SetTrust(ctx context.Context, ch adroit.TrustChange) (*trust.Status, error) {
	ch.Files = slices.Clone(ch.Files)
	for i := range ch.Files {
		ch.Files[i].Text = "" // the hash states which it is
	}
	return trustSet.do(ctx, c, ch)
}
