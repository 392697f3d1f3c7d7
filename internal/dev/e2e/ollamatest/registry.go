package ollamatest

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A Registry offers the models of one server to others, as ollama.com does,
// over the protocol of /api/pull.
type Registry struct {
	http *httptest.Server

	mu     sync.Mutex
	gate   <-chan struct{}
	served int // blobs begun
}

// NewRegistry offers the models of a server's store until the test ends.
func NewRegistry(t testing.TB, from *Server) *Registry {
	r := &Registry{}
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		path, direct := strings.CutPrefix(q.URL.Path, "/direct")
		rest, ok := strings.CutPrefix(path, "/v2/library/")
		name, what, _ := strings.Cut(rest, "/")
		kind, id, _ := strings.Cut(what, "/")
		switch {
		case ok && kind == "manifests":
			http.ServeFile(w, q, filepath.Join(from.Store, "manifests", "registry.ollama.ai", "library", filepath.Base(name), filepath.Base(id)))
		case ok && kind == "blobs" && q.Method == http.MethodGet && !direct:
			// A blob lies on another host, as the server expects.
			_, port, _ := strings.Cut(q.Host, ":")
			http.Redirect(w, q, "http://localhost:"+port+"/direct"+path, http.StatusTemporaryRedirect)
		case ok && kind == "blobs":
			r.mu.Lock()
			gate := r.gate
			if q.Method == http.MethodGet {
				r.served++
			}
			r.mu.Unlock()
			if gate != nil && q.Method == http.MethodGet {
				select {
				case <-gate:
				case <-q.Context().Done():
					return
				}
			}
			http.ServeFile(w, q, filepath.Join(from.Store, "blobs", strings.Replace(filepath.Base(id), ":", "-", 1)))
		default:
			http.NotFound(w, q)
		}
	}))
	t.Cleanup(func() {
		r.http.CloseClientConnections()
		r.http.Close()
	})
	return r
}

// Name returns the name with which to pull a model of the registry.
func (r *Registry) Name(model string) string { return r.http.URL + "/library/" + model + ":latest" }

// Hold has blobs wait until gate is closed; nil for no longer.
func (r *Registry) Hold(gate <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = gate
}

// Served returns the number of requests for blobs.
func (r *Registry) Served() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.served
}
