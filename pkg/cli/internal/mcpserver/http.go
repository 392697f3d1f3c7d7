package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/adroit"
)

// Path is where a server is over HTTP.
const Path = "/mcp"

// Listen listens on a loopback address: nothing protects what is said on a network.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, adroit.Invalidf("for example --http 127.0.0.1:8765; port 0 takes a free one", "--http: %v", err)
	}
	if !loopback(l.Addr().String()) {
		return nil, errors.Join(adroit.Invalidf("for example --http 127.0.0.1:8765", "--http: %s is not an address of this machine alone", address), l.Close())
	}
	return l, nil
}

// loopback reports whether host:port is on this machine.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// NewToken makes a token that nobody can guess.
func NewToken() string { return rand.Text() }

// ServeHTTP serves any number of clients that have the token, until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	srv := &http.Server{Handler: s.handler(token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	defer context.AfterFunc(ctx, func() {
		s.stop()
		_ = srv.Close() // Serve returns then
	})()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler answers who knows the token and is no page of a browser. The newest
// revision knows no sessions, the older ones need them to ask a person.
func (s *Server) handler(token string) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	stateful := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{MaxRequestBodyBytes: maxMessage, SessionTimeout: 24 * time.Hour})
	stateless := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{MaxRequestBodyBytes: maxMessage, Stateless: true, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		origin := r.Header.Get("Origin")
		switch {
		case !loopback(r.Host), origin != "" && origin != "http://"+r.Host:
			http.Error(w, "this host or origin may not", http.StatusForbidden)
		case subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		case r.Header.Get("Mcp-Protocol-Version") >= newRevision:
			stateless.ServeHTTP(w, r)
		default:
			stateful.ServeHTTP(w, r)
		}
	})
	return mux
}
