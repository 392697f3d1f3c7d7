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

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
				MIMEType: mime(name, value), Size: int64(len(plain(value)))})
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
		text, kind = plain(a.Value), mime(name, a.Value)
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
