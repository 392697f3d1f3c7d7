package api

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
)

// connections bounds the connections of a server. The oldest one that serves no
// request with the token gives its place to a new one: whoever connects and stays
// silent, or sends slowly, delays nobody.
type connections struct {
	most int

	mu   sync.Mutex
	open []*connection // the oldest first
}

// A connection is one that is open.
type connection struct {
	net.Conn
	known   bool // it has sent a request with the token
	serving int  // requests with the token, in progress
}

type connectionKey struct{}

// context is that of the requests of a connection, for [http.Server.ConnContext]. It
// is called for each before anything is read from it, one at a time.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	added := &connection{Conn: conn}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, added)
	if len(c.open) > c.most {
		i := c.leastNeeded()
		closeNow(c.open[i].Conn)
		c.open = slices.Delete(c.open, i, i+1)
	}
	return context.WithValue(ctx, connectionKey{}, added)
}

// leastNeeded is the oldest connection that has never sent the token, the new one
// excepted while there is another; else the oldest at rest; else the new one, which
// is too many.
func (c *connections) leastNeeded() int {
	last := len(c.open) - 1
	if i := slices.IndexFunc(c.open[:last], func(o *connection) bool { return !o.known }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(c.open[:last], func(o *connection) bool { return o.serving == 0 }); i >= 0 {
		return i
	}
	return last
}

// closeNow closes a connection. The end of TLS is not announced: that waits for the
// other side.
func closeNow(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // it serves nobody
}

// state forgets what is closed, for [http.Server.ConnState].
func (c *connections) state(conn net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(o *connection) bool { return o.Conn == conn })
}

// keep keeps the connection of a request with the token while it is served.
func (c *connections) keep(h http.Handler) http.Handler {
	add := func(o *connection, n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		o.known, o.serving = true, o.serving+n
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			add(o, 1)
			defer add(o, -1)
		}
		h.ServeHTTP(w, r)
	})
}
