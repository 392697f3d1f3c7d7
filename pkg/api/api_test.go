package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/adroit/adroittest"
	"github.com/adroit-run/adroit/pkg/api"
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
	if routes := strings.Count(ref, "/v1/"); routes != methods-2 { // Close has none, LintAgents and LintPipelines have one together
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
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/lint", strings.NewReader(`{"kind": "tools"}`)))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "agents or pipelines") {
		t.Errorf("lint of tools: %d %s", w.Code, w.Body)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	if _, err := api.NewClient(gone.URL, gone.Client()).Jobs(t.Context(), adroit.ListOptions{}); !errors.As(err, new(*apierr.Error)) {
		t.Errorf("an answer that is none of the interface: %v", err)
	}
}
