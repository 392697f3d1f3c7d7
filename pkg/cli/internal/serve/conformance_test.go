//lint:file-ignore SA1019 the suite asks for what revision 2026-07-28 deprecates

package serve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"testing/fstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/dev/e2e/conformance"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/executor"
)

// TestConformance runs the conformance suite of the protocol on our server: agents
// have the names that the suite calls where a job can do what it asks, and what else
// it wants is registered beside them, as everything has it. What is expected to fail
// is in a list; an entry that passes fails the test.
func TestConformance(t *testing.T) {
	agent := func(model, tools, inputs string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\ndescription: For the suite.\nmodel: " + model + "/x\nexpose: true\n" + tools + "inputs:\n  " + inputs + "\n---\nYou work.\n")}
	}
	const none, writes = "what: {default: something}", "tools: [write_file]\n"
	suite := fstest.MapFS{
		"test_simple_text.md":                          agent("greets", "", none),
		"test_error_handling.md":                       agent("fails", "", none),
		"test_tool_with_progress.md":                   agent("greets", "", none),
		"test_elicitation.md":                          agent("writes", writes, "message: What is asked."),
		"test_input_required_result_request_state.md":  agent("writes", writes, none),
		"test_input_required_result_tampered_state.md": agent("writes", writes, none),
	}
	for _, revision := range []string{legacy, current} {
		t.Run(revision, func(t *testing.T) {
			w := newWorldOf(t, suite, nil)
			l, err := api.Open(api.Options{Address: "127.0.0.1:0", Token: token})
			w.must(err)
			ctx, stop := context.WithCancel(t.Context())
			handler := l.Guard(w.suite(ctx).Handler())
			front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+token) // the suite knows no tokens
				handler.ServeHTTP(rw, r)
			}))
			defer front.Close()
			defer stop() // the server's streams end first
			expected, err := filepath.Abs(filepath.Join("testdata", "conformance-"+revision+".yaml"))
			w.must(err)
			conformance.Run(t, "server", "--url", front.URL+serve.Path, "--requirements", revision, "--expected-failures", expected)
		})
	}
}

// suite is a server with all that the suite calls.
func (w *world) suite(ctx context.Context) *serve.Server {
	w.Helper()
	o := serve.Options{Log: w.Logf}
	o.Request.Dir, o.Request.Approve = w.dir, executor.ApproveAsk
	s, err := serve.NewWith(ctx, w.c, o, func(so *sdk.ServerOptions) {
		so.Capabilities = &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}}
		so.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
	}, everything)
	w.must(err)
	return s
}
