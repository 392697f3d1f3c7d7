package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// revokeTime bounds the time that revoking a login may take.
const revokeTime = 15 * time.Second

// A Logout is how a logout has ended.
type Logout struct {
	Was     bool  // there was a login
	Revoked bool  // the server has revoked it
	Failed  error // why it has not, nil if it offers no revocation
}

// Logout forgets the tokens of a login at a server, and asks the server to revoke them if it
// supports that (RFC 7009): a backup may still contain them.
func (p *Pool) Logout(ctx context.Context, name string) (out Logout, err error) {
	s := p.o.Servers[name]
	g, err := p.grant(name, s)
	if err == nil && g != nil {
		ctx, cancel := context.WithTimeout(ctx, revokeTime)
		defer cancel()
		out.Revoked, out.Failed = p.revoke(ctx, s, g)
	}
	out.Was, err = p.o.Keys.Remove(grantKey(name))
	return out, err
}

// revoke asks the authorization server that gave a grant to revoke it; done is
// false without an error if it offers none.
func (p *Pool) revoke(ctx context.Context, s Server, g *grant) (done bool, err error) {
	client := p.networkGuard(s).Client()
	defer client.CloseIdleConnections()
	meta, err := auth.GetAuthServerMetadata(ctx, issuerOf(ctx, s.URL, client), client)
	switch {
	case err != nil:
		return false, errors.New(line(err.Error()))
	case meta == nil || meta.RevocationEndpoint == "":
		return false, nil
	case meta.TokenEndpoint != g.Client.TokenURL:
		return false, errors.New("the server names another authorization server than the one of the login") // which gets no tokens of it
	}
	form := url.Values{"token": {cmp.Or(g.Token.RefreshToken, g.Token.AccessToken)}, "token_type_hint": {"refresh_token"}}
	if g.Token.RefreshToken == "" {
		form.Set("token_type_hint", "access_token")
	}
	inHeader := oauth2.AuthStyle(g.Client.Style) == oauth2.AuthStyleInHeader
	if !inHeader {
		form.Set("client_id", g.Client.ID)
		if g.Client.Secret != "" {
			form.Set("client_secret", g.Client.Secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, meta.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader {
		r.SetBasicAuth(url.QueryEscape(g.Client.ID), url.QueryEscape(g.Client.Secret))
	}
	// A redirect would get the token.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	if err != nil {
		return false, errors.New(line(err.Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the server answers with status %d", resp.StatusCode)
	}
	return true, nil
}

// issuerOf returns the authorization server of an address: the first that it names, or its own
// host.
func issuerOf(ctx context.Context, address string, client *http.Client) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	own := u.Scheme + "://" + u.Host
	for _, where := range []struct{ path, resource string }{{u.Path, address}, {"", own}} {
		const wellKnown = "/.well-known/oauth-protected-resource"
		m, err := oauthex.GetProtectedResourceMetadata(ctx, own+wellKnown+strings.TrimSuffix(where.path, "/"), where.resource, client)
		if err == nil && len(m.AuthorizationServers) > 0 {
			return m.AuthorizationServers[0]
		}
	}
	return own
}

// maxStream bounds one body of an answer, however long it takes.
const maxStream = 64 << 20

// overHTTP returns the transport to an address, through the network guard. The operator has named
// the address, so it need not be public; addresses that it redirects to must be.
func (p *Pool) overHTTP(c *session, s Server) (sdk.Transport, func(), error) {
	g := p.networkGuard(s)
	g.Timeout, g.MaxBody = 24*time.Hour, maxStream // calls have limits of their own
	client := g.Client()
	u, err := url.Parse(s.URL)
	if err == nil {
		client.Transport = &toServer{client.Transport, hostPort(u), s.Headers, c.wire, c.wrote}
	}
	by, err := p.authorization(c.name, s, client)
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: 1, OAuthHandler: by}, client.CloseIdleConnections, err
}

// networkGuard returns the network rules for a server's address.
func (p *Pool) networkGuard(s Server) netguard.Guard {
	g := p.o.Network
	g.Allow = slices.Clone(g.Allow)
	if u, err := url.Parse(s.URL); err == nil && !s.project() {
		g.Allow = append(g.Allow, hostPort(u))
	}
	return g
}

// hostPort returns the host of an address with its port.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// maxNotice bounds a body that may be a notice.
const maxNotice = 4 << 10

// maxRefusal bounds how many bytes are read of an answer that is not a message.
const maxRefusal = 64 << 10

// toServer adds an entry's headers to the requests for its host, and to no
// other's: a redirect does not get them. What is sent there and comes back passes
// through the wire.
type toServer struct {
	next    http.RoundTripper
	host    string
	headers map[string]string
	wire    *wire
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
	body, known := bodyOf(r)
	q := t.wire.sends(body)
	if q.call != nil {
		q.note(func(d *delivery) { *d = delivery{} }) // it may be made anew, with a login
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { q.note(func(d *delivery) { d.sent = true }) },
		}))
	}
	if len(body) > 0 && len(body) <= maxNotice {
		defer t.wrote(body)
	}
	var m envelope
	if known && (body == nil || json.Unmarshal(body, &m) == nil && m.Method != "" && m.Method != "tools/call") {
		resend(r) // never the call of a tool, and what cannot be read may be one
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if known && m.Method != "" && len(m.ID) == 0 && slices.Contains(indifferent, resp.StatusCode) {
		_ = resp.Body.Close()
		resp.StatusCode, resp.Status, resp.Body = http.StatusAccepted, "", http.NoBody
	}
	return t.answered(q, resp), nil
}

// indifferent are statuses with which servers answer a notification that they do not know. Nothing
// waits for that.
var indifferent = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented}

// bodyOf returns the body of a request; known is false if it cannot be read.
func bodyOf(r *http.Request) (b []byte, known bool) {
	if r.Body == nil {
		return nil, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	again, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	b, err = io.ReadAll(again) // of the memory
	return b, err == nil
}

// answered returns an answer with its messages in the form that the library accepts.
func (t *toServer) answered(q request, resp *http.Response) *http.Response {
	q.note(func(d *delivery) { d.status = resp.StatusCode })
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	good := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case good && kind == "text/event-stream":
		resp.Body = &events{in: resp.Body, lines: bufio.NewReaderSize(resp.Body, 64<<10), wire: t.wire, call: q}
	case good && kind == "application/json":
		resp.Body = &whole{in: resp.Body, wire: t.wire}
	case q.method != "":
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		resp.Body = withRest(text, err, resp.Body)
		if good && json.Valid(text) {
			resp.Header.Set("Content-Type", "application/json")
			resp.Body = &whole{in: resp.Body, wire: t.wire}
			break
		}
		t.wire.refuses(q, text)
		q.note(func(d *delivery) { d.answer = refusalText(text) })
	}
	return resp
}

// refusalText returns the error message in an answer that is not a protocol message, or else its
// whole text.
func refusalText(text []byte) string {
	var m struct{ Error struct{ Message string } }
	if json.Unmarshal(text, &m) == nil && m.Error.Message != "" {
		return m.Error.Message
	}
	return string(text)
}

// withRest restores a body of which a part was read.
func withRest(read []byte, err error, body io.ReadCloser) io.ReadCloser {
	rest := io.Reader(body)
	if err != nil {
		rest = failing{err}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), rest), body}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// whole is a body that is one message.
type whole struct {
	in    io.ReadCloser
	wire  *wire
	ready *bytes.Reader
	err   error
}

// Read implements [io.Reader].
func (w *whole) Read(p []byte) (int, error) {
	if w.ready == nil {
		text, err := io.ReadAll(w.in)
		if w.err = err; err == nil {
			if out := w.wire.read(text); len(out) > 0 {
				text = answerOf(out)
			}
		}
		w.ready = bytes.NewReader(text)
	}
	n, err := w.ready.Read(p)
	if err == io.EOF && w.err != nil {
		err = w.err
	}
	return n, err
}

// Close implements [io.Closer].
func (w *whole) Close() error { return w.in.Close() }

// events is a body that is a stream of events, each with a message.
type events struct {
	in    io.ReadCloser
	lines *bufio.Reader
	wire  *wire
	call  request
	ready []byte
	err   error
}

// Read implements [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 && e.err == nil {
		e.ready, e.err = e.next()
	}
	if len(e.ready) == 0 {
		return 0, e.err
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// next returns the next event: its fields, and its data on one line. If the message of an event
// needs nothing further, only its fields are kept. Lines that are not fields are dropped,
// since they would end the connection.
func (e *events) next() ([]byte, error) {
	var out, data, name []byte
	for has := false; ; {
		l, err := boundedLine(e.lines, maxMessage-len(data))
		if errors.Is(err, errTooLarge) {
			e.call.note(func(d *delivery) { d.fault = err.Error() })
		}
		text := bytes.TrimPrefix(bytes.TrimRight(l, "\r\n"), []byte("\ufeff"))
		value, isData := bytes.CutPrefix(text, []byte("data:"))
		switch {
		case isData && has:
			data = append(data, '\n')
			fallthrough
		case isData:
			has, data = true, append(data, bytes.TrimPrefix(value, []byte(" "))...)
		case bytes.HasPrefix(text, []byte("event:")):
			name = append(bytes.Clone(text), '\n')
		case bytes.IndexByte(text, ':') > 0:
			out = append(append(out, text...), '\n')
		}
		if len(text) == 0 || err != nil {
			message := data
			if has {
				var ok bool
				if message, ok = e.wire.message(data); !ok { // the library sees what it is
					out, message = append(out, name...), data
				}
			}
			if len(message) > 0 {
				message = bytes.ReplaceAll(message, []byte("\n"), []byte("\ndata: "))
				out = append(append(append(out, "data: "...), oneByOne(message, "\n\ndata: ")...), '\n')
			}
			if len(out) > 0 {
				out = append(out, '\n')
			}
			return out, err
		}
	}
}

// Close implements [io.Closer].
func (e *events) Close() error { return e.in.Close() }

// resend has the transport send a request once more when the server closed the
// connection, which had been idle, just as the request was written. The header makes
// it so for a POST too, and is not sent: see [http.Transport].
func resend(r *http.Request) {
	r.Header["Idempotency-Key"] = nil
}

// CloseIdleConnections implements the method that http.Client looks for.
func (t *toServer) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
