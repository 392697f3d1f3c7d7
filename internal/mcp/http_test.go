package mcp

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A server may close an idle connection just as it is used again. Everything is sent
// once more then but the call of a tool, which may have been done.
func TestClosedConnection(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		sent int
		fail bool
	}{
		"a list":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 2, false},
		"a tool":         {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 1, true},
		"several":        {`[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`, 1, true},
		"an answer":      {`{"jsonrpc":"2.0","id":1,"result":{}}`, 1, true},
		"what is broken": {`{"jsonrpc`, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			used, sent := map[net.Conn]int{}, 0
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				conn := r.Context().Value(connection{}).(net.Conn)
				mu.Lock()
				used[conn]++
				again := used[conn] > 1
				if string(body) == c.body {
					sent++
				}
				mu.Unlock()
				if again {
					conn.Close()
				}
			}))
			srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, connection{}, c)
			}
			srv.Start()
			defer srv.Close()
			u := strings.TrimPrefix(srv.URL, "http://")
			client := &http.Client{Transport: &toServer{next: &http.Transport{}, host: u, wire: &wire{calls: newCalls(""), asked: map[string]request{}}, wrote: func([]byte) {}}}
			post := func(body string) error {
				r, err := client.Post(srv.URL, "application/json", strings.NewReader(body))
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
				return err
			}
			if err := post(`{"method":"ping"}`); err != nil {
				t.Fatal(err)
			}
			if err := post(c.body); (err != nil) != c.fail {
				t.Errorf("%v", err)
			}
			srv.Close() // which waits for what serves
			mu.Lock()
			defer mu.Unlock()
			if sent != c.sent {
				t.Errorf("sent %d times, want %d", sent, c.sent)
			}
		})
	}
}

// A connection is the key of a request's connection in its context.
type connection struct{}
