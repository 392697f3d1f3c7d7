package research

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	agent   = "adroit (+https://github.com/adroit-run/adroit)"
	maxBody = 16 << 20 // bytes that are read of any answer; the guard may say less
)

// A request is one question to a server.
type request struct {
	what   string // how to call the source in errors: its address may be secret
	method string // GET if empty
	url    *url.URL
	accept string
	header http.Header
	body   string
	user   string
	key    string
	cached bool // may be answered from the cache, and kept there
}

// An answer is what came back, whole.
type answer struct {
	url    *url.URL // where it came from in the end
	status int
	header http.Header
	kind   string // media type, lower case, "" if none was given
	label  string // its charset parameter
	body   []byte
	old    bool // not changed since it was last read
}

// address reads a URL that a model wrote.
func address(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if len(s) > 8<<10 {
		return nil, errors.New("the address is longer than 8 KB; give the address of one page")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not an address: use one like https://example.org/page", clip(s, 200))
	case u.Scheme == "":
		return nil, fmt.Errorf("%q has no scheme: use an address that begins with https:// or http://", clip(s, 200))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: addresses are refused: only https:// and http:// can be read", clip(u.Scheme, 40))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", clip(s, 200))
	case u.User != nil:
		return nil, fmt.Errorf("the address of %s holds a user name or password; leave them out", u.Hostname())
	}
	return u, nil
}

// shown is u without what may be secret, for errors.
func shown(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.Fragment = nil, "", ""
	return clip(c.String(), 300)
}

// get sends r and reads the whole answer, or takes it from c. An answer of 400 and above is an error.
func get(ctx context.Context, client *http.Client, c *cache, r request) (*answer, error) {
	if r.what == "" {
		r.what = shown(r.url)
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), strings.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.what, plain(err))
	}
	if r.body == "" {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", agent)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.user != "" || r.key != "" {
		req.SetBasicAuth(r.user, r.key)
	}
	var kept *entry
	if r.cached && r.key == "" {
		if kept = c.load(r); kept != nil {
			kept.ask(req.Header)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", r.what, plain(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && kept != nil {
		c.touch(r)
		return kept.answer(resp.Request.URL), nil
	}
	if resp.StatusCode >= 400 {
		return nil, refused(r.what, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.what, plain(err))
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%s is larger than %d MB; that is more than can be read here", r.what, maxBody>>20)
	}
	a := &answer{url: resp.Request.URL, status: resp.StatusCode, header: resp.Header, body: body}
	a.kind, a.label = media(resp.Header.Get("Content-Type"))
	if r.cached && r.key == "" && resp.StatusCode == http.StatusOK {
		c.save(r, a)
	}
	return a, nil
}

// media splits a Content-Type, also a sloppy one.
func media(s string) (kind, label string) {
	kind, params, err := mime.ParseMediaType(s)
	if err != nil && kind == "" {
		kind, _, _ = strings.Cut(s, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind)), params["charset"]
}

// refused says what an error status means for whoever asked.
func refused(what string, resp *http.Response) error {
	advice := ""
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		advice = "; it is not open to us, use another source"
	case code == http.StatusNotFound || code == http.StatusGone:
		advice = "; check the address, or search for where it is now"
	case code == http.StatusTooManyRequests:
		advice = "; it asks us to slow down"
		if after := resp.Header.Get("Retry-After"); after != "" {
			advice += " (try again after " + clip(after, 40) + ")"
		}
	case code >= 500:
		advice = "; the server has a problem, try again later or use another source"
	}
	return fmt.Errorf("%s answered %d %s%s", what, resp.StatusCode, http.StatusText(resp.StatusCode), advice)
}

// plain is an error of the HTTP client without the address in it: that may be
// secret, and is named already.
func plain(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		if u.Timeout() {
			return errors.New("it took too long and was given up")
		}
		return u.Err
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() && !errors.Is(err, context.Canceled) {
		return errors.New("it took too long and was given up")
	}
	return err
}

// clip bounds a text for people, at a letter's end.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// since reads a point in time: a date, a time, or so many hours, days or weeks ago.
func (d *desk) since(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	now := d.Now().UTC()
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	var n int
	var unit string
	if _, err := fmt.Sscanf(s, "%d%s", &n, &unit); err == nil && n > 0 && n < 1e5 {
		switch unit {
		case "h":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case "d":
			return now.AddDate(0, 0, -n), nil
		case "w":
			return now.AddDate(0, 0, -7*n), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2026-11-21, 2026-11-21T08:00:00Z, or 24h, 7d, 2w for so long ago", clip(s, 80))
}
