// Package fetch reads documents over HTTP for the tools that work with them: it
// bounds their size, decodes their text, and keeps answers that may be asked
// for again at little cost.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

const (
	Agent   = "adroit (+https://github.com/adroit-run/adroit)"
	maxBody = 16 << 20 // bytes that are read of any answer; the guard may say less
)

// Get sends r and reads the whole answer, or takes it from c. A status of 400
// and above is an error.
func Get(ctx context.Context, client *http.Client, c *Cache, r Request) (*Response, error) {
	if r.What == "" {
		r.What = Redacted(r.URL)
	}
	r.Method = cmp.Or(r.Method, http.MethodGet)
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.What, PlainError(err))
	}
	if r.Body == "" {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	maps.Copy(req.Header, r.Header)
	req.Header.Set("User-Agent", Agent)
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.User != "" || r.Password != "" {
		req.SetBasicAuth(r.User, r.Password)
	}
	var kept *entry
	if r.Cached && r.Password == "" {
		if kept = c.load(r); kept != nil {
			kept.ask(req.Header)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", r.What, PlainError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && kept != nil {
		c.touch(r)
		return kept.answer(resp.Request.URL), nil
	}
	if resp.StatusCode >= 400 {
		return nil, statusError(r.What, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.What, PlainError(err))
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%s is larger than %d MB; that is more than can be read here", r.What, maxBody>>20)
	}
	a := &Response{URL: resp.Request.URL, Status: resp.StatusCode, header: resp.Header, Body: body}
	a.Type, a.Charset = Media(resp.Header.Get("Content-Type"))
	if r.Cached && r.Password == "" && resp.StatusCode == http.StatusOK {
		c.save(r, a)
	}
	return a, nil
}

// statusError is the error for a status of 400 and above, with advice.
func statusError(what string, resp *http.Response) error {
	advice := ""
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		advice = "; it is not open to us, use another source"
	case code == http.StatusNotFound || code == http.StatusGone:
		advice = "; check the address, or search for where it is now"
	case code == http.StatusTooManyRequests:
		advice = "; it asks us to slow down"
		if after := resp.Header.Get("Retry-After"); after != "" {
			advice += " (try again after " + spelling.Clip(after, 40) + ")"
		}
	case code >= 500:
		advice = "; the server has a problem, try again later or use another source"
	}
	return fmt.Errorf("%s answered %d %s%s", what, resp.StatusCode, http.StatusText(resp.StatusCode), advice)
}

// PlainError is an error of the HTTP client without the address, which may be
// secret and which the caller names.
func PlainError(err error) error {
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
