package api

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// Options control where to listen, and for whom.
type Options struct {
	Address string  // host:port; port 0 is a free one; unix:PATH is a socket that only this user can use
	Token   string  // of the owner, who may do all
	Tokens  *Tokens // of others; nil if there are none
	// Signed serves requests below SignedPath without a token, whatever host they are for: it
	// looks at their signatures itself. Nil: there are none.
	Signed http.Handler
	// Cert and Key are files of TLS. Without them the address must be one of this
	// machine: nothing else protects what is sent on a network.
	Cert, Key string
}

// A Listener listens.
type Listener struct {
	l      net.Listener
	token  string
	tokens *Tokens
	login  *login
	signed http.Handler
	leaf   *x509.Certificate // nil without TLS

	headerTime time.Duration
	most       int // connections
}

// Bounds of a server.
const (
	maxConnections = 2048
	maxHeader      = 64 << 10
	headerTime     = 10 * time.Second
	refusedTime    = time.Second // to send what is left of a request that is refused
	idleTime       = 2 * time.Minute
	grace          = 2 * time.Second // for requests to end when the server stops
)

// Open begins to listen.
func Open(o Options) (*Listener, error) {
	out := &Listener{token: o.Token, tokens: o.Tokens, login: &login{token: o.Token, tokens: o.Tokens}, signed: o.Signed, headerTime: headerTime, most: mostConnections()}
	var conf *tls.Config
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, problem.Invalidf("--cert and --key are files in PEM form that belong together", "TLS: %v", err)
		}
		conf, out.leaf = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, pair.Leaf
	}
	if path, ok := strings.CutPrefix(o.Address, unixScheme); ok {
		l, err := listenUnix(path)
		out.l = l
		return out, err
	}
	l, err := net.Listen("tcp", o.Address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, problem.Invalidf("perhaps adroit serves there already; 127.0.0.1:0 takes a free port", "another process listens on %s", o.Address)
	case err != nil:
		return nil, problem.Invalidf("for example 127.0.0.1:7420; port 0 takes a free one", "listening: %v", err)
	case conf == nil && !IsLoopback(l.Addr().String()):
		return nil, errors.Join(problem.Invalidf("for example 127.0.0.1:7420, which ssh -L reaches from another machine\n"+hint.Command("serve --cert FILE --key FILE")+" encrypts what is sent",
			"%s is not an address of this machine alone", o.Address), l.Close())
	}
	if out.l = l; conf != nil {
		out.l = tls.NewListener(l, conf)
	}
	return out, nil
}

// unixScheme begins the address of a socket in the file system.
const unixScheme = "unix:"

// listenUnix listens on a socket. One that a process left behind that runs no more is removed.
func listenUnix(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		c, failed := net.Dial("unix", path)
		if failed == nil {
			_ = c.Close()
			return nil, problem.Invalidf("perhaps adroit serves there already; choose another path", "another process listens on %s", path)
		}
		if info, gone := os.Lstat(path); gone == nil && info.Mode()&os.ModeSocket != 0 && errors.Is(failed, syscall.ECONNREFUSED) {
			if err = os.Remove(path); err == nil {
				l, err = net.Listen("unix", path)
			}
		}
	}
	if err != nil {
		return nil, problem.Invalidf("for example unix:/run/user/1000/adroit.sock", "listening: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// IsLoopback reports whether host:port is on this machine.
func IsLoopback(hostport string) bool {
	host := hostname(hostport)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.Trim(hostport, "[]")
	}
	return host
}

func (l *Listener) scheme() string {
	if l.leaf != nil {
		return "https"
	}
	return "http"
}

// URL returns the listener's URL, without a slash at its end.
func (l *Listener) URL() string {
	if l.unix() {
		return unixScheme + l.l.Addr().String()
	}
	return l.scheme() + "://" + l.l.Addr().String()
}

func (l *Listener) unix() bool { return l.l.Addr().Network() == "unix" }

// Link is an address that a browser opens once, within ten minutes, to be the owner from then on;
// "" where no browser reaches the listener. Where the address itself is refused, as 0.0.0.0 is,
// the link has a name of the certificate.
func (l *Listener) Link() string {
	if l.unix() {
		return ""
	}
	at, addr := l.URL(), l.l.Addr().String()
	if l.leaf != nil && !l.named(addr) {
		names := slices.Clone(l.leaf.DNSNames)
		for _, ip := range l.leaf.IPAddresses {
			names = append(names, ip.String())
		}
		if i := slices.IndexFunc(names, func(name string) bool { return !strings.Contains(name, "*") }); i >= 0 {
			_, port, _ := net.SplitHostPort(addr) // of a listener: it has one
			at = l.scheme() + "://" + net.JoinHostPort(names[i], port)
		}
	}
	return at + loginPath + "?code=" + l.login.code()
}

// mostConnections leaves half of the files that the system allows to jobs.
func mostConnections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxConnections / 8
	}
	return int(min(maxConnections, uint64(limit.Cur)/2))
}

// Serve answers until ctx ends; requests that are in progress then are given up.
func (l *Listener) Serve(ctx context.Context, h http.Handler) error {
	base, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	conns := &connections{most: l.most}
	srv := &http.Server{Handler: l.Guard(conns.keep(h)), BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: conns.context, ConnState: conns.state, ReadHeaderTimeout: l.headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l.l) }() // until it fails or is shut down
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	giveUp(errors.New("the server is stopping"))
	quit, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	if srv.Shutdown(quit) != nil {
		_ = srv.Close() // Serve returns then
	}
	<-ended
	return nil
}

// SignedPath begins the paths of requests that sign themselves.
const SignedPath = "/hooks/"

// Guard refuses all but requests with the token that were addressed to this server
// and come from no other site's page. Serve does so itself.
func (l *Listener) Guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		origin := r.Header.Get("Origin")
		switch {
		case l.signed != nil && strings.HasPrefix(r.URL.Path, SignedPath):
			l.signed.ServeHTTP(w, r)
		case !l.named(r.Host), origin != "" && origin != l.scheme()+"://"+r.Host:
			refuse(w, http.StatusForbidden, "this host or origin may not", "it is addressed by the name that its certificate has, or as 127.0.0.1")
		case r.Header.Get("Upgrade") != "":
			refuse(w, http.StatusBadRequest, "there is no other protocol to change to", "events are streamed as server-sent events")
		case r.URL.Path == loginPath:
			l.login.serve(w, r, l.leaf != nil)
		default:
			a := l.authority(r)
			if a == nil && r.URL.Path == "/" && r.Method == http.MethodGet {
				serveEntrance(w, "")
				return
			}
			if a == nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, http.StatusUnauthorized, "the token is missing or wrong", hint.Name("serve")+" prints which file has it; ADROIT_TOKEN gives it to commands")
				return
			}
			ctx, end := l.lasting(r, a)
			defer end()
			h.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// authority returns the authority of a request's sender, nil if they are unknown.
func (l *Listener) authority(r *http.Request) *adroit.Authority {
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		given = ""
	}
	var known *adroit.Authority
	switch {
	case !bearer:
		known = l.login.who(r)
	case given != "" && subtle.ConstantTimeCompare([]byte(given), []byte(l.token)) == 1:
		known = &adroit.Authority{Name: owner, Scopes: []adroit.TokenScope{adroit.ScopeAdmin}}
	default:
		known = l.tokens.find(given)
	}
	if known == nil {
		return nil
	}
	a := new(*known)
	if a.From = r.RemoteAddr; l.unix() {
		a.From = "unix"
	}
	return a
}

// recheck bounds the time a request goes on once its token is revoked.
const recheck = 2 * time.Second

// lasting is the context of a request by a. A stream may be open for days: it ends soon after its
// token is revoked.
func (l *Listener) lasting(r *http.Request, a *adroit.Authority) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(adroit.WithAuthority(r.Context(), a))
	if a.Name == owner {
		return ctx, end
	}
	go func() {
		tick := time.NewTicker(recheck)
		defer tick.Stop()
		for l.authority(r) != nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		end()
	}()
	return ctx, end
}

// named reports whether a request was meant for this server: a page whose name
// resolves to this machine is not.
func (l *Listener) named(host string) bool {
	return l.unix() || IsLoopback(host) || l.leaf != nil && l.leaf.VerifyHostname(hostname(host)) == nil
}

// refuse answers with an error in the form of the interface. A refused client may
// not hold the connection by sending slowly.
func refuse(w http.ResponseWriter, code int, message, hint string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTime)) // else it takes longer
	w.Header().Set("Connection", "close")
	failWith(w, &problem.Error{Kind: problem.Failed, Message: message, Hint: hint}, code)
}

// Bearer is the transport of a client that knows the token. Its errors say that the
// server could not be reached.
func Bearer(token string) http.RoundTripper { return bearer{token, http.DefaultTransport} }

// Unix is the transport of a client that knows the token of a server which listens on unix:PATH, whatever
// the host of its requests.
func Unix(path, token string) http.RoundTripper {
	return bearer{token, &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := b.next.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		err = problem.WithHint(err, "is "+hint.Command("serve")+" running at "+r.URL.Scheme+"://"+r.URL.Host+"? --server or ADROIT_SERVER names another")
	}
	return res, err
}

// Loopback is a client of c over the interface, in memory. What cannot travel
// as JSON fails with it before anything listens. Closing it closes c.
func Loopback(c adroit.Client) adroit.Client {
	return loopback{&client{"http://loopback", &http.Client{Transport: inMemory{Handler(c)}}}, c}
}

type loopback struct {
	*client
	of adroit.Client
}

func (l loopback) Close() error { return errors.Join(l.client.Close(), l.of.Close()) }

// inMemory carries requests to a handler in this process. The goroutine of a
// request ends with the handler, which ends when the request's context does or
// the body of its answer is closed.
type inMemory struct{ h http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	body, w := io.Pipe()
	answer := &responseWriter{body: w, header: http.Header{}, begun: make(chan struct{})}
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	go func() {
		defer w.Close()
		t.h.ServeHTTP(answer, in)
		answer.WriteHeader(http.StatusOK) // if there was no body
	}()
	select {
	case <-answer.begun:
	case <-req.Context().Done():
		body.CloseWithError(req.Context().Err())
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: answer.code, Status: http.StatusText(answer.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.sent, Body: body, ContentLength: -1, Request: req}, nil
}

// responseWriter writes an answer into a pipe.
type responseWriter struct {
	body   *io.PipeWriter
	header http.Header
	once   sync.Once
	begun  chan struct{}
	code   int         // after begun
	sent   http.Header // after begun
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.begun)
	})
}

func (w *responseWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements [http.Flusher]: a pipe keeps nothing back.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// connections bounds the connections of a server. The oldest one that serves no
// request with the token gives its place to a new one: whoever connects and stays
// silent, or sends slowly, delays nobody.
type connections struct {
	most int

	mu   sync.Mutex
	open []*connection // the oldest first
}

// A connection is an open connection.
type connection struct {
	net.Conn
	known   bool // it has sent a request with the token
	serving int  // requests with the token, in progress
}

type connectionKey struct{}

// context returns the context of a connection's requests, for [http.Server.ConnContext]. It is
// called for each before anything is read from it, one at a time.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	added := &connection{Conn: conn}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, added)
	if len(c.open) > c.most {
		i := c.leastNeeded()
		closeNow(c.open[i].Conn)
		c.open = slices.Delete(c.open, i, i+1)
	}
	return context.WithValue(ctx, connectionKey{}, added)
}

// leastNeeded is the oldest connection that has never sent the token, the new one
// excepted while there is another; else the oldest at rest; else the new one, which
// is too many.
func (c *connections) leastNeeded() int {
	last := len(c.open) - 1
	if i := slices.IndexFunc(c.open[:last], func(o *connection) bool { return !o.known }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(c.open[:last], func(o *connection) bool { return o.serving == 0 }); i >= 0 {
		return i
	}
	return last
}

// closeNow closes a connection. The end of TLS is not announced: that waits for the
// other side.
func closeNow(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // it serves nobody
}

// state forgets what is closed, for [http.Server.ConnState].
func (c *connections) state(conn net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(o *connection) bool { return o.Conn == conn })
}

// keep keeps the connection of a request with the token while it is served.
func (c *connections) keep(h http.Handler) http.Handler {
	add := func(o *connection, n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		o.known, o.serving = true, o.serving+n
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			add(o, 1)
			defer add(o, -1)
		}
		h.ServeHTTP(w, r)
	})
}
