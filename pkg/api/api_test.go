package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/adroit/adroittest"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/llm"
)

func TestLoopback(t *testing.T) {
	adroittest.Test(t, func(_ *testing.T, rt *adroit.Runtime) adroit.Client { return api.Loopback(rt) })
}

// The same holds over a socket.
func TestSocket(t *testing.T) {
	adroittest.Test(t, func(t *testing.T, rt *adroit.Runtime) adroit.Client {
		s := httptest.NewServer(api.Handler(rt))
		t.Cleanup(s.Close)
		return api.NewClient(s.URL, s.Client())
	})
}

// Every method of the interface is in the table: a new one without a route
// would be missing from the reference.
func TestReferenceIsWhole(t *testing.T) {
	ref := api.Reference()
	methods := reflect.TypeFor[adroit.Client]().NumMethod()
	if routes := strings.Count(ref, "/v1/"); routes != methods { // Close has none, LintAgents and LintPipelines have one together; access is of the server, and files have a second one
		t.Errorf("%d routes for %d methods", routes, methods)
	}
}

// What is no request of the table is refused with an error of the interface.
func TestRefusedRequests(t *testing.T) {
	rt, err := adroit.Open(t.Context(), adroit.Options{Models: map[string]llm.Model{"x": nil}})
	if err != nil {
		t.Fatal(err)
	}
	c := api.Loopback(rt)
	defer c.Close()
	h := api.Handler(rt)
	for body, want := range map[string]int{`{"nobody": 1}`: http.StatusBadRequest, `nonsense`: http.StatusBadRequest, `{"job": "none"}`: http.StatusNotFound} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs/show", strings.NewReader(body)))
		if w.Code != want || !strings.Contains(w.Body.String(), `"kind":`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	for _, name := range []string{"resolve", "submit"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs/"+name, strings.NewReader(`{"target": "builder", "model": "x", "prompt": "Go.", "dir": "/no/such"}`)))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s of a directory that is not there: %d %s", name, w.Code, w.Body)
		}
	}
	for body, want := range map[string]string{
		`{"jbo": "x"}`:         `line 1: there is no key "jbo" (did you mean "job"?)`,
		"{\n\"quite odd\": 1}": `line 2: there is no key "quite odd"`,
		`{"job": 5}`:           `line 1: job: it must be text, and is a number`,
		`[]`:                   `line 1: it must be keys with values, and is a list`,
		``:                     `is empty; send one JSON object`,
		`{"job"`:               `line 1: it is no JSON`,
		`{"job": "` + strings.Repeat("x", 17<<20) + `"}`: `has more than 16777216 bytes`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs/show", strings.NewReader(body)))
		var e struct{ Type, Title, Detail, Hint string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusBadRequest || e.Type == "" || !strings.Contains(e.Detail+"; "+e.Hint, want) || strings.Contains(e.Detail, "json:") || strings.Contains(e.Detail, "Go ") || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.40s: %d %+v %v, want %s", body, w.Code, e, err, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/lint", strings.NewReader(`{"kind": "tools"}`)))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "agents or pipelines") {
		t.Errorf("lint of tools: %d %s", w.Code, w.Body)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	if _, err := api.NewClient(gone.URL, gone.Client()).Jobs(t.Context(), adroit.ListOptions{}); !errors.As(err, new(*problem.Error)) {
		t.Errorf("an answer that is none of the interface: %v", err)
	}
	gone.Close()
	if _, err := api.NewClient(gone.URL, gone.Client()).Jobs(t.Context(), adroit.ListOptions{}); err == nil || !strings.HasPrefix(err.Error(), gone.URL+": dial tcp") {
		t.Errorf("a server that has ended: %v", err)
	}
}

// recordsOptions is a client that records how its events are asked for.
type recordsOptions struct {
	adroit.Client
	asked adroit.EventOptions
}

func (c *recordsOptions) Events(_ context.Context, _ string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	c.asked = o
	return func(func(event.Event, error) bool) {}
}

// A reader of events that connects again goes on after the last one that it has seen,
// wherever it began.
func TestLastEventID(t *testing.T) {
	for _, tt := range []struct {
		after, header string
		want          int64
		code          int
	}{
		{"", "", 0, http.StatusOK},
		{"", "7", 7, http.StatusOK},
		{"3", "", 3, http.StatusOK},
		{"3", "7", 7, http.StatusOK},
		{"7", "3", 7, http.StatusOK},
		{"", "seven", 0, http.StatusBadRequest},
		{"x", "7", 0, http.StatusBadRequest},
	} {
		c := &recordsOptions{}
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/jobs/events?job=J1&after="+tt.after, nil)
		r.Header.Set("Last-Event-ID", tt.header)
		api.Handler(c).ServeHTTP(w, r)
		if w.Code != tt.code || c.asked.After != tt.want {
			t.Errorf("after %q, header %q: %d, after %d; want %d, %d: %s", tt.after, tt.header, w.Code, c.asked.After, tt.code, tt.want, w.Body)
		}
	}
}

// numbered is a client with n events of all jobs and of one, and then none until ctx ends.
type numbered struct {
	adroit.Client
	n int64
}

func (c numbered) AllEvents(ctx context.Context, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for id := o.After + 1; id <= c.n; id++ {
			if !yield(event.Event{ID: id, Job: "J1", Seq: id, Text: strings.Repeat("x", 1<<10)}, nil) {
				return
			}
		}
		if o.Follow {
			<-ctx.Done()
			yield(event.Event{}, context.Cause(ctx))
		}
	}
}

func (c numbered) Events(ctx context.Context, job string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	if job != "J1" {
		return func(yield func(event.Event, error) bool) {
			yield(event.Event{}, &problem.Error{Kind: problem.NotFound, Message: "there is none"})
		}
	}
	return c.AllEvents(ctx, adroit.EventOptions{After: o.After})
}

// A program without streams asks again and again, and loses nothing; a job that is not there
// is not found.
func TestPoll(t *testing.T) {
	h := api.Handler(numbered{n: 300})
	for path, want := range map[string]string{
		"/v1/events?after=10&wait=1s":               `256 events, last 266`,
		"/v1/events?after=299&wait=20s":             `1 events, last 300`,
		"/v1/events?after=300&wait=50ms":            `0 events, last 300`,
		"/v1/jobs/events?job=J1&after=300&wait=20s": `0 events, last 300, ended`,
		"/v1/jobs/events?job=J2&wait=20s":           `404`,
		"/v1/jobs/events?job=J2":                    `404`,
		"/v1/events?wait=21s":                       `400`,
		"/v1/events?wait=soon":                      `400`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		var out struct {
			Events []event.Event
			Last   int64
			Ended  bool
		}
		_ = json.Unmarshal(w.Body.Bytes(), &out)
		got := fmt.Sprintf("%d events, last %d", len(out.Events), out.Last)
		if out.Ended {
			got += ", ended"
		}
		if w.Code != http.StatusOK {
			got = fmt.Sprint(w.Code)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// A reader that takes nothing is dropped, and goes on after the last event that it has; one that
// waits gets a sign that the server is there.
func TestSlowReader(t *testing.T) {
	defer api.SetTimes(20*time.Millisecond, 200*time.Millisecond)()
	const n = 20_000 // more than sockets keep
	dropped := make(chan struct{})
	var once sync.Once
	h := api.Handler(numbered{n: n})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		once.Do(func() { close(dropped) })
	}))
	defer s.Close()
	read := func(after string) (*bufio.Scanner, func()) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/v1/events?follow=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", after)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewScanner(res.Body), func() { res.Body.Close() }
	}
	lines, stop := read("")
	defer stop()
	<-dropped // it has read nothing
	last, seen := "", 0
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if seen++; id != fmt.Sprint(seen) {
				t.Fatalf("event %d has the id %s", seen, id)
			}
		}
		if lines.Text() == "" {
			last = fmt.Sprint(seen) // the event is whole
		}
	}
	if seen == n {
		t.Fatal("the slow reader was not dropped")
	}
	lines, stop = read(last)
	defer stop()
	for whole, _ := strconv.Atoi(last); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if whole++; id != fmt.Sprint(whole) {
				t.Fatalf("after %s comes %s, want %d", last, id, whole)
			}
		}
		if whole == n && lines.Text() == ":" {
			return // a heartbeat
		}
	}
	t.Error("the stream ended: ", lines.Err())
}

// answeredClient is a client of a job whose question has its answer.
type answeredClient struct{ adroit.Client }

func (answeredClient) Signal(context.Context, string, adroit.Signal) (*adroit.SignalSent, error) {
	return nil, &problem.Error{Kind: problem.Answered, Message: "it has its answer already"}
}

// A second answer is a conflict.
func TestSecondAnswer(t *testing.T) {
	w := httptest.NewRecorder()
	api.Handler(answeredClient{}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs/signal", strings.NewReader(`{"job": "J1", "options": {"name": "approve"}}`)))
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `"kind":"answered"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
