// Package netguard makes the HTTP client that tools get: it reaches public
// addresses and what the operator allows, nothing else.
//
// The address is judged when the connection is made, after names were
// resolved, so that neither a redirect nor a name that changes its mind leads
// inside. There is no proxy: with one, the guard would see the proxy's address
// only.
package netguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// A Guard limits how far tools reach. The zero value is strict and ready.
type Guard struct {
	// Allow opens addresses that are not public: a prefix (10.1.0.0/16), an
	// address, or a host with or without a port (searx.lan, 127.0.0.1:8080).
	// Without a port it means every port.
	Allow []string

	Timeout   time.Duration // of a request with its redirects and its body
	MaxBody   int64         // bytes of a body, after decompression
	Redirects int           // how many are followed; -1 for none
}

// Check reports the entries of Allow that mean nothing.
func (g Guard) Check() error {
	_, err := g.rules()
	return err
}

// Limits returns g with the limits that hold where a field is zero.
func (g Guard) Limits() Guard {
	if g.Timeout <= 0 {
		g.Timeout = time.Minute
	}
	if g.MaxBody <= 0 {
		g.MaxBody = 10 << 20
	}
	g.Redirects = cmp.Or(g.Redirects, 5)
	return g
}

// Client returns a client that keeps to g. It is safe for concurrent use.
// If g does not [Guard.Check], every request fails with that error.
func (g Guard) Client() *http.Client {
	rules, err := g.rules()
	if err != nil {
		return &http.Client{Transport: broken{err}}
	}
	g = g.Limits()
	hops := max(g.Redirects, 0)
	t := &http.Transport{
		Proxy:                  nil,
		DialContext:            rules.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           16,
	}
	return &http.Client{
		Transport: &trip{t, g.MaxBody},
		Timeout:   g.Timeout,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > hops {
				return fmt.Errorf("more than %d redirects; the last leads to %s", hops, shown(req.URL))
			}
			if err := target(req.URL); err != nil {
				return err
			}
			if was := via[0].URL; was.Scheme != req.URL.Scheme || was.Host != req.URL.Host {
				strip(req.Header)
			}
			return nil
		},
	}
}

// harmless headers may follow a request to another host.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "User-Agent": true, "Content-Type": true,
	"If-None-Match": true, "If-Modified-Since": true,
}

// strip removes what may be a credential: all but the headers known not to be.
func strip(h http.Header) {
	for name := range h {
		if !harmless[name] {
			h.Del(name)
		}
	}
}

type broken struct{ err error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

// A blockedError refuses an address.
type blockedError struct {
	Host   string // as asked for
	Addr   string // what it stands for, if that was known
	Reason string
}

func (e *blockedError) Error() string {
	what := e.Host
	if e.Addr != "" && e.Addr != e.Host {
		what += " (" + e.Addr + ")"
	}
	return what + " " + e.Reason
}

// A tooLargeError ends the reading of a body.
type tooLargeError struct{ Limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d bytes; ask for less", e.Limit)
}

// target judges what can be told without resolving anything.
func target(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &blockedError{Host: shown(u), Reason: "is not an http or https address"}
	case u.Hostname() == "":
		return &blockedError{Host: shown(u), Reason: "names no host"}
	case u.User != nil:
		return &blockedError{Host: u.Hostname(), Reason: "comes with a user name or password in its address; leave them out"}
	case strings.ContainsAny(u.Hostname(), "\x00%"):
		return &blockedError{Host: shown(u), Reason: "has a zone or a NUL byte in its name"}
	}
	return nil
}

// shown is u without what may be secret.
func shown(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.Fragment = nil, "", ""
	return c.String()
}

// trip checks each request, redirected or not, and bounds its answer.
type trip struct {
	next http.RoundTripper
	max  int64
}

func (t *trip) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := target(req.URL); err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &body{resp.Body, t.max, t.max}
	return resp, nil
}

// CloseIdleConnections implements the method that http.Client calls.
func (t *trip) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// body is an error to read beyond its limit, not an early end: half a
// document is not the document.
type body struct {
	io.ReadCloser
	left, limit int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, &tooLargeError{b.limit}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, &tooLargeError{b.limit}
	}
	return n, err
}

// rules are the entries of Guard.Allow.
type rules struct {
	nets  []netip.Prefix
	hosts map[string]bool // host or host:port, lower case
}

func (g Guard) rules() (rules, error) {
	r := rules{hosts: map[string]bool{}}
	var errs []error
	for _, a := range g.Allow {
		if p, err := netip.ParsePrefix(a); err == nil {
			r.nets = append(r.nets, p.Masked())
			continue
		}
		if ip, err := netip.ParseAddr(a); err == nil {
			r.nets = append(r.nets, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
			continue
		}
		if a == "" || strings.ContainsAny(a, "/ *") {
			errs = append(errs, fmt.Errorf("%q is neither a prefix, an address nor a host; for example 10.1.0.0/16, 127.0.0.1:8080 or searx.lan", a))
			continue
		}
		r.hosts[strings.ToLower(a)] = true
	}
	return r, errors.Join(errs...)
}

// dial connects to the first address of the host that may be reached.
func (r rules) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 15 * time.Second}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if !r.hosts[strings.ToLower(addr)] && !r.hosts[strings.ToLower(host)] {
		d.Control = func(_, real string, _ syscall.RawConn) error { return r.judge(host, real) }
	}
	return d.DialContext(ctx, network, addr)
}

// judge decides about an address that is about to be connected to.
func (r rules) judge(host, real string) error {
	ap, err := netip.ParseAddrPort(real)
	if err != nil {
		return &blockedError{host, real, "is not an address that can be judged"}
	}
	ip := ap.Addr()
	if ip.Zone() == "" {
		ip = ip.Unmap()
		for _, p := range r.nets {
			if p.Contains(ip) {
				return nil
			}
		}
	}
	if kind := inside(ip); kind != "" {
		return &blockedError{host, ip.String(), "is " + kind + ", which tools may not reach; the operator can allow it in the configuration (network: {allow: [" + host + "]})"}
	}
	return nil
}
