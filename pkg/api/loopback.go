package api

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/adroit-run/adroit/pkg/adroit"
)

// Loopback is a client of c over the interface, in memory. What cannot travel
// as JSON fails with it before anything listens. Closing it closes c.
func Loopback(c adroit.Client) adroit.Client {
	return loopback{&client{"http://loopback", &http.Client{Transport: inMemory{Handler(c)}}}, c}
}

type loopback struct {
	*client
	of adroit.Client
}

func (l loopback) Close() error { return errors.Join(l.client.Close(), l.of.Close()) }

// inMemory carries requests to a handler in this process. The goroutine of a
// request ends with the handler, which ends when the request's context does or
// the body of its answer is closed.
type inMemory struct{ h http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	body, w := io.Pipe()
	answer := &responseWriter{body: w, header: http.Header{}, begun: make(chan struct{})}
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	go func() {
		defer w.Close()
		t.h.ServeHTTP(answer, in)
		answer.WriteHeader(http.StatusOK) // if there was no body
	}()
	select {
	case <-answer.begun:
	case <-req.Context().Done():
		body.CloseWithError(req.Context().Err())
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: answer.code, Status: http.StatusText(answer.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.sent, Body: body, ContentLength: -1, Request: req}, nil
}

// responseWriter writes an answer into a pipe.
type responseWriter struct {
	body   *io.PipeWriter
	header http.Header
	once   sync.Once
	begun  chan struct{}
	code   int         // after begun
	sent   http.Header // after begun
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.begun)
	})
}

func (w *responseWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements [http.Flusher]: a pipe keeps nothing back.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }
