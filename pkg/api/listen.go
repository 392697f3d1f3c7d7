package api

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
)

// Options are where to listen, and for whom.
type Options struct {
	Address string // host:port; port 0 is a free one
	Token   string
	// Cert and Key are files of TLS. Without them the address must be one of this
	// machine: nothing else protects what is sent on a network.
	Cert, Key string
}

// A Listener listens.
type Listener struct {
	l     net.Listener
	token string
	leaf  *x509.Certificate // nil without TLS

	headerTime time.Duration
}

// Bounds of a server.
const (
	maxConnections = 256
	maxHeader      = 64 << 10
	headerTime     = 10 * time.Second
	refusedTime    = time.Second // to send what is left of a request that is refused
	idleTime       = 2 * time.Minute
	grace          = 2 * time.Second // for requests to end when the server stops
)

// Open begins to listen.
func Open(o Options) (*Listener, error) {
	out := &Listener{token: o.Token, headerTime: headerTime}
	var conf *tls.Config
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, problem.Invalidf("--cert and --key are files in PEM form that belong together", "TLS: %v", err)
		}
		conf, out.leaf = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, pair.Leaf
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

// Loopback reports whether host:port is on this machine.
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

// URL is where the listener is, without a slash at its end.
func (l *Listener) URL() string { return l.scheme() + "://" + l.l.Addr().String() }

// Serve answers until ctx ends; requests that are in progress then are given up.
func (l *Listener) Serve(ctx context.Context, h http.Handler) error {
	base, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	conns := &connections{most: maxConnections}
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

// Guard refuses all but requests with the token that were addressed to this server
// and come from no other site's page. Serve does so itself.
func (l *Listener) Guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		origin := r.Header.Get("Origin")
		switch {
		case !l.named(r.Host), origin != "" && origin != l.scheme()+"://"+r.Host:
			refuse(w, http.StatusForbidden, "this host or origin may not", "it is addressed by the name that its certificate has, or as 127.0.0.1")
		case subtle.ConstantTimeCompare([]byte(given), []byte(l.token)) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the token is missing or wrong", hint.Name("serve")+" prints which file has it; ADROIT_TOKEN gives it to commands")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// named reports whether a request was meant for this server: a page whose name
// resolves to this machine is not.
func (l *Listener) named(host string) bool {
	return IsLoopback(host) || l.leaf != nil && l.leaf.VerifyHostname(hostname(host)) == nil
}

// refuse answers with an error in the form of the interface. Who is refused may not
// hold the connection by sending slowly.
func refuse(w http.ResponseWriter, code int, message, hint string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTime)) // else it takes longer
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(&problem.Error{Kind: problem.Failed, Message: message, Hint: hint}) // who has gone needs none
}

// Bearer is the transport of a client that knows the token. Its errors say that the
// server could not be reached.
func Bearer(token string) http.RoundTripper { return bearer(token) }

type bearer string

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		err = problem.WithHint(err, "is "+hint.Command("serve")+" running at "+r.URL.Scheme+"://"+r.URL.Host+"? --server or ADROIT_SERVER names another")
	}
	return res, err
}
