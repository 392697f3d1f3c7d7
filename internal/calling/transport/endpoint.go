package transport

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// An Endpoint is a server and the manners to observe with it. It is safe for
// concurrent use once filled in.
type Endpoint struct {
	Name    string // for errors
	Base    string // URL without a trailing slash
	Key     string // sent as a bearer token, "" for none
	Headers map[string]string
	HTTP    *http.Client  // nil: a client of its own, with the environment's proxies
	Idle    time.Duration // the longest silence, 0: five minutes, negative: no limit
	Total   time.Duration // the longest request, 0: thirty minutes, negative: no limit

	query   string // of each request
	patient bool   // there is no limit before the first byte
}

// Address is a base URL without the path of a request, which is part of what servers print and
// documentation shows, and its query.
func Address(s string) (base, query string) {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	s, _, _ = strings.Cut(strings.TrimSpace(s), "#")
	base, query, _ = strings.Cut(s, "?")
	base = strings.TrimRight(base, "/")
	for _, tail := range []string{"/chat/completions", "/messages", "/responses", "/completions", "/api/chat"} {
		base = strings.TrimRight(strings.TrimSuffix(base, tail), "/")
	}
	return base, query
}

// Secret is a key without what surrounds it in files and variables: blanks, ends of lines,
// quotes, a byte order mark, the word of its header.
func Secret(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "\ufeff"))
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		s = strings.TrimSpace(s[1 : n-1])
	}
	return strings.TrimSpace(strings.TrimPrefix(s, "Bearer "))
}

// unsendable names a character that a header can not have, "" if there is none.
func unsendable(s string) string {
	switch i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); {
	case i < 0:
		return ""
	case s[i] == '\n' || s[i] == '\r':
		return "the end of a line"
	}
	return "a control character"
}

// Local reports whether an address is on this machine or in its network.
func Local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host != "" && (!strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".internal"))
}

// Ready checks the endpoint and fills in what was left out. Base may be an address as people
// have it at hand: with blanks, quotes, the path of a request or a query around it.
func (e *Endpoint) Ready() error {
	base, query := Address(e.Base)
	if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") {
		return fmt.Errorf("%s: base URL %q must start with http:// or https://", e.Name, base)
	}
	e.Base, e.query = base, query
	e.Key = Secret(e.Key)
	if bad := unsendable(e.Key); bad != "" {
		return fmt.Errorf("%s: the key has %s inside, which no header can carry", e.Name, bad)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if bad := unsendable(strings.TrimSpace(e.Headers[name])); bad != "" {
			return fmt.Errorf("%s: the header %s has %s inside, which no header can carry", e.Name, name, bad)
		}
	}
	// The kernel notices when a program on this machine, or its machine in the same network, is gone.
	// Until then one that sends nothing loads the model or reads the prompt, however long that takes.
	e.patient = e.Idle == 0 && e.Total == 0 && Local(base)
	e.Idle = cmp.Or(e.Idle, defaultIdle)
	e.Total = cmp.Or(e.Total, defaultTotal)
	client := new(http.Client)
	if e.HTTP != nil {
		*client = *e.HTTP
	} else {
		// Not the default client: a test or another library may change that.
		own := http.DefaultTransport.(*http.Transport).Clone()
		// All requests go to one host: with the default of two kept
		// connections, many agents would open a new one for each turn.
		own.MaxIdleConns, own.MaxIdleConnsPerHost = 0, 1024
		own.Proxy = func(r *http.Request) (*url.URL, error) { return proxyOf(r.URL) }
		client.Transport = own
	}
	// Following a redirect would turn the POST into a GET, and a key meant
	// for one host would be asked for by another.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e.HTTP = client
	return nil
}
