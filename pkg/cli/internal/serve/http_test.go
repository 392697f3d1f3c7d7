package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/jobs"
)

const token = "a-token-of-the-test"

// A bearer sends the token.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

// listen serves over HTTP until the test ends.
func (w *world) listen(o serve.Options) (url string) {
	w.Helper()
	return w.listenTo(func(ctx context.Context) *serve.Server { return w.serverUntil(ctx, o) })
}

// listenTo listens for a server until the test ends.
func (w *world) listenTo(server func(context.Context) *serve.Server) (url string) {
	w.Helper()
	l, err := api.Open(api.Options{Address: "127.0.0.1:0", Token: token})
	w.must(err)
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	mux := http.NewServeMux()
	mux.Handle(serve.Path, server(ctx).Handler())
	go func() { ended <- l.Serve(ctx, mux) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	return l.URL() + serve.Path
}

// Over HTTP a job runs to its end, asks the client's person, and reports progress.
func TestHTTP(t *testing.T) {
	for _, revision := range []string{legacy, current} {
		t.Run(revision, func(t *testing.T) {
			w := newWorld(t, nil)
			asked := 0
			c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked++
					return yes(r.Params), nil
				}})
			cs, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: w.listen(serve.Options{}), HTTPClient: &http.Client{Transport: bearer{}}}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
			w.must(err)
			defer cs.Close()
			over := &client{world: w, ClientSession: cs}
			if _, v := over.call("writer", map[string]any{"prompt": "Write."}); v.Status != jobs.Done || asked != 1 {
				t.Errorf("asked %d times, %+v", asked, v)
			}
		})
	}
}

// A message that is too long is refused.
func TestHTTPBound(t *testing.T) {
	w := newWorld(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.listen(serve.Options{}), strings.NewReader(strings.Repeat(" ", 5<<20)))
	w.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := bearer{}.RoundTrip(r)
	w.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("5 MiB: %s", resp.Status)
	}
}
