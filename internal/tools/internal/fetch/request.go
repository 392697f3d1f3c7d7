package fetch

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A Request is one question to a server.
type Request struct {
	What     string // how to call the source in errors: its address may be secret
	Method   string // GET if empty
	URL      *url.URL
	Accept   string
	Header   http.Header
	Body     string
	User     string
	Password string
	Cached   bool // may be answered from the cache, and kept there
}

// A Response is what came back, whole.
type Response struct {
	URL       *url.URL // where it came from in the end
	Status    int
	header    http.Header
	Type      string // media type, lower case, "" if none was given
	Charset   string // its charset parameter
	Body      []byte
	Unchanged bool // not changed since it was last read
}

// ParseURL reads a URL that a model wrote.
func ParseURL(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if len(s) > 8<<10 {
		return nil, errors.New("the address is longer than 8 KB; give the address of one page")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not an address: use one like https://example.org/page", spelling.Clip(s, 200))
	case u.Scheme == "":
		return nil, fmt.Errorf("%q has no scheme: use an address that begins with https:// or http://", spelling.Clip(s, 200))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: addresses are refused: only https:// and http:// can be read", spelling.Clip(u.Scheme, 40))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", spelling.Clip(s, 200))
	case u.User != nil:
		return nil, fmt.Errorf("the address of %s holds a user name or password; leave them out", u.Hostname())
	}
	return u, nil
}

// Redacted is u without what may be secret, for errors.
func Redacted(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.Fragment = nil, "", ""
	return spelling.Clip(c.String(), 300)
}

// Media splits a Content-Type, also a sloppy one.
func Media(s string) (kind, label string) {
	kind, params, err := mime.ParseMediaType(s)
	if err != nil && kind == "" {
		kind, _, _ = strings.Cut(s, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind)), params["charset"]
}
