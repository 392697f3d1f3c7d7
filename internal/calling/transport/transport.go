// Package transport is what the HTTP adapters of pkg/llm share: sending a
// request under an idle and a total time limit, reading lines and server-sent
// events, naming what went wrong as an [llm.Error], and tidying tool calls.
//
// It knows no provider's format; that is the adapters' part. It never retries:
// the engine does.
package transport

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Body is a request body in parts that are sent one after the other without
// being joined.
type Body [][]byte

// A bodyReader reads parts one after the other. An io.MultiReader would
// allocate 32 KB for each request, for the HTTP client to see that it is at
// its end.
type bodyReader struct{ rest Body }

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for len(r.rest) > 0 && n < len(p) {
		k := copy(p[n:], r.rest[0])
		n += k
		if r.rest[0] = r.rest[0][k:]; len(r.rest[0]) == 0 {
			r.rest = r.rest[1:]
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b Body) reader() io.ReadCloser { return io.NopCloser(&bodyReader{slices.Clone(b)}) }

// Len is the body's size in bytes.
func (b Body) Len() int {
	n := 0
	for _, part := range b {
		n += len(part)
	}
	return n
}

// A Reply is an answer with status 200 whose body is still to be read. The
// caller closes it.
type Reply struct {
	Type  string // media type in lower case, without parameters
	Watch *Watch
	e     *Endpoint
	body  io.ReadCloser
	r     io.Reader
}

// Read reads the body; it fails when the answer grows out of all bounds.
func (r *Reply) Read(p []byte) (int, error) { return r.r.Read(p) }

// Events reports whether the answer is a stream of events, by how it begins, whatever its type
// says; usual decides on what begins as neither a stream nor JSON does.
func (r *Reply) Events(usual bool) bool {
	b := bufio.NewReader(r.r)
	r.r = b
	for {
		first, err := b.Peek(1) // a later read has the error, too
		switch {
		case err != nil:
			return usual
		case strings.Contains(" \t\r\n\xef\xbb\xbf", string(first)): // blank, or of a byte order mark
			_, _ = b.Discard(1)
			continue
		}
		field, _ := b.Peek(len("event:"))
		switch {
		case first[0] == '{', first[0] == '[':
			return false
		case first[0] == ':', bytes.HasPrefix(field, []byte("data:")), bytes.HasPrefix(field, []byte("event:")), bytes.HasPrefix(field, []byte("id:")), bytes.HasPrefix(field, []byte("retry:")):
			return true
		}
		return usual
	}
}

// Close ends the request.
func (r *Reply) Close() error {
	r.Watch.stop()
	return r.body.Close()
}

// All reads a body that is not a stream.
func (r *Reply) All() ([]byte, error) {
	b, err := io.ReadAll(touching{r})
	if err != nil {
		return nil, r.Broken(err, "")
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, r.e.Error(llm.Garbled, "the answer is empty")
	}
	return b, nil
}

type touching struct{ r *Reply }

func (t touching) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.r.Watch.Touch()
	}
	return n, err
}

// Get asks for path and returns the whole answer.
func (e *Endpoint) Get(ctx context.Context, path string) ([]byte, error) {
	r, err := e.send(ctx, http.MethodGet, path, nil, true)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.All()
}

// Post sends body to path. The silence before the answer's first byte counts
// against the idle limit only for a stream: other answers come all at once.
// Errors are [llm.Error]s, except that a done ctx gives its own error.
func (e *Endpoint) Post(ctx context.Context, path string, body Body, stream bool) (*Reply, error) {
	return e.send(ctx, http.MethodPost, path, body, stream)
}

func (e *Endpoint) send(ctx context.Context, method, path string, body Body, stream bool) (*Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.Base+path, nil)
	if err != nil {
		return nil, e.Error(llm.BadRequest, "the base URL cannot be used: "+inner(err).Error())
	}
	return e.Do(req, body, stream)
}

// Do sends body, nil for none, in a request that somebody else made, under the
// endpoint's limits and with its headers. It is otherwise as [Endpoint.Post].
func (e *Endpoint) Do(req *http.Request, body Body, stream bool) (*Reply, error) {
	w := newWatch(req.Context(), e.Idle, e.Total, stream && !e.patient, e.patient)
	req = req.WithContext(w.ctx)
	if body != nil {
		req.Body = body.reader()
		req.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
		req.ContentLength = int64(body.Len())
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "adroit")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	for k, v := range e.Headers {
		req.Header.Set(k, v)
	}
	if e.query != "" {
		req.URL.RawQuery = strings.Trim(e.query+"&"+req.URL.RawQuery, "&")
	}
	resp, err := e.HTTP.Do(req)
	if err != nil {
		err = e.lost(w, err, "")
		w.stop()
		return nil, err
	}
	w.Touch()
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	r := &Reply{
		Type:  strings.ToLower(strings.TrimSpace(media)),
		Watch: w,
		e:     e,
		body:  resp.Body,
		r:     &bounded{r: resp.Body, left: maxAnswer},
	}
	if resp.StatusCode == http.StatusOK {
		if r.Type == "text/html" {
			r.Close()
			return nil, e.page()
		}
		return r, nil
	}
	defer r.Close()
	// What arrives of an error's text is used, whether or not it is whole.
	// Ollama puts a tool call that it could not parse into one, whole.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return nil, e.refused(resp, text)
}

// Broken names the failure to read an answer. had says how far it got, in
// words; "" for nothing at all.
func (r *Reply) Broken(err error, had string) error { return r.e.lost(r.Watch, err, had) }
