package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
)

// maxBody bounds a request in bytes.
const maxBody = 16 << 20

// Handler serves a client. It authenticates nobody: who may reach it may do all
// that the client can.
func Handler(c adroit.Client) http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.HandleFunc("POST "+e.path(), e.serve(c))
	}
	mux.HandleFunc("GET "+eventsPath, func(w http.ResponseWriter, r *http.Request) { serveEvents(c, w, r) })
	return mux
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
		b, err := jsontext.Marshal(out)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b) // a client that went away needs no answer
	}
}

func (r streamRoute[In, Out]) serve(c adroit.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if in, ok := request[In](w, req); ok {
			stream(w, r.call(req.Context(), c, in), func(Out) string { return "" })
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
	if _, is := any(in).(adroit.Request); is && refuseEmptyKey(w, read.Bytes()) {
		return in, false
	}
	return in, true
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

// refuseLast answers a request about last: whoever sends it means their directory, which
// a server does not know.
func refuseLast(w http.ResponseWriter, ref string) bool {
	if !strings.EqualFold(strings.TrimSpace(ref), "last") {
		return false
	}
	fail(w, problem.Invalidf("/v1/jobs/list with dir, here and limit 1 has its id", "a server does not know whose last job is meant"))
	return true
}

// refuseEmptyKey answers a request for a job whose key is there and empty: whoever sends it
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
	problem.Running: http.StatusConflict, problem.Blocked: http.StatusConflict, problem.Answered: http.StatusConflict,
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	e := problem.AsError(err)
	code, ok := statuses[e.Kind]
	if !ok {
		code = http.StatusInternalServerError
	}
	b, err := jsontext.Marshal(e)
	if err != nil {
		panic(err) // strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(b)
}

const (
	eventsPath  = "/v1/jobs/events"
	lastEventID = "Last-Event-ID" // a header
)

// Names of the events of a stream that carry none of its values.
const (
	streamError = "error" // the data is an adroit.Error
	streamEnd   = "end"   // without it, the stream was cut
)

// serveEvents streams events. The id of each is its number, so that a reader
// can go on after the last one it has seen.
func serveEvents(c adroit.Client, w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	o := adroit.EventOptions{Follow: q.Get("follow") == "true", Live: q.Get("live") == "true"}
	// A reader that connects again repeats the address of its first request, and names
	// the last event that it has seen in the header.
	for _, given := range []struct{ name, value string }{{"after", q.Get("after")}, {lastEventID, r.Header.Get(lastEventID)}} {
		if given.value == "" {
			continue
		}
		after, err := strconv.ParseInt(given.value, 10, 64)
		if err != nil {
			fail(w, problem.Invalidf("it is the number of an event", "%s is %q", given.name, given.value))
			return
		}
		o.After = max(o.After, after)
	}
	if refuseLast(w, q.Get("job")) {
		return
	}
	stream(w, c.Events(r.Context(), q.Get("job"), o), func(ev event.Event) string {
		if ev.Seq == 0 {
			return ""
		}
		return strconv.FormatInt(ev.Seq, 10)
	})
}

// stream sends values as server-sent events, each with its id if it has one.
func stream[T any](w http.ResponseWriter, values iter.Seq2[T, error], id func(T) string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w)
	for v, err := range values {
		if err != nil {
			_ = send(w, "", streamError, problem.AsError(err))
			_ = flush.Flush()
			return
		}
		if send(w, id(v), "", v) != nil || flush.Flush() != nil {
			return // the reader went away
		}
	}
	_ = send(w, "", streamEnd, struct{}{})
}

// send writes one server-sent event.
func send(w io.Writer, id, name string, v any) error {
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
	_, err = fmt.Fprintf(w, "%s%sdata: %s\n\n", id, name, b)
	return err
}
