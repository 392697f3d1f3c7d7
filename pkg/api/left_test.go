package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
)

// A slow client takes as long for a removal as its caller waits.
type slow struct {
	adroit.Client
	begun, ended chan struct{}
}

func (s slow) Remove(ctx context.Context, _ string, _ adroit.RemoveOptions) (*adroit.Removed, error) {
	close(s.begun)
	<-ctx.Done()
	close(s.ended)
	return nil, context.Cause(ctx)
}

// A request whose client has left ends: while it is performed, and while its body is
// still being sent, when it is never performed.
func TestClientLeaves(t *testing.T) {
	const head = "POST /v1/jobs/remove HTTP/1.1\r\nHost: localhost\r\n"
	for name, c := range map[string]struct {
		request string
		begins  bool
	}{
		"length":           {head + "Content-Length: 13\r\n\r\n" + `{"job": "J1"}`, true},
		"chunked":          {head + "Transfer-Encoding: chunked\r\n\r\n" + "d\r\n" + `{"job": "J1"}` + "\r\n0\r\n\r\n", true},
		"body not ended":   {head + "Transfer-Encoding: chunked\r\n\r\n" + "d\r\n" + `{"job": "J1"}` + "\r\n", false},
		"body not there":   {head + "Content-Length: 13\r\n\r\n" + `{"job"`, false},
		"more than object": {head + "Content-Length: 15\r\n\r\n" + `{"job": "J1"} x`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := slow{begun: make(chan struct{}), ended: make(chan struct{})}
			server := httptest.NewServer(api.Handler(s))
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			dirtest.Must(t, err)
			_, err = fmt.Fprint(conn, c.request)
			dirtest.Must(t, err)
			if c.begins {
				within(t, s.begun, "the call")
			}
			dirtest.Must(t, conn.(*net.TCPConn).CloseWrite())
			if !c.begins {
				_, _ = io.Copy(io.Discard, conn) // until the server has answered and hung up
			}
			dirtest.Must(t, conn.Close())
			if c.begins {
				within(t, s.ended, "its end")
			}
			server.Close() // waits for what is in progress
			select {
			case <-s.begun:
				if !c.begins {
					t.Error("it was performed")
				}
			default:
			}
		})
	}
}

func within(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatal("waited a minute for " + what)
	}
}

// A server does not know whose last job a request means, so it does nothing.
func TestLastIsRefused(t *testing.T) {
	s := slow{begun: make(chan struct{}), ended: make(chan struct{})}
	c := api.Loopback(s)
	_, err := c.Remove(t.Context(), " Last ", adroit.RemoveOptions{})
	if err == nil || !strings.Contains(err.Error(), "does not know whose last job is meant") {
		t.Errorf("removing last: %v", err)
	}
	for _, err := range c.Events(t.Context(), "last", adroit.EventOptions{}) {
		if err == nil || !strings.Contains(err.Error(), "whose last job") {
			t.Errorf("the events of last: %v", err)
		}
	}
}

// A key that is there and empty is refused, as the command line does, and one that is absent
// is none.
func TestEmptyKeyIsRefused(t *testing.T) {
	h := api.Handler(slow{})
	for body, want := range map[string]bool{`{"key":""}`: true, `{"target":"x","Key":""}`: true, `{"target":"x","key":7}`: false} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs/resolve", strings.NewReader(body)))
		if got := strings.Contains(w.Body.String(), "key is empty"); got != want || want && w.Code != 400 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
