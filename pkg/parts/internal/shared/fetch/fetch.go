// Package fetch reads documents over HTTP for the tools that work with them: it
// bounds their size, decodes their text, and keeps answers that may be asked
// for again at little cost.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
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

const (
	maxEntry  = 4 << 20 // bytes of an answer that is kept
	mostKept  = 200     // answers; the ones not asked for longest go first
	maxHeader = 16 << 10
)

// A Cache keeps answers with what their servers gave us to ask whether they
// still hold. It is a convenience: what goes wrong with it is as if nothing
// were there. Several processes may use one directory.
type Cache struct{ Dir string }

// An entry is an answer that is kept: one line of JSON, then the body.
type entry struct {
	URL      string `json:"url"` // that was asked for, against clashes of names
	Accept   string `json:"accept"`
	Final    string `json:"final"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Type     string `json:"type"`
	body     []byte
}

func (c *Cache) file(r Request) string {
	sum := sha256.Sum256([]byte(r.Accept + "\x00" + r.URL.String()))
	return filepath.Join(c.Dir, hex.EncodeToString(sum[:16]))
}

func (c *Cache) load(r Request) *entry {
	if c.Dir == "" {
		return nil
	}
	f, err := os.Open(c.file(r))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEntry+maxHeader))
	if err != nil {
		return nil
	}
	head, body, ok := bytes.Cut(b, []byte("\n"))
	e := &entry{body: body}
	if !ok || json.Unmarshal(head, e) != nil || e.URL != r.URL.String() || e.Accept != r.Accept {
		return nil
	}
	return e
}

// ask adds the conditions under which the server need not answer in full.
func (e *entry) ask(h http.Header) {
	if e.ETag != "" {
		h.Set("If-None-Match", e.ETag)
	}
	if e.Modified != "" {
		h.Set("If-Modified-Since", e.Modified)
	}
}

func (e *entry) answer(at *url.URL) *Response {
	if u, err := url.Parse(e.Final); err == nil {
		at = u
	}
	a := &Response{URL: at, Status: http.StatusOK, header: http.Header{"Content-Type": {e.Type}}, Body: e.body, Unchanged: true}
	a.Type, a.Charset = Media(e.Type)
	return a
}

// touch notes that an entry was of use.
func (c *Cache) touch(r Request) {
	now := time.Now()
	_ = os.Chtimes(c.file(r), now, now)
}

func (c *Cache) save(r Request, a *Response) {
	e := entry{URL: r.URL.String(), Accept: r.Accept, Final: a.URL.String(), ETag: a.header.Get("ETag"), Modified: a.header.Get("Last-Modified"), Type: a.header.Get("Content-Type")}
	if c.Dir == "" || e.ETag == "" && e.Modified == "" || len(a.Body) > maxEntry {
		return
	}
	head, err := json.Marshal(e)
	if err != nil || len(head) >= maxHeader {
		return
	}
	if rootfs.WriteFile(c.file(r), slices.Concat(head, []byte("\n"), a.Body)) == nil {
		c.trim()
	}
}

// trim removes what was not of use for longest.
func (c *Cache) trim() {
	list, err := os.ReadDir(c.Dir)
	if err != nil || len(list) <= mostKept {
		return
	}
	type kept struct {
		name string
		used time.Time
	}
	var all []kept
	for _, f := range list {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, kept{f.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return b.used.Compare(a.used) })
	for _, k := range all[min(mostKept, len(all)):] {
		_ = os.Remove(filepath.Join(c.Dir, k.name))
	}
}

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

// A Response is a complete response.
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
