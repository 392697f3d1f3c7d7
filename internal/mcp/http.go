package mcp

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/netguard"
)

// maxStream bounds one body of an answer, however long it takes.
const maxStream = 64 << 20

// overHTTP is the transport to an address, through the network guard. The operator
// has named the address, so that it may be one that is not public; where it leads
// to may not.
func (p *Pool) overHTTP(c *session, s Server) (sdk.Transport, func(), error) {
	g := p.reach(s)
	g.Timeout, g.MaxBody = 24*time.Hour, maxStream // calls have limits of their own
	client := g.Client()
	u, err := url.Parse(s.URL)
	if err == nil {
		client.Transport = &toServer{client.Transport, hostPort(u), s.Headers, c.wrote}
	}
	by, err := p.authorization(c.name, s, client)
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: 1, OAuthHandler: by}, client.CloseIdleConnections, err
}

// reach is what guards the way to a server's address.
func (p *Pool) reach(s Server) netguard.Guard {
	g := p.o.Network
	g.Allow = slices.Clone(g.Allow)
	if u, err := url.Parse(s.URL); err == nil && !s.project() {
		g.Allow = append(g.Allow, hostPort(u))
	}
	return g
}

// hostPort is the host of an address with its port.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// maxNotice bounds a body that may be a notice.
const maxNotice = 4 << 10

// toServer adds an entry's headers to the requests for its host, and to no
// other's: a redirect does not get them. It shows the small ones that were answered.
type toServer struct {
	next    http.RoundTripper
	host    string
	headers map[string]string
	wrote   func([]byte)
}

// RoundTrip implements [http.RoundTripper].
func (t *toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if hostPort(r.URL) != t.host {
		resend(r) // to one that logs in
		return t.next.RoundTrip(r)
	}
	for k, v := range t.headers {
		r.Header.Set(k, v)
	}
	if r.GetBody != nil && r.ContentLength <= maxNotice {
		if again, err := r.GetBody(); err == nil {
			b, _ := io.ReadAll(again) // of the memory
			defer t.wrote(b)
		}
	}
	if !callsTool(r) {
		resend(r)
	}
	return t.next.RoundTrip(r)
}

// resend has the transport send a request once more when the server closed the
// connection, which had been idle, just as the request was written. The header makes
// it so for a POST too, and is not sent: see [http.Transport].
func resend(r *http.Request) {
	r.Header["Idempotency-Key"] = nil
}

// callsTool reports whether a request may call a tool, which is never done twice.
// What cannot be read may.
func callsTool(r *http.Request) bool {
	if r.Body == nil {
		return false
	}
	if r.GetBody == nil {
		return true
	}
	body, err := r.GetBody()
	if err != nil {
		return true
	}
	var message struct{ Method string }
	return json.NewDecoder(body).Decode(&message) != nil || message.Method == "" || message.Method == "tools/call"
}

// CloseIdleConnections is what http.Client looks for.
func (t *toServer) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
