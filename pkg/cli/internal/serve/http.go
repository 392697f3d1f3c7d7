package serve

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where a server is over HTTP.
const Path = "/mcp"

// Handler serves any number of clients until the context of the server ends. Who may
// reach it may do all that the server exposes. The newest revision knows no sessions,
// the older ones need them to ask a person.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	stateful := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{MaxRequestBodyBytes: maxMessage, SessionTimeout: 24 * time.Hour})
	stateless := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{MaxRequestBodyBytes: maxMessage, Stateless: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= newRevision {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
}
