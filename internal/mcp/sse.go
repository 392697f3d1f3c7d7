package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/transport"
)

const sessionHeader = "Mcp-Session-Id"

// endpointTime bounds the time that a server has to name the address for messages.
const endpointTime = 10 * time.Second

// earlier are the statuses with which servers of the transport of 2024-11-05 refuse a message at the
// address of their stream.
var earlier = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented}

// sseTransport passes on requests to a server of the transport of 2024-11-05, HTTP+SSE, in the form of the
// one that followed it, so that all guards are the same for both. Which one a server has, its answer to
// the first message decides. It is for one connection, and safe for concurrent use.
type sseTransport struct {
	next http.RoundTripper

	mu sync.Mutex
	s  *sseSession // nil as long as the server has the transport that followed
}

func (t *sseTransport) session() *sseSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s
}

// RoundTrip implements [http.RoundTripper].
func (t *sseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s := t.session()
	if s == nil {
		resp, err := t.next.RoundTrip(r)
		if err != nil || r.Method != http.MethodPost {
			return resp, err
		}
		return t.begin(r, resp)
	}
	listens := r.Method == http.MethodGet
	switch {
	case r.Method == http.MethodDelete:
		s.stop()
		if s.id == "" {
			return t.next.RoundTrip(r)
		}
		return plainAnswer(r, http.StatusNoContent), nil
	case s.over():
		return plainAnswer(r, http.StatusNotFound), nil // the session is gone with the stream
	case listens && r.Header.Get("Last-Event-ID") != "":
		return plainAnswer(r, http.StatusMethodNotAllowed), nil
	case listens:
		return streamOf(r, &mailReader{s.other, r.Context(), func() {}}), nil
	}
	return s.post(r)
}

// CloseIdleConnections implements the method that http.Client looks for.
func (t *sseTransport) CloseIdleConnections() {
	if s := t.session(); s != nil {
		s.stop()
	}
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// begin asks a server that refuses the first message for a stream, and goes on with that if there is one.
func (t *sseTransport) begin(r *http.Request, resp *http.Response) (*http.Response, error) {
	body, _ := bodyOf(r)
	var m envelope
	if json.Unmarshal(body, &m) != nil || m.Method != "initialize" {
		return resp, nil
	}
	accepted := resp.StatusCode == http.StatusAccepted && isEmpty(resp)
	if !accepted && (!slices.Contains(earlier, resp.StatusCode) || answersAsMessage(resp)) {
		return resp, nil
	}
	s := &sseSession{next: t.next, url: r.URL, waits: map[string]*mailbox{}, had: map[string]bool{}, other: newMailbox()}
	stream, first, err := s.open(r, resp.Header.Get(sessionHeader))
	switch {
	case err != nil:
		_ = resp.Body.Close()
		return nil, err
	case stream != nil: // it wants a login
		_ = resp.Body.Close()
		return stream, nil
	case first == nil, first.name != "endpoint" && !accepted:
		s.stop()
		return resp, nil
	}
	_ = resp.Body.Close()
	if first.name != "endpoint" { // the message was accepted, and this is what comes of it
		if resp.Header.Get(sessionHeader) == "" {
			s.id = strings.ToLower(rand.Text())
		}
		box := s.expect(m.ID)
		s.deliver(first.data)
		t.use(s)
		out := streamOf(r, s.answer(box, r))
		out.Header.Set(sessionHeader, cmp.Or(s.id, resp.Header.Get(sessionHeader)))
		return out, nil
	}
	s.id = strings.ToLower(rand.Text())
	t.use(s)
	out, err := s.post(r)
	if err == nil {
		out.Header.Set(sessionHeader, s.id)
	}
	return out, err
}

// use has all further requests go by a stream.
func (t *sseTransport) use(s *sseSession) {
	t.mu.Lock()
	t.s = s
	t.mu.Unlock()
	go s.read() // ends with the stream, which stop closes
}

// plainAnswer returns an answer without a body.
func plainAnswer(r *http.Request, status int) *http.Response {
	resp := streamOf(r, http.NoBody)
	resp.StatusCode, resp.Status, resp.ContentLength = status, "", 0
	resp.Header.Del("Content-Type")
	return resp
}

// isEmpty reports whether an answer has no body.
func isEmpty(resp *http.Response) bool {
	if resp.ContentLength > 0 {
		return false
	}
	head := make([]byte, 1)
	n, err := io.ReadFull(resp.Body, head)
	resp.Body = withRest(head[:n], err, resp.Body)
	return n == 0
}

// answersAsMessage reports whether a refusal is a message: such a server has read the one before.
func answersAsMessage(resp *http.Response) bool {
	decoded := transport.Decoded(resp)
	text, err := io.ReadAll(io.LimitReader(decoded, maxRefusal))
	resp.Body = withRest(text, err, decoded)
	resp.Header.Del("Content-Encoding")
	var m struct {
		Version json.RawMessage `json:"jsonrpc"`
	}
	return json.Unmarshal(text, &m) == nil && m.Version != nil
}

// An sseSession is a stream on which a server answers what it gets at another address.
type sseSession struct {
	next  http.RoundTripper
	url   *url.URL // of messages
	id    string   // that the library has for it; empty: that of the server
	lines *sseReader
	stop  func()

	mu    sync.Mutex
	waits map[string]*mailbox // of requests without an answer, by id as text
	had   map[string]bool     // ids of those that were answered: a second answer is nobody's
	other *mailbox            // what belongs to no request
	ended bool
}

// open asks for the stream and its first event, which is nil where there is none. An answer that is not
// nil wants a login.
func (s *sseSession) open(r *http.Request, session string) (refused *http.Response, first *sseEvent, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // it outlives the message
	s.stop = cancel
	get := r.Clone(ctx)
	get.Method, get.Body, get.GetBody, get.ContentLength = http.MethodGet, nil, nil, 0
	get.Header.Del("Content-Type")
	get.Header.Set("Accept", eventStream)
	get.Header.Set("Accept-Encoding", "identity") // what is packed comes late
	if session != "" {
		get.Header.Set(sessionHeader, session)
	}
	unhook, timer := context.AfterFunc(r.Context(), cancel), time.AfterFunc(endpointTime, cancel)
	defer unhook()
	defer timer.Stop()
	client := &http.Client{Transport: s.next, CheckRedirect: func(to *http.Request, _ []*http.Request) error {
		if to.URL.Scheme != r.URL.Scheme || hostPort(to.URL) != hostPort(r.URL) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Do(get)
	if err != nil {
		cancel()
		return nil, nil, r.Context().Err()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return resp, nil, nil
	case resp.StatusCode != http.StatusOK || kind != eventStream:
		cancel()
		return nil, nil, resp.Body.Close()
	}
	s.lines = newSSEReader(utf8Of(transport.Decoded(resp)))
	e, err := s.lines.next()
	if err != nil {
		cancel()
		return nil, nil, errors.Join(r.Context().Err(), resp.Body.Close())
	}
	if e.name == "endpoint" {
		s.url, err = messagesAt(resp.Request.URL, string(e.data))
	}
	if err != nil {
		cancel()
	}
	return nil, &e, err
}

// messagesAt returns the address for messages that a stream names. It is of the same server: it gets the
// credentials.
func messagesAt(stream *url.URL, named string) (*url.URL, error) {
	to, err := stream.Parse(strings.Trim(named, "\" \t\r\n"))
	if err != nil {
		return nil, fmt.Errorf("it has the transport HTTP+SSE of 2024-11-05, and names no address for messages: %q", line(named))
	}
	to.User, to.Fragment = nil, ""
	if stream.Scheme == "https" && to.Scheme == "http" && to.Hostname() == stream.Hostname() { // of a proxy that ends TLS
		to.Scheme, to.Host = stream.Scheme, stream.Host
	}
	if to.Scheme != stream.Scheme || hostPort(to) != hostPort(stream) {
		return nil, fmt.Errorf("it has the transport HTTP+SSE of 2024-11-05, and wants messages at another server, %s://%s, which does not get them", to.Scheme, to.Host)
	}
	return to, nil
}

// post sends a message. Its answer comes by the stream or, as some have it, at once, or by both.
func (s *sseSession) post(r *http.Request) (*http.Response, error) {
	body, _ := bodyOf(r)
	var m envelope
	var box *mailbox
	if json.Unmarshal(body, &m) == nil && m.Method != "" && len(m.ID) > 0 {
		box = s.expect(m.ID)
	}
	to := r.Clone(r.Context())
	to.URL, to.Body = s.url, io.NopCloser(bytes.NewReader(body)) // that of r may have been sent
	if s.id != "" {
		to.Header.Del(sessionHeader)
	}
	resp, err := s.next.RoundTrip(to)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		s.forget(box)
		return resp, err
	}
	if box == nil {
		_ = resp.Body.Close()
		return plainAnswer(r, http.StatusAccepted), nil
	}
	go func() { // ends with the body, which ends with the request
		defer resp.Body.Close()
		s.direct(resp)
	}()
	return streamOf(r, s.answer(box, r)), nil
}

// direct delivers what the answer to a message has of messages.
func (s *sseSession) direct(resp *http.Response) {
	in := newSSEReader(utf8Of(transport.Decoded(resp)))
	if is, _ := eventsIn(in.lines); !is {
		text, err := io.ReadAll(io.LimitReader(in.lines, maxMessage))
		if err == nil && bytes.Contains(text, []byte(`"jsonrpc"`)) && json.Valid(text) {
			s.deliver(text)
		}
		return
	}
	for {
		e, err := in.next()
		if len(e.data) > 0 {
			s.deliver(e.data)
		}
		if err != nil {
			return
		}
	}
}

// read delivers the events of the stream to its end.
func (s *sseSession) read() {
	defer s.stop()
	for {
		e, err := s.lines.next()
		if len(e.data) > 0 && !s.deliver(e.data) && err == nil {
			err = errTooLarge
		}
		if err == nil {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
		for _, box := range s.waits {
			box.put(nil, cmp.Or(map[bool]error{true: io.ErrUnexpectedEOF}[err == io.EOF], err))
		}
		s.other.put(nil, io.EOF)
		return
	}
}

func (s *sseSession) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// expect returns the place for the answer to a request.
func (s *sseSession) expect(id json.RawMessage) *mailbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	box := newMailbox()
	if s.ended {
		box.put(nil, io.ErrUnexpectedEOF)
	}
	s.waits[idText(id)] = box
	delete(s.had, idText(id)) // it is asked again
	return box
}

// forget has nothing delivered to a place any more.
func (s *sseSession) forget(box *mailbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range s.waits {
		if b == box {
			delete(s.waits, id)
		}
	}
}

// answer returns the body of the answer to a request.
func (s *sseSession) answer(box *mailbox, r *http.Request) io.ReadCloser {
	return &mailReader{box, r.Context(), func() { s.forget(box) }}
}

// deliver puts a message in the place where it is waited for; ok is false where too much lies there.
func (s *sseSession) deliver(message []byte) (ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(message, &list) == nil {
		ok = true
		for _, m := range list {
			ok = s.deliver(m) && ok
		}
		return ok
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Error  json.RawMessage
	}
	err := json.Unmarshal(message, &m)
	event := append(append([]byte("data: "), bytes.ReplaceAll(message, []byte("\n"), []byte("\ndata: "))...), "\n\n"...)
	s.mu.Lock()
	defer s.mu.Unlock()
	box, asked := s.waits[idText(m.ID)]
	switch nameless := len(m.ID) == 0 || string(m.ID) == "null"; {
	case err == nil && m.Method == "" && asked && !nameless:
		delete(s.waits, idText(m.ID))
		s.had[idText(m.ID)] = true
		return box.put(event, io.EOF)
	case err == nil && m.Method == "" && !nameless && s.had[idText(m.ID)]:
		// Read before the first on its other way, it would be taken for the answer, and the request would have none.
		return true
	case len(s.waits) == 1 && (err != nil || m.Method == "" && nameless):
		for _, box = range s.waits { // it can only be for this one, or is shown with it
			return box.put(event, nil)
		}
	}
	return s.other.put(event, nil)
}

// A mailbox buffers a reader's data. It is safe for concurrent use.
type mailbox struct {
	mu   sync.Mutex
	data []byte
	err  error         // at its end
	more chan struct{} // has room for one
}

func newMailbox() *mailbox { return &mailbox{more: make(chan struct{}, 1)} }

// put adds data, and its end; ok is false where too much lies there.
func (b *mailbox) put(data []byte, end error) (ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok = len(b.data)+len(data) <= 2*maxMessage; ok {
		b.data = append(b.data, data...)
	}
	b.err = cmp.Or(b.err, end)
	select {
	case b.more <- struct{}{}:
	default:
	}
	return ok
}

// A mailReader reads a mailbox until a request ends.
type mailReader struct {
	*mailbox
	ctx  context.Context
	left func()
}

// Read implements [io.Reader].
func (b *mailReader) Read(p []byte) (int, error) {
	for {
		b.mu.Lock()
		n, err := copy(p, b.data), b.err
		b.data = b.data[n:]
		b.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case err != nil:
			return 0, err
		}
		select {
		case <-b.more:
		case <-b.ctx.Done():
			return 0, context.Cause(b.ctx)
		}
	}
}

// Close implements [io.Closer].
func (b *mailReader) Close() error {
	b.left()
	return nil
}

// An sseEvent is an event of a stream that has a name or data.
type sseEvent struct {
	name string
	data []byte
}

// An sseReader reads events.
type sseReader struct{ lines *bufio.Reader }

func newSSEReader(in io.Reader) *sseReader {
	return &sseReader{bufio.NewReaderSize(&lineEnds{in: in}, 64<<10)}
}

// next returns the next event with data. What the stream ends in the middle of comes with the error.
func (s *sseReader) next() (e sseEvent, err error) {
	for has := false; ; {
		l, err := boundedLine(s.lines, maxMessage-len(e.data))
		text := bytes.TrimPrefix(bytes.TrimRight(l, "\n"), []byte("\ufeff"))
		name, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.name = string(value)
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			has, e.data = true, append(e.data, value...)
		}
		if err != nil || len(text) == 0 && has {
			return e, err
		}
		if len(text) == 0 {
			e.name = ""
		}
	}
}

// utf8Of returns a text that may be UTF-16, with or without a mark, as UTF-8. Messages begin with two
// characters of ASCII.
func utf8Of(in io.ReadCloser) io.ReadCloser { return &wideReader{in: in} }

type wideReader struct {
	in    io.ReadCloser
	lines *bufio.Reader
	low   int // the place of the lower byte of a unit; -1 in UTF-8
	ready []byte
}

// Read implements [io.Reader].
func (w *wideReader) Read(p []byte) (int, error) {
	if w.lines == nil {
		w.lines, w.low = bufio.NewReader(w.in), -1
		switch head, _ := w.lines.Peek(2); {
		case len(head) < 2:
		case head[0] == 0xff && head[1] == 0xfe, head[0] != 0 && head[1] == 0:
			w.low = 0
		case head[0] == 0xfe && head[1] == 0xff, head[0] == 0 && head[1] != 0:
			w.low = 1
		}
	}
	if w.low < 0 {
		return w.lines.Read(p)
	}
	for len(w.ready) == 0 {
		r, err := w.unit()
		if err != nil {
			return 0, err
		}
		if utf16.IsSurrogate(r) {
			second, err := w.unit()
			if err != nil {
				return 0, err
			}
			r = utf16.DecodeRune(r, second)
		}
		if r != '\ufeff' {
			w.ready = utf8.AppendRune(w.ready, r)
		}
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

func (w *wideReader) unit() (rune, error) {
	var b [2]byte
	_, err := io.ReadFull(w.lines, b[:])
	return rune(b[w.low]) | rune(b[1-w.low])<<8, err
}

// Close implements [io.Closer].
func (w *wideReader) Close() error { return w.in.Close() }
