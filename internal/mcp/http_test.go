package mcp

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
)

// forms are those in which servers send a message in the answer to a request, and what adroit
// makes of a call is the same for each. A form has headers, separated by line ends, and a body, in
// which %s is the message.
var forms = []struct{ name, headers, body string }{
	{"done", "", "data: %s\n\ndata: [DONE]\n\n"},
	{"done before", "", "data: [DONE]\n\ndata: 1\n\ndata: null\n\ndata: {}\n\ndata: %s\n\n"},
	{"comments", "", ": up\n\n:\n\n: still\ndata: %s\n\n"},
	{"other names", "", "event: ping\ndata: 12:01\n\nevent: endpoint\ndata: /x\n\nevent: result\ndata: %s\n\n"},
	{"carriage returns", "", "event: message\rid: 1\rdata: %s\r\r"},
	{"both ends", "", "\ufeffevent: message\r\ndata: %s\r\n\r\n"},
	{"no end", "", "data: %s"},
	{"no field", "", "retry: 5\n\n%s\n\n"},
	{"events as JSON", "Content-Type: application/json", "data: %s\n\n"},
	{"events as text", "Content-Type: text/plain", "event: message\ndata: %s\n\n"},
	{"events as nothing", "Content-Type: ", "id: 7\ndata: %s\n\n"},
	{"JSON as events", "", "%s"},
	{"JSON as octets", "Content-Type: application/octet-stream", "\n\n %s"},
	{"JSON of another kind", "Content-Type: application/vnd.api+json; charset=utf8", "%s"},
	{"JSON as two kinds", "Content-Type: application/json, text/event-stream", "%s"},
	{"lines", "Content-Type: application/x-ndjson", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n%s\n"},
	{"lines as JSON", "Content-Type: application/json", "{\"level\":\"info\"}\n%s\n{}\n"},
	{"a sequence", "Content-Type: application/json-seq", "\x1e%s\n"},
	{"words before", "Content-Type: application/json", "Warning: mail() failed\n%s"},
	{"a list", "Content-Type: application/json", "[%s]"},
	{"a guard", "Content-Type: application/json", ")]}',\n%s"},
	{"deflate", "Content-Type: application/json\nContent-Encoding: deflate", "%s"},
	{"raw deflate", "Content-Encoding: deflate\nX-As: raw", "data: %s\n\n"},
	{"gzip", "Content-Encoding: gzip", "data: %s\n\n"},
	{"gzip unnamed", "Content-Type: application/json\nX-As: gzip", "%s"},
	{"not gzip", "Content-Type: application/json\nContent-Encoding: gzip\nX-As: plain", "%s"},
	{"UTF-16", "Content-Type: application/json; charset=utf-16\nX-As: utf-16le", "%s"},
	{"UTF-16, the other", "Content-Type: application/json\nX-As: utf-16be", "%s"},
	{"UTF-16 in events", "X-As: utf-16le", "event: message\ndata: %s\n\n"},
	{"Latin-1", "Content-Type: application/json; charset=iso-8859-1\nX-As: latin", "%s"},
}

// inForm writes a message in a form.
func inForm(w http.ResponseWriter, headers, body, message string) {
	w.Header().Set("Content-Type", eventStream)
	for h := range strings.Lines(headers) {
		name, value, _ := strings.Cut(h, ": ")
		w.Header().Set(name, strings.TrimSpace(value))
	}
	out := []byte(strings.Replace(body, "%s", message, 1))
	var b bytes.Buffer
	var z io.WriteCloser
	as := w.Header().Get("X-As")
	if as == "" {
		as = w.Header().Get("Content-Encoding")
	}
	switch as {
	case "deflate":
		z = zlib.NewWriter(&b)
	case "raw":
		z, _ = flate.NewWriter(&b, 1)
	case "gzip":
		z = gzip.NewWriter(&b)
	case "utf-16le", "utf-16be":
		b.Write(rootfs.Encode16(string(out), rootfs.Encoding(as)))
	case "latin":
		for _, r := range string(out) {
			b.WriteByte(byte(r))
		}
	default:
		b.Write(out)
	}
	if z != nil {
		_, _ = z.Write(out)
		_ = z.Close()
	}
	_, _ = w.Write(b.Bytes())
}

// A quirky server has one tool, and answers every request in one form. What it does with a request
// for its stream, and with the path /old, is of the test.
type quirky struct {
	headers, body string
	stream        func(w http.ResponseWriter, n int32, begun chan<- string)
	accepts       bool // it answers calls by the stream

	streams atomic.Int32
	begun   chan string // messages for the stream
	moved   int         // status of /old
}

func (q *quirky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/old" {
		http.Redirect(w, r, "/new", q.moved)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		if q.stream == nil || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		q.stream(w, q.streams.Add(1), q.begun)
		return
	}
	answer := func(result string) {
		inForm(w, q.headers, q.body, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result))
	}
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"quirky","version":"1"}}`)
	case m.Method == "tools/list":
		answer(`"result":` + twoTools)
	case m.Method == "tools/call" && q.accepts:
		q.begun <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"gesendet für 5 %%"}]}}`, m.ID)
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call":
		answer(`"result":{"content":[{"type":"text","text":"gesendet für 5 %"}]}`)
	default:
		answer(`"error":{"code":-32601,"message":"no such method"}`)
	}
}

// called has a tool of a server called twice.
func (q *quirky) called(t *testing.T, path string) {
	t.Helper()
	at := httptest.NewServer(q)
	defer at.Close()
	p := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"fake": {URL: at.URL + path, Timeout: 20 * time.Second}}})
	defer p.Close()
	f := &fixture{Pool: p}
	list, err := p.Tools(t.Context(), turn.Scope{}, []string{"fake"})
	if err != nil || len(list) != 2 {
		t.Errorf("%d tools, %v", len(list), err)
		return
	}
	for range 2 {
		if r := f.call(t, list[0]); r.Failed || r.Text != "gesendet für 5 %" {
			t.Errorf("the result is %+v", r)
		}
	}
}

// TestMCPForms: an answer over HTTP is read in every form in which it comes.
func TestMCPForms(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			(&quirky{headers: f.headers, body: f.body}).called(t, "")
		})
	}
}

// TestMCPStreams: a stream for what belongs to no request may be lacking, broken or closed at any
// time, and the answer of a call may come by it. A message follows a redirect.
func TestMCPStreams(t *testing.T) {
	const plain = "Content-Type: application/json"
	open := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", eventStream)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	}
	for name, stream := range map[string]func(w http.ResponseWriter, n int32, begun chan<- string){
		"closed": func(w http.ResponseWriter, _ int32, _ chan<- string) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
		},
		"empty": func(w http.ResponseWriter, _ int32, _ chan<- string) { open(w) },
		"an error": func(w http.ResponseWriter, _ int32, _ chan<- string) {
			w.Header().Set("Content-Type", eventStream)
			w.WriteHeader(500)
		},
		"junk": func(w http.ResponseWriter, _ int32, _ chan<- string) {
			open(w)
			_, _ = io.WriteString(w, "data: [DONE]\n\nx\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&quirky{headers: plain, body: "%s", stream: stream}).called(t, "")
		})
	}
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		q := &quirky{headers: plain, body: "%s", accepts: true, begun: make(chan string, 9)}
		q.stream = func(w http.ResponseWriter, _ int32, _ chan<- string) { // ended by the server after each
			open(w)
			fmt.Fprintf(w, "data: %s\n\n", <-q.begun)
		}
		q.called(t, "")
		if n := q.streams.Load(); n < 2 {
			t.Errorf("the stream was asked for %d times", n)
		}
	})
	for _, status := range []int{301, 302, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			(&quirky{headers: plain, body: "%s", moved: status}).called(t, "/old")
		})
	}
}

// TestMCPBrokenOff: an answer that the server breaks off, and does not go on with when it is asked, is unknown,
// and ends nothing else; text in the place of the first answer is named.
func TestMCPBrokenOff(t *testing.T) {
	at := byHand(t, func(w http.ResponseWriter, _, _ string) {
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, "id: 4\nretry: 1\ndata: \n\n")
	})
	p := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"fake": {URL: at.URL}}})
	defer p.Close()
	f := &fixture{Pool: p}
	for range 2 {
		r := f.call(t, f.tool(t, "drop"))
		if want := "The MCP server fake broke off its answer and did not go on with it: the status 405; whether drop was done is not known"; !r.Undecided || !strings.Contains(r.Text, want) {
			t.Errorf("the result is %+v", r)
		}
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Wi-Fi login</html>") }))
	defer page.Close()
	other := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"fake": {URL: page.URL}}})
	defer other.Close()
	if _, err := other.Tools(t.Context(), turn.Scope{}, []string{"fake"}); err == nil || !strings.Contains(err.Error(), `no message: "<html>Wi-Fi login</html>"`) {
		t.Errorf("the error is %v", err)
	}
}

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
