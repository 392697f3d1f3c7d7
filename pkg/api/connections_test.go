package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// As many silent connections as there may be, of which each may stay so for an hour,
// keep no request with the token waiting, nor end one in progress.
func TestSilentConnections(t *testing.T) {
	l, err := Open(Options{Address: "127.0.0.1:0", Token: rand.Text()})
	if err != nil {
		t.Fatal(err)
	}
	l.most = 256
	l.headerTime = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	ended, streams := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- l.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "begun")
			if r.URL.Path == "/stream" {
				_ = http.NewResponseController(w).Flush()
				<-streams
				fmt.Fprintln(w, "ended")
			}
		}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	request := func(path string) io.ReadCloser {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			r.Header.Set("Authorization", "Bearer "+l.token)
			return transport.RoundTrip(r)
		})}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Body
	}
	stream := request("/stream")
	defer stream.Close()
	for i := range l.most + 10 {
		c, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprint(c, "P") // the beginning of a request
		}
	}
	body := request("/")
	got, err := io.ReadAll(body)
	if err != nil || string(got) != "begun\n" {
		t.Errorf("%q, %v", got, err)
	}
	body.Close()
	close(streams)
	if got, err := io.ReadAll(stream); err != nil || string(got) != "begun\nended\n" {
		t.Errorf("the stream: %q, %v", got, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The place is that of who has not shown the token, then of who rests, then of nobody.
func TestLeastNeeded(t *testing.T) {
	for _, tt := range []struct {
		name string
		open []connection
		want int
	}{
		{"the oldest unknown one", []connection{{known: true}, {}, {}, {}}, 1},
		{"the oldest at rest", []connection{{known: true, serving: 1}, {known: true}, {known: true}, {}}, 1},
		{"the new one", []connection{{known: true, serving: 1}, {known: true, serving: 2}, {}}, 2},
	} {
		c := connections{most: len(tt.open) - 1}
		for i := range tt.open {
			c.open = append(c.open, &tt.open[i])
		}
		if got := c.leastNeeded(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// SetTimes sets the interval of heartbeats and the patience with slow readers; the returned
// function sets them back.
func SetTimes(beat, slow time.Duration) func() {
	b, s := heartbeat, slowReader
	heartbeat, slowReader = beat, slow
	return func() { heartbeat, slowReader = b, s }
}
