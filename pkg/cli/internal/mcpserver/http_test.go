package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/cli/internal/mcpserver"
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
func (w *world) listen(o mcpserver.Options) (url string) {
	w.Helper()
	l, err := mcpserver.Listen("127.0.0.1:0")
	w.must(err)
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	s := w.server(o)
	go func() { ended <- s.ServeHTTP(ctx, l, token) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	return "http://" + l.Addr().String() + mcpserver.Path
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
			cs, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: w.listen(mcpserver.Options{}), HTTPClient: &http.Client{Transport: bearer{}}}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
			w.must(err)
			defer cs.Close()
			over := &client{world: w, ClientSession: cs}
			if _, v := over.call("writer", map[string]any{"prompt": "Write."}); v.Status != jobs.Done || asked != 1 {
				t.Errorf("asked %d times, %+v", asked, v)
			}
		})
	}
}

// Who does not know the token, and what comes from a page of a browser, is refused;
// so is an address that others can reach.
func TestHTTPRefuses(t *testing.T) {
	w := newWorld(t, nil)
	url := w.listen(mcpserver.Options{})
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), mcpserver.Path)
	for _, tt := range []struct {
		name, host, origin, auth string
		want                     int
	}{
		{"as it is meant", host, "", "Bearer " + token, http.StatusOK},
		{"from itself", host, "http://" + host, "Bearer " + token, http.StatusOK},
		{"no token", host, "", "", http.StatusUnauthorized},
		{"another token", host, "", "Bearer " + token + "x", http.StatusUnauthorized},
		{"a page", host, "https://example.com", "Bearer " + token, http.StatusForbidden},
		{"a page on another port", host, "http://127.0.0.1:1", "Bearer " + token, http.StatusForbidden},
		{"a sandboxed page", host, "null", "Bearer " + token, http.StatusForbidden},
		{"rebinding", "evil.example", "", "Bearer " + token, http.StatusForbidden},
		{"rebinding with its origin", "evil.example", "http://evil.example", "Bearer " + token, http.StatusForbidden},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(hello))
			w.must(err)
			r.Host = tt.host
			for k, v := range map[string]string{"Origin": tt.origin, "Authorization": tt.auth, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
				if v != "" {
					r.Header.Set(k, v)
				}
			}
			resp, err := http.DefaultClient.Do(r)
			w.must(err)
			_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
			w.must(err)
			resp.Body.Close()
			refused := resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized
			if method == http.MethodPost && resp.StatusCode != tt.want || refused != (tt.want != http.StatusOK) {
				t.Errorf("%s, %s: %s, want %d", tt.name, method, resp.Status, tt.want)
			}
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(strings.Repeat(" ", 5<<20)))
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	w.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("5 MiB: %s", resp.Status)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "nonsense"} {
		if l, err := mcpserver.Listen(address); err == nil {
			l.Close()
			t.Errorf("listens on %q", address)
		}
	}
}
