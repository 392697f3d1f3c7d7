package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/config"
)

// A pull's progress arrives in its order, with the error that ends it; a reader
// that leaves ends the pull.
func TestPull(t *testing.T) {
	left := make(chan struct{})
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "{\"status\": \"pulling manifest\"}\n{\"status\": \"pulling a\", \"digest\": \"a\", \"total\": 10, \"completed\": 5}\n")
		w.(http.Flusher).Flush()
		if bytes.Contains(b, []byte("endless")) {
			<-r.Context().Done()
			close(left)
			return
		}
		fmt.Fprintln(w, `{"error": "pull model manifest: file does not exist"}`)
	}))
	defer ollama.Close()
	variables := map[string]string{"HOME": t.TempDir(), "OLLAMA_HOST": ollama.URL}
	c, err := config.Load(config.Env{Getenv: func(k string) string { return variables[k] }}, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options(config.Program{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := adroit.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	client := api.Loopback(rt)
	defer client.Close()

	var got []adroit.PullProgress
	var failed error
	for p, err := range client.PullModel(t.Context(), adroit.ModelPull{Model: "ollama/none"}) {
		if failed = err; err == nil {
			got = append(got, p)
		}
	}
	want := []adroit.PullProgress{{Status: "pulling manifest"}, {Status: "pulling a", Digest: "a", Done: 5, Total: 10}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if failed == nil || !strings.Contains(failed.Error(), "does not exist") || problem.Hint(failed) == "" {
		t.Errorf("%v, hint %q", failed, problem.Hint(failed))
	}
	for range client.PullModel(t.Context(), adroit.ModelPull{Model: "endless"}) {
		break
	}
	<-left
}
