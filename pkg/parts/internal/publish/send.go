package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
)

const (
	attempts = 5
	maxReply = 8 << 20
	// patience bounds what is waited because a server asks for it.
	patience = time.Minute
)

// A client sends requests and knows which of them may have had an effect.
type client struct {
	http *http.Client
	wait func(context.Context, time.Duration) error
	// repeat means that the receiver does nothing twice.
	repeat bool
	hide   []string // credentials, which no error may show
}

// An answer is a response, read whole.
type answer struct {
	status int
	body   []byte
}

// unsure is the error of a request that may or may not have had its effect.
type unsure struct{ cause error }

func (u *unsure) Error() string { return u.cause.Error() }

// do sends a request until there is an answer that means something. make is
// called for every attempt. The error is an *unsure if the request may have
// been carried out, any other if it surely was not.
func (c *client) do(ctx context.Context, make func(context.Context) (*http.Request, error)) (*answer, error) {
	var waited time.Duration
	for try := 1; ; try++ {
		a, after, err := c.once(ctx, make)
		if err == nil {
			return a, nil
		}
		if ctx.Err() != nil {
			if u := new(unsure); errors.As(err, &u) {
				return nil, u // it was sent before the time was over
			}
			return nil, ctx.Err()
		}
		again, ok := err.(*later)
		if !ok {
			return nil, err
		}
		if try == attempts {
			return nil, again.error
		}
		if after == 0 {
			after = time.Second << (try - 1)
		}
		if waited += after; waited > patience {
			return nil, fmt.Errorf("%w; that would be a wait of %s, which is too long here. Try again later", again.error, waited)
		}
		if err := c.wait(ctx, after); err != nil {
			return nil, err
		}
	}
}

// later is an error after which the request may be sent again. Its cause says
// whether it had an effect.
type later struct{ error }

// A refusal is an answer that says no.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server answered %d %s: %s", r.status, http.StatusText(r.status), r.text)
}

func (c *client) once(ctx context.Context, make func(context.Context) (*http.Request, error)) (_ *answer, after time.Duration, err error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := make(ctx)
	if err != nil {
		return nil, 0, err
	}
	// The approval does not cover the target of a redirect.
	h := *c.http
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := h.Do(req)
	if err != nil {
		if !sent.Load() {
			return nil, 0, &later{c.plain(err)} // no connection: nothing was sent
		}
		return nil, 0, c.unsureError(req, c.plain(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	status := resp.StatusCode
	after = retryAfter(resp.Header)
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusConflict, status == http.StatusTooEarly, status == 529,
		status == http.StatusServiceUnavailable && after > 0:
		return nil, after, &later{c.fault(status, body)}
	case status >= 500, status == http.StatusRequestTimeout:
		return nil, after, c.unsureError(req, c.fault(status, body))
	case err != nil && status < 300:
		return nil, 0, c.unsureError(req, c.plain(err))
	case status >= 300:
		f := c.fault(status, body)
		if to := resp.Header.Get("Location"); to != "" {
			f.text = "it leads to " + spelling.Clip(c.scrub(to), 200) + ", which may not be followed: name that address in the configuration"
		}
		if status <= http.StatusSeeOther { // servers say so of what they took as well
			return nil, 0, c.unsureError(req, f)
		}
		return nil, 0, f
	}
	return &answer{status, body}, 0, nil
}

func (c *client) unsureError(req *http.Request, err error) error {
	switch {
	case req.Method == http.MethodGet, strings.HasSuffix(req.URL.Path, "/query"):
		return &later{err} // it only reads
	case c.repeat:
		return &later{&unsure{err}}
	}
	return &unsure{err}
}

// plain takes credentials out of an error.
func (c *client) plain(err error) error { return errors.New(c.scrub(fetch.PlainError(err).Error())) }

func (c *client) scrub(text string) string {
	for _, s := range c.hide {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[hidden]")
		}
	}
	return text
}

func (c *client) fault(status int, body []byte) *refusal {
	text := c.scrub(strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " "))
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return &refusal{status, cmp.Or(text, "nothing more")}
}

// retryAfter reads the header in seconds or as a date; 0 is nothing usable.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return time.Duration(min(n, 86400)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
