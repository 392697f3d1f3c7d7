package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Pipes connect a client and a server as a program that starts the other does.
type pipes struct {
	in, answers   *os.File // what the server and the client read
	out, requests *os.File // what they write
}

func newPipes() *pipes {
	p := &pipes{}
	var err1, err2 error
	p.in, p.requests, err1 = os.Pipe()
	p.answers, p.out, err2 = os.Pipe()
	if err1 != nil || err2 != nil {
		panic(fmt.Sprint(err1, err2))
	}
	return p
}

func (p *pipes) client() sdk.Transport {
	return &sdk.IOTransport{Reader: p.answers, Writer: p.requests}
}

// hangUp is the client going away.
func (p *pipes) hangUp() {
	p.requests.Close()
	p.answers.Close()
}

// A raw client writes lines of its own.
type raw struct {
	*world
	*pipes
	lines *bufio.Reader
	ended chan error
}

func (w *world) raw(s *serve.Server) *raw {
	p := newPipes()
	r := &raw{w, p, bufio.NewReader(p.answers), make(chan error, 1)}
	go func() { r.ended <- s.Serve(p.in, p.out) }()
	w.Cleanup(func() { p.hangUp(); <-r.ended })
	return r
}

func (r *raw) send(line string) {
	r.Helper()
	_, err := io.WriteString(r.requests, line+"\n")
	r.must(err)
}

type message struct {
	ID     any
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// next is the next answer.
func (r *raw) next() message {
	r.Helper()
	line, err := r.lines.ReadString('\n')
	r.must(err)
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		r.Fatalf("this is no message: %q", line)
	}
	return m
}

const hello = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// What is no message is answered, and the connection outlives it.
func TestRubbish(t *testing.T) {
	w := newWorld(t, nil)
	r := w.raw(w.server(serve.Options{}))
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"writer","arguments":{"prompt":"p"}}}`)
	if m := r.next(); m.Error == nil || !strings.Contains(m.Error.Message, "initialization") {
		t.Errorf("before initialize: %+v", m)
	}
	for _, line := range []string{"rubbish", "42", "null", `"x"`, "[]", "{}", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0"`, "\x00\xff\x1b[2J",
		strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":1,"method":"ping"} trailing`, strings.Repeat("x", 5<<20)} {
		r.send(line)
		if m := r.next(); m.Error == nil || m.ID != nil || strings.Contains(m.Error.Message, "\x1b") {
			t.Errorf("%.40q: %+v", line, m)
		}
	}
	r.send("")
	r.send(hello)
	if m := r.next(); m.ID != "init" || m.Result == nil {
		t.Fatalf("initialize: %+v", m)
	}
	for _, line := range []string{`"Method":"ping"`, `"method":5`, `"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}`, `"jsonrpc":"1.0","method":"ping"`, `"method":"no/such"`, `"method":"tools/call","params":{"name":"nothing"}`, `"method":"tools/call","params":{"name":["writer"]}`, `"method":"tools/call"`, `"method":"initialize"`,
		`"method":"tools/list","params":{"cursor":"x"}`, `"method":"server/discover"`} {
		r.send(`{"jsonrpc":"2.0","id":7,` + line + "}")
		if m := r.next(); m.Error == nil || m.ID != 7.0 {
			t.Errorf("%.80s: %+v", line, m)
		}
	}
	r.send(`{"jsonrpc":"2.0","id":"nobody asked","result":{}}`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
	r.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	if m := r.next(); m.ID != 8.0 || m.Error != nil {
		t.Errorf("ping: %+v", m)
	}
	all, err := w.c.Jobs(t.Context(), adroit.ListOptions{})
	w.must(err)
	if len(all) > 0 {
		t.Errorf("there are jobs: %+v", all)
	}
}

// A client that never reads holds up itself: a job runs to its end, and the server
// reads no more than a bound.
func TestNeverReads(t *testing.T) {
	w := newWorld(t, nil)
	r := w.raw(w.server(serve.Options{}))
	r.send(hello)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greeter","arguments":{"name":"x"},"_meta":{"progressToken":"t"}}}`)
	wrote := make(chan int)
	go func() { // until the pipe is full, and cut at the end
		n := 0
		for {
			if _, err := io.WriteString(r.requests, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n"); err != nil {
				break
			}
			n++
		}
		wrote <- n
	}()
	var id string
	for id == "" {
		all, err := w.c.Jobs(t.Context(), adroit.ListOptions{})
		w.must(err)
		if len(all) > 0 {
			id = all[0].ID
		}
	}
	j, err := w.c.Wait(t.Context(), id)
	w.must(err)
	for j.Status == jobs.Queued {
		j, err = w.c.Wait(t.Context(), id)
		w.must(err)
	}
	if j.Status != jobs.Done {
		t.Errorf("the job is %s: %s", j.Status, j.Reason)
	}
	r.hangUp()
	if n := <-wrote; n > 1_000_000 {
		t.Errorf("the server read %d requests", n)
	}
}
