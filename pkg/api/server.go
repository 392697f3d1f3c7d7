package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// maxBody bounds a request in bytes.
const maxBody = 16 << 20

// Handler serves a client. It authenticates nobody: who may reach it may do all
// that the client can.
func Handler(c adroit.Client) http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.HandleFunc("POST "+e.path(), allow(scopeOf(e.path()), e.serve(c)))
	}
	for _, path := range []string{eventsPath, allEventsPath} {
		mux.HandleFunc("GET "+path, allow(scopeOf(path), func(w http.ResponseWriter, r *http.Request) { serveEvents(c, w, r) }))
	}
	mux.HandleFunc("GET "+jobsFile.path(), allow(scopeOf(jobsFile.path()), func(w http.ResponseWriter, r *http.Request) { serveFile(c, w, r) }))
	mux.HandleFunc("GET "+openAPIPath, allow(scopeOf(openAPIPath), serveOpenAPI))
	for path := range page() {
		pattern := path
		if path == "/" {
			pattern = "/{$}" // and nothing below it
		}
		mux.HandleFunc("GET "+pattern, allow(scopeOf(path), servePage))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, pattern := mux.Handler(r); {
		case pattern != "":
			mux.ServeHTTP(w, r)
		case slices.ContainsFunc(endpoints, func(e endpoint) bool { return e.path() == r.URL.Path }):
			w.Header().Set("Allow", http.MethodPost)
			failWith(w, problem.Invalidf("send POST", "%s does not take %s", r.URL.Path, r.Method), http.StatusMethodNotAllowed)
		default:
			failWith(w, &problem.Error{Kind: problem.NotFound, Message: "there is no route " + r.URL.Path, Hint: "see the reference of the interface"}, http.StatusNotFound)
		}
	})
}

func (r route[In, Out]) serve(c adroit.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		in, ok := request[In](w, req)
		if !ok {
			return
		}
		out, err := r.call(req.Context(), c, in)
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, out)
	}
}

// answer answers with a value.
func answer(w http.ResponseWriter, out any) {
	b, err := jsontext.Marshal(out)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // a client that went away needs no answer
}

func (r streamRoute[In, Out]) serve(c adroit.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if in, ok := request[In](w, req); ok {
			stream(w, req, func(ctx context.Context) iter.Seq2[Out, error] { return r.call(ctx, c, in) }, func(Out) string { return "" })
		}
	}
}

// request decodes what a request holds, or answers it.
func request[In any](w http.ResponseWriter, req *http.Request) (in In, ok bool) {
	var read bytes.Buffer
	dec := json.NewDecoder(io.TeeReader(http.MaxBytesReader(w, req.Body, maxBody), &read))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		fail(w, malformed(req.URL.Path, read.Bytes(), reflect.TypeFor[In](), err))
		return in, false
	}
	// Only when all of the body is read does the server notice that the client leaves.
	if _, err := dec.Token(); err != io.EOF {
		fail(w, problem.Invalidf("send one JSON object and end the body", "the request to %s does not end after its object", req.URL.Path))
		return in, false
	}
	if one, is := any(in).(interface{ job() string }); is && refuseLast(w, one.job()) {
		return in, false
	}
	if r, is := any(&in).(*adroit.Request); is {
		if refuseEmptyKey(w, read.Bytes()) {
			return in, false
		}
		if err := keyOf(req, r); err != nil {
			fail(w, err)
			return in, false
		}
	}
	return in, true
}

// idempotencyKey is the header that may have the key of a request for a job.
const idempotencyKey = "Idempotency-Key"

// keyOf sets the key of a request for a job that its header has. A string of a structured
// field, in quotes, is the key without them.
func keyOf(req *http.Request, r *adroit.Request) error {
	all := req.Header.Values(idempotencyKey)
	if len(all) == 0 {
		return nil
	}
	key := all[0]
	if n := len(key); n > 1 && key[0] == '"' && key[n-1] == '"' {
		key = key[1 : n-1]
	}
	switch {
	case len(all) > 1 || key == "":
		return problem.Invalidf("send it once, or leave it out", "%s is empty or given twice", idempotencyKey)
	case r.Key != "" && r.Key != key:
		return problem.Invalidf("send one of them", "key is %q, and %s is %q", r.Key, idempotencyKey, key)
	}
	r.Key = key
	return nil
}

// malformed is the error for a body that does not decode as a request of type in.
func malformed(path string, body []byte, in reflect.Type, err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return problem.Invalidf("put what is long into files", "the request to %s has more than %d bytes", path, large.Limit)
	case err == io.EOF:
		return problem.Invalidf("send one JSON object, {} if there is nothing to say", "the request to %s is empty", path)
	}
	near := ""
	if key, ok := jsontext.UnknownKey(err); ok {
		near = spelling.DidYouMean(key, keysOf(in))
	}
	return problem.Invalidf("see the reference of the interface", "the request to %s cannot be read: %v%s", path, jsontext.Fault(body, err), near)
}

// keysOf are the keys of the JSON form of a struct, embedded ones included.
func keysOf(t reflect.Type) (keys []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// refuseLast answers a request about last: the sender means their directory, which
// a server does not know.
func refuseLast(w http.ResponseWriter, ref string) bool {
	if !strings.EqualFold(strings.TrimSpace(ref), "last") {
		return false
	}
	fail(w, problem.Invalidf("/v1/jobs/list with dir, here and limit 1 has its id", "a server does not know whose last job is meant"))
	return true
}

// refuseEmptyKey answers a request for a job whose key is there and empty: the sender
// means one, and without one each request is another job.
func refuseEmptyKey(w http.ResponseWriter, body []byte) bool {
	var in struct{ Key *string }
	if json.Unmarshal(body, &in) != nil || in.Key == nil || *in.Key != "" {
		return false
	}
	fail(w, problem.Invalidf("leave it out if none is meant, and look at what was to fill it", "key is empty"))
	return true
}

// statuses are the codes for kinds of errors; all else is 500.
var statuses = map[problem.Kind]int{
	problem.Invalid: http.StatusBadRequest, problem.NotFound: http.StatusNotFound, problem.Held: http.StatusConflict, problem.Ended: http.StatusConflict,
	problem.Forbidden: http.StatusForbidden, problem.Running: http.StatusConflict, problem.Blocked: http.StatusConflict, problem.Answered: http.StatusConflict, problem.Stale: http.StatusConflict,
	problem.Away: http.StatusServiceUnavailable,
}

// status is the code for an error.
func status(err error) int {
	if errors.Is(err, jobs.ErrKey) {
		return http.StatusConflict
	}
	return cmp.Or(statuses[problem.AsError(err).Kind], http.StatusInternalServerError)
}

// A details is an error as RFC 9457 has it, with members of its own: kind, code and hint, the
// advice.
type details struct {
	Type   string       `json:"type"` // where its kind is described
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Kind   problem.Kind `json:"kind"`
	Code   string       `json:"code,omitempty"`
	Hint   string       `json:"hint,omitempty"`
}

const kindsURL = "https://github.com/adroit-run/adroit/blob/main/docs/api.md#errors"

func detailsOf(err error, code int) details {
	e := problem.AsError(err)
	return details{kindsURL, http.StatusText(code), code, e.Message, e.Kind, e.Code, e.Hint}
}

// decode reads an error.
func (d details) decode() *problem.Error {
	return &problem.Error{Kind: d.Kind, Message: d.Detail, Hint: d.Hint, Code: d.Code}
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) { failWith(w, err, status(err)) }

func failWith(w http.ResponseWriter, err error, code int) {
	b, err := jsontext.Marshal(detailsOf(err, code))
	if err != nil {
		panic(err) // strings
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_, _ = w.Write(b)
}

const (
	eventsPath    = "/v1/jobs/events"
	allEventsPath = "/v1/events"
	lastEventID   = "Last-Event-ID" // a header
)

// Names of the events of a stream that carry none of its values.
const (
	streamError = "error" // the data is an error
	streamEnd   = "end"   // without it, the stream was cut
)

// Bounds of what readers of events get.
const (
	longestWait = 20 * time.Second
	mostPolled  = 256 // events of one answer
)

// heartbeat is the interval at which a stream sends a comment, so that both sides notice
// that the other one is gone; slowReader bounds the time a reader may leave what was sent
// before it is dropped. It connects again and goes on after the last event that it has.
var heartbeat, slowReader = 15 * time.Second, 30 * time.Second

// firstBeat is the delay of an idle stream's beginning: an error comes before.
const firstBeat = 50 * time.Millisecond

// An eventQuery is a request for events.
type eventQuery struct {
	job  string
	wait time.Duration
	adroit.EventOptions
}

// asked reads the query of a request for events.
func asked(r *http.Request) (o eventQuery, err error) {
	q := r.URL.Query()
	o.job, o.Follow, o.Live = q.Get("job"), q.Get("follow") == "true", q.Get("live") == "true"
	// A reader that connects again repeats the address of its first request, and names
	// the last event that it has seen in the header.
	for i, given := range []struct{ name, value string }{{"after", q.Get("after")}, {lastEventID, r.Header.Get(lastEventID)}} {
		if given.value == "" {
			continue
		}
		after, err := strconv.ParseInt(given.value, 10, 64)
		if err != nil || i == 1 && after < 0 {
			return o, problem.Invalidf("it is the number of an event", "%s is %q", given.name, given.value)
		}
		o.After = max(o.After, after)
		if i == 0 {
			o.After = after
		}
	}
	if wait := q.Get("wait"); wait != "" {
		if o.wait, err = time.ParseDuration(wait); err != nil || o.wait <= 0 || o.wait > longestWait {
			return o, problem.Invalidf("for example 20s, which is the most", "wait is %q", wait)
		}
	}
	return o, nil
}

// serveEvents answers with the events of a job, or of all.
func serveEvents(c adroit.Client, w http.ResponseWriter, r *http.Request) {
	o, err := asked(r)
	if err != nil {
		fail(w, err)
		return
	}
	events, id := c.AllEvents, func(ev event.Event) int64 { return ev.ID }
	if r.URL.Path == eventsPath {
		if refuseLast(w, o.job) {
			return
		}
		events = func(ctx context.Context, e adroit.EventOptions) iter.Seq2[event.Event, error] {
			return c.Events(ctx, o.job, e)
		}
		id = func(ev event.Event) int64 { return ev.Seq }
	}
	if o.wait > 0 {
		poll(w, r, o, events, id)
		return
	}
	stream(w, r, func(ctx context.Context) iter.Seq2[event.Event, error] { return events(ctx, o.EventOptions) }, func(ev event.Event) string {
		if id(ev) == 0 {
			return ""
		}
		return strconv.FormatInt(id(ev), 10)
	})
}

// A polled is an answer to a request that waits for events instead of having them streamed.
type polled struct {
	Events []event.Event `json:"events"`
	Last   int64         `json:"last"`            // the number to go on after
	Ended  bool          `json:"ended,omitempty"` // the job no longer runs
}

// poll answers with the events that are there, or else waits for some.
func poll(w http.ResponseWriter, r *http.Request, o eventQuery, events func(context.Context, adroit.EventOptions) iter.Seq2[event.Event, error], id func(event.Event) int64) {
	out := polled{Events: []event.Event{}, Last: max(o.After, 0)}
	ctx, stop := context.WithTimeout(r.Context(), o.wait)
	defer stop()
	read := func(e adroit.EventOptions, most int) error {
		for ev, err := range events(ctx, e) {
			if err != nil {
				return err
			}
			out.Events, out.Last = append(out.Events, ev), id(ev)
			if len(out.Events) == most {
				break
			}
		}
		return nil
	}
	err := read(adroit.EventOptions{After: o.After}, mostPolled)
	if err == nil && len(out.Events) == 0 {
		err = read(adroit.EventOptions{After: out.Last, Follow: true}, 1)
		out.Ended = err == nil && len(out.Events) == 0
	}
	if err != nil && ctx.Err() == nil {
		fail(w, err)
		return
	}
	answer(w, out)
}

// A sender sends server-sent events. It is safe for concurrent use.
type sender struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	rc    *http.ResponseController
	stop  context.CancelFunc
	begun bool
	over  bool
}

// send sends text. A reader that does not take it in time is dropped.
func (s *sender) send(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(slowReader)) // in memory nobody is slow
	_, err := s.w.Write(text)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		s.stop()
	}
	return err
}

// fail ends the stream with an error, which is the whole answer if nothing was sent.
func (s *sender) fail(err error) {
	s.mu.Lock()
	begun := s.begun
	s.over = !begun
	s.mu.Unlock()
	if !begun {
		fail(s.w, err)
		return
	}
	_ = s.event("", streamError, detailsOf(err, status(err)))
}

// beat sends a comment soon, so that the reader knows that it follows, and then again and
// again until ctx ends.
func (s *sender) beat(ctx context.Context) {
	for next := firstBeat; ; next = heartbeat {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
			_ = s.send([]byte(":\n\n")) // it stops ctx if nobody reads
		}
	}
}

// stream sends values as server-sent events, each with its id if it has one.
func stream[T any](w http.ResponseWriter, r *http.Request, values func(context.Context) iter.Seq2[T, error], id func(T) string) {
	ctx, stop := context.WithCancel(r.Context())
	s := &sender{w: w, rc: http.NewResponseController(w), stop: stop}
	var beats sync.WaitGroup
	defer beats.Wait()
	defer stop()
	beats.Go(func() { s.beat(ctx) })
	for v, err := range values(ctx) {
		if err != nil {
			s.fail(err)
			return
		}
		if s.event(id(v), "", v) != nil {
			return // the reader went away
		}
	}
	_ = s.event("", streamEnd, struct{}{})
}

// event sends one server-sent event.
func (s *sender) event(id, name string, v any) error {
	b, err := jsontext.Marshal(v)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	return s.send(fmt.Appendf(nil, "%s%sdata: %s\n\n", id, name, b))
}

// fileKinds are the types of files that a browser may show. All else is bytes to it: what a job has made
// is no page of this server, whatever its name is.
var fileKinds = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".wav": "audio/wav", ".ogg": "audio/ogg", ".opus": "audio/ogg", ".flac": "audio/flac",
	".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
	".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".srt": "text/plain; charset=utf-8", ".vtt": "text/vtt; charset=utf-8", ".csv": "text/plain; charset=utf-8", ".json": "text/plain; charset=utf-8",
}

// filePolicy lets a file that is opened by itself do nothing.
const filePolicy = "default-src 'none'; sandbox"

// serveFile answers with a file that a job has made, or with a range of it.
func serveFile(c adroit.Client, w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if refuseLast(w, q.Get("job")) {
		return
	}
	f := &artifactFile{ctx: r.Context(), c: c, job: q.Get("job"), want: adroit.ArtifactFile{Artifact: q.Get("artifact"), Path: q.Get("path")}}
	first, err := f.piece(0)
	if err != nil {
		fail(w, err)
		return
	}
	f.is = *first
	name, how := path.Base(filepath.ToSlash(first.Path)), "attachment"
	kind := fileKinds[strings.ToLower(path.Ext(name))]
	if kind != "" && q.Get("download") != "true" {
		how = "inline"
	}
	h := w.Header()
	h.Set("Content-Type", cmp.Or(kind, "application/octet-stream"))
	h.Set("Content-Disposition", cmp.Or(mime.FormatMediaType(how, map[string]string{"filename": name}), how))
	h.Set("Content-Security-Policy", filePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x-%x", first.Size, first.Modified.UnixNano())))
	http.ServeContent(w, r, "", first.Modified, f)
}

// An artifactFile reads a file that a job has made in pieces, each by a call of the client. It is an
// [io.ReadSeeker] of one state of the file: if it changes, reading fails.
type artifactFile struct {
	ctx  context.Context
	c    adroit.Client
	job  string
	want adroit.ArtifactFile
	is   adroit.FilePiece // the last piece
	from int64            // the offset of its data
	at   int64
}

func (f *artifactFile) piece(offset int64) (*adroit.FilePiece, error) {
	f.want.Offset = offset
	return f.c.ArtifactFile(f.ctx, f.job, f.want)
}

// Seek implements [io.Seeker].
func (f *artifactFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.is.Size
	}
	if offset < 0 {
		return 0, errors.New("before the beginning")
	}
	f.at = offset
	return offset, nil
}

// Read implements [io.Reader].
func (f *artifactFile) Read(b []byte) (int, error) {
	if f.at >= f.is.Size {
		return 0, io.EOF
	}
	if f.at < f.from || f.at >= f.from+int64(len(f.is.Data)) {
		p, err := f.piece(f.at)
		if err != nil {
			return 0, err
		}
		if p.Size != f.is.Size || !p.Modified.Equal(f.is.Modified) || len(p.Data) == 0 {
			return 0, errors.New("the file has changed while it was sent")
		}
		f.is, f.from = *p, f.at
	}
	n := copy(b, f.is.Data[f.at-f.from:])
	f.at += int64(n)
	return n, nil
}
