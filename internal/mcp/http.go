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
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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
		c.sse = &sseTransport{next: client.Transport}
		client.Transport = &toServer{next: c.sse, host: hostPort(u), headers: s.Headers, wire: c.wire, wrote: c.wrote}
	}
	by, err := p.authorization(c.name, s, client)
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: 1, MaxEventSize: 2 * maxMessage, OAuthHandler: by}, client.CloseIdleConnections, err
}

// networkGuard returns the network rules for a server's address.
func (p *Pool) networkGuard(s Server) netguard.Guard {
	g := p.o.Network
	g.Allow = slices.Clone(g.Allow)
	if u, err := url.Parse(s.URL); err == nil && !s.project() {
		g.Allow = append(g.Allow, hostPort(u), secured(hostPort(u)))
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

// secured returns the host and port at which TLS has the server that has none at the usual port, or the same.
func secured(at string) string {
	if name, ok := strings.CutSuffix(at, ":80"); ok {
		return name + ":443"
	}
	return at
}

// maxNotice bounds a body that may be a notice.
const maxNotice = 4 << 10

// maxRefusal bounds how many bytes are read of an answer that is not a message.
const maxRefusal = 64 << 10

const eventStream = "text/event-stream"

// toServer adds an entry's headers to the requests for its host, and to no
// other's: a redirect does not get them. What is sent there and comes back passes
// through the wire, and an answer of any form becomes a stream of events: of the others
// the library ends the connection for one that it cannot read.
type toServer struct {
	next    http.RoundTripper
	host    string
	headers map[string]string
	wire    *wire
	wrote   func([]byte)

	listening atomic.Bool // the server has a stream for what belongs to no request
	tls       atomic.Bool // the server has redirected from http to https
}

// RoundTrip implements [http.RoundTripper].
func (t *toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if at := hostPort(r.URL); at != t.host && (at != secured(t.host) || r.URL.Scheme != "https") {
		resend(r) // to one that logs in
		return t.next.RoundTrip(r)
	}
	for k, v := range t.headers {
		r.Header.Set(k, v)
	}
	if strings.Contains(r.Header.Get("Accept"), eventStream) { // not for a login; the body is left to the decoder
		r.Header.Set("Accept-Encoding", "gzip")
	}
	if t.tls.Load() && r.URL.Scheme == "http" {
		r.URL.Scheme, r.URL.Host, r.Host = "https", strings.TrimSuffix(r.URL.Host, ":80"), ""
	}
	if r.Method == http.MethodGet && r.Header.Get("Accept") == eventStream {
		return t.stream(r)
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
	if to := t.toTLS(r, resp, known); to != nil {
		_ = resp.Body.Close()
		resp, err = t.next.RoundTrip(to)
	}
	if err != nil {
		return nil, err
	}
	if r.Header.Get(sessionHeader) != "" {
		resp.Header.Del(sessionHeader) // for another one the library would end the connection, and lose the answer
	}
	if known && m.Method != "" && len(m.ID) == 0 && slices.Contains(indifferent, resp.StatusCode) {
		_ = resp.Body.Close()
		resp.StatusCode, resp.Status, resp.Body = http.StatusAccepted, "", http.NoBody
	}
	t.keepMethod(r, resp)
	return t.answered(q, resp), nil
}

// toTLS returns a request as it is made again where the same server redirects it from http to https, or nil.
// All that follow go there at once: as a redirect they would lose what belongs to the session.
func (t *toServer) toTLS(r *http.Request, resp *http.Response, known bool) *http.Request {
	if resp == nil || !known || r.URL.Scheme != "http" || !slices.Contains([]int{301, 302, 307, 308}, resp.StatusCode) {
		return nil
	}
	to, err := r.URL.Parse(resp.Header.Get("Location"))
	if err != nil || to.Scheme != "https" || to.User != nil || hostPort(to) != secured(t.host) {
		return nil
	}
	t.tls.Store(true)
	again := r.Clone(r.Context())
	again.URL, again.Host = to, ""
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil
		}
	}
	return again
}

// keepMethod has the message of a request sent to the place to which the same server redirects it, as with the
// statuses 307 and 308. Those that came before are for browsers, and the message would be lost.
func (t *toServer) keepMethod(r *http.Request, resp *http.Response) {
	as := map[int]int{http.StatusMovedPermanently: http.StatusPermanentRedirect, http.StatusFound: http.StatusTemporaryRedirect}[resp.StatusCode]
	if as == 0 || r.Method != http.MethodPost {
		return
	}
	if to, err := r.URL.Parse(resp.Header.Get("Location")); err == nil && to.Scheme == r.URL.Scheme && hostPort(to) == hostPort(r.URL) {
		resp.StatusCode, resp.Status = as, ""
	}
}

// stream asks for a stream of events. Without one the connection goes on.
func (t *toServer) stream(r *http.Request) (*http.Response, error) {
	const eventID = "Last-Event-ID"
	if id := r.Header.Get(eventID); id != "" {
		q := t.wire.resumes(id)
		resp, err := t.next.RoundTrip(r)
		what := ""
		switch {
		case r.Context().Err() != nil || q.id == nil:
			return resp, err
		case err != nil:
			what = line(err.Error())
		case resp.StatusCode != http.StatusOK:
			_ = resp.Body.Close()
			what = fmt.Sprintf("the status %d", resp.StatusCode)
		default:
			return t.events(q, resp), nil
		}
		q.note(func(d *delivery) { d.fault = "broke off its answer and did not go on with it: " + what })
		t.wire.answered(q.id)
		return streamOf(r, io.NopCloser(strings.NewReader(`data: {"jsonrpc":"2.0","id":`+string(q.id)+`,"error":{"code":-32603,"message":"the answer ends"}}`+"\n\n"))), nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	l := &listener{t: t, r: r.Clone(ctx), stop: cancel}
	if !l.ask() {
		cancel()
		resp := streamOf(r, http.NoBody)
		resp.StatusCode, resp.Status = http.StatusMethodNotAllowed, ""
		return resp, r.Context().Err()
	}
	t.listening.Store(true)
	return streamOf(r, l), nil
}

// streamOf returns the answer to a request that is a stream of events.
func streamOf(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {eventStream}}, Body: body, Request: r}
}

// A listener is the stream on which a server sends what belongs to no request. Servers and
// proxies close it when they like, which ends nothing: it is asked for again, less often the longer nothing comes.
type listener struct {
	t    *toServer
	r    *http.Request
	stop context.CancelFunc
	body io.ReadCloser // nil: there is none at the moment
	over bool          // the server has no more of it
	wait time.Duration
}

// listenAgain bounds the time between two requests for a stream.
const listenAgain, listenSeldom = time.Second, 2 * time.Minute

// ask requests the stream, and reports whether there is one.
func (l *listener) ask() bool {
	resp, err := l.t.next.RoundTrip(l.r.Clone(l.r.Context()))
	if err != nil {
		return false
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != eventStream {
		_ = resp.Body.Close()
		l.over = resp.StatusCode < 500
		return false
	}
	l.body = l.t.events(request{}, resp).Body
	return true
}

// Read implements [io.Reader].
func (l *listener) Read(p []byte) (int, error) {
	for {
		if l.body != nil {
			n, err := l.body.Read(p)
			if n > 0 {
				l.wait = 0
				return n, nil
			}
			if err == nil {
				continue
			}
			_ = l.body.Close()
			l.body = nil
		}
		l.wait = min(max(2*l.wait, listenAgain), listenSeldom)
		again := time.After(l.wait)
		if l.over {
			again = nil
		}
		select {
		case <-l.r.Context().Done():
			return 0, context.Cause(l.r.Context())
		case <-again:
			l.ask()
		}
	}
}

// Close implements [io.Closer].
func (l *listener) Close() error {
	l.stop()
	return nil
}

// A pending body is of a call that was accepted, and whose answer comes by the other stream.
type pending struct{ over <-chan struct{} }

// Read implements [io.Reader].
func (b pending) Read([]byte) (int, error) {
	<-b.over
	return 0, io.EOF
}

// Close implements [io.Closer].
func (b pending) Close() error { return nil }

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
	good := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case q.method == "":
	case good && resp.StatusCode == http.StatusAccepted && resp.ContentLength == 0 && q.call != nil && t.listening.Load():
		resp.Header.Set("Content-Type", eventStream)
		resp.Body = pending{resp.Request.Context().Done()}
	case good:
		return t.events(q, resp)
	default:
		resp.Body = utf8Of(transport.Decoded(resp))
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		resp.Body = withRest(text, err, resp.Body)
		t.wire.refuses(q, text)
		var m envelope
		if own := json.Unmarshal(text, &m) == nil && len(m.ID) > 0 && string(m.ID) != "null"; !own && q.method == "initialize" {
			t.wire.passes(refusalText(text)) // the library reports only the status
		}
		q.note(func(d *delivery) { d.failed, d.answer = idText(m.ID) == idText(q.id), refusalText(text) })
	}
	return resp
}

// events returns an answer as a stream of events.
func (t *toServer) events(q request, resp *http.Response) *http.Response {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	body := utf8Of(transport.Decoded(resp))
	resp.Body = &events{in: body, lines: bufio.NewReaderSize(body, 64<<10), wire: t.wire, call: q, named: kind == eventStream}
	resp.Header.Set("Content-Type", eventStream)
	resp.Header.Del("Content-Encoding")
	resp.ContentLength = -1
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

// events is a body as a stream of events, each with one message, whatever form it has: events, a
// message, several on lines of their own, or text around them. What it is its first bytes decide, since
// content types are wrong in every way.
type events struct {
	in    io.ReadCloser
	lines *bufio.Reader
	wire  *wire
	call  request
	named bool // its content type is that of events

	begun bool
	other *messageReader // of a body that has no events
	id    string         // of the last event
	ready []byte
	err   error
}

// Read implements [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 && e.err == nil {
		e.begin()
		if e.other != nil {
			e.ready, e.err = e.message()
		} else {
			e.ready, e.err = e.next()
		}
		switch {
		case errors.Is(e.err, errTooLarge):
			e.call.note(func(d *delivery) { d.fault = e.err.Error() })
		case e.err != nil && e.err != io.EOF:
			e.call.note(func(d *delivery) { d.fault = cmp.Or(d.fault, "broke off its answer: "+line(e.err.Error())) })
		}
	}
	if len(e.ready) == 0 {
		return 0, e.err
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// begin looks at the first bytes of the body.
func (e *events) begin() {
	if e.begun {
		return
	}
	e.begun = true
	if is, known := eventsIn(e.lines); is || !known && e.named {
		e.lines = bufio.NewReaderSize(&lineEnds{in: e.lines}, 64<<10)
		return
	}
	e.other = newMessageReader(e.lines, e.wire, e.noise)
}

// eventsIn reports whether a body begins like a stream of events; known is false where it begins
// like a message no more than like that.
func eventsIn(b *bufio.Reader) (is, known bool) {
	for {
		head, _ := b.Peek(1)
		if len(head) == 0 {
			return false, false
		}
		switch head[0] {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf: // with the parts of a byte order mark
			_, _ = b.Discard(1)
			continue
		case ':':
			return true, true
		case '{', '[', 0x1e:
			return false, true
		}
		break
	}
	for n := 1; ; n++ {
		head, err := b.Peek(n)
		field := string(head)
		some := false
		for _, f := range []string{"data:", "event:", "id:", "retry:"} {
			if field == f {
				return true, true
			}
			some = some || strings.HasPrefix(f, field)
		}
		if !some || err != nil {
			return false, false
		}
	}
}

// message returns the next message of a body that has no events.
func (e *events) message() ([]byte, error) {
	out, err := e.other.next()
	if out = bytes.TrimSpace(out); len(out) > 0 {
		out = append(append([]byte("data: "), bytes.ReplaceAll(out, []byte("\n"), []byte("\n\ndata: "))...), "\n\n"...)
	}
	return out, err
}

// noise notes text of a body that is no message: it explains why there was no answer.
func (e *events) noise(text string) {
	e.call.note(func(d *delivery) { d.answer = cmp.Or(d.answer, text) })
	if e.call.call == nil {
		e.wire.passes(text)
	}
}

// next returns the next event: its fields, and its data on one line. Of an event whose data is no message, or
// needs nothing further, only the fields are kept, but not its name: messages come under any.
func (e *events) next() ([]byte, error) {
	var out, data []byte
	for has := false; ; {
		l, err := boundedLine(e.lines, maxMessage-len(data))
		text := bytes.TrimPrefix(bytes.TrimRight(l, "\r\n"), []byte("\ufeff"))
		value, isData := bytes.CutPrefix(text, []byte("data:"))
		bare := !has && len(text) > 0 && text[0] == '{' && json.Valid(text) // a line of JSON between events
		switch {
		case bare:
			has, data = true, text
		case isData && has:
			data = append(data, '\n')
			fallthrough
		case isData:
			has, data = true, append(data, bytes.TrimPrefix(value, []byte(" "))...)
		case bytes.HasPrefix(text, []byte("event:")):
		case bytes.HasPrefix(text, []byte("id:")):
			e.id = e.wire.at(e.id, string(bytes.TrimSpace(text[len("id:"):])), e.call)
			fallthrough
		case bytes.IndexByte(text, ':') > 0:
			out = append(append(out, text...), '\n')
		}
		if len(text) == 0 || err != nil || bare {
			var message []byte
			if has {
				var ok bool
				if message, ok = e.wire.message(data); !ok {
					e.noise(string(data))
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

// lineEnds has a line feed for each of the three ends that a line of an event can have.
type lineEnds struct {
	in io.Reader
	cr bool // the last byte was a carriage return
}

// Read implements [io.Reader].
func (l *lineEnds) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	out := p[:0]
	for _, c := range p[:n] {
		switch {
		case c == '\r':
			out = append(out, '\n')
		case c != '\n' || !l.cr:
			out = append(out, c)
		}
		l.cr = c == '\r'
	}
	return len(out), err
}

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
