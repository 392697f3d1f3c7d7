package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
)

// answers are real servers' answers to completed calls, with the part that is shown. %s is the ID
// of the call.
var answers = []struct {
	name, raw string
	want      string
	failed    bool
	unknown   bool
}{
	{"a part of another kind", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"json","json":{"sent":true}}]}}`, `{"sent":true}`, false, false},
	{"a number for a text", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":42}]}}`, "42", false, false},
	{"a text for parts", `{"jsonrpc":"2.0","id":%s,"result":{"content":"sent"}}`, "sent", false, false},
	{"one part for several", `{"jsonrpc":"2.0","id":%s,"result":{"content":{"type":"text","text":"sent"}}}`, "sent", false, false},
	{"texts for parts", `{"jsonrpc":"2.0","id":%s,"result":{"content":["sent",null,"twice"]}}`, "sent\ntwice", false, false},
	{"a part without a kind", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"text":"sent"}]}}`, "sent", false, false},
	{"known and unknown parts", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"sent, see the card"},{"type":"ui","html":"<b>sent</b>"}]}}`, "sent, see the card\n[a part of the kind \"ui\"]\n<b>sent</b>", false, false},
	{"an image that is none", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"sent"},{"type":"image","data":"!","mimeType":"image/png"}]}}`, "sent\n[a part of the kind \"image\"]", false, false},
	{"odd annotations", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"sent","annotations":[],"_meta":[]}]}}`, "sent", false, false},
	{"a failure without words", `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`, "The tool failed and gave no reason.", true, false},
	{"a failure as text", `{"jsonrpc":"2.0","id":%s,"result":{"content":"no","isError":"true"}}`, "no", true, false},
	{"a result that is a text", `{"jsonrpc":"2.0","id":%s,"result":"sent"}`, "sent", false, false},
	{"a result that is a list", `{"jsonrpc":"2.0","id":%s,"result":[{"type":"text","text":"sent"}]}`, "sent", false, false},
	{"the first revision", `{"jsonrpc":"2.0","id":%s,"result":{"toolResult":"sent"}}`, "sent", false, false},
	{"a large number", `{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"id": 9007199254740993}}}`, `{"id":9007199254740993}`, false, false},
	{"structured only", `{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"sent":true}}}`, `{"sent":true}`, false, false},
	{"an id as text", `{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"sent"}]}}`, "sent", false, false},
	{"no version", `{"id":%s,"result":{"content":[{"type":"text","text":"sent"}]}}`, "sent", false, false},
	{"an error that is null", `{"jsonrpc":"2.0","id":%s,"error":null,"result":{"content":[{"type":"text","text":"sent"}]}}`, "sent", false, false},
	{"a number that is none", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"sent, -NaN"}],"structuredContent":{"x":NaN,"y":-Infinity}}}`, "sent, -NaN", false, false},
	{"a tab in a text", "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"sent\tto a\"}]}}", "sent\tto a", false, false},
	{"a result that is null", `{"jsonrpc":"2.0","id":%s,"result":null}`, "whether drop was done is not known", true, true},
	{"a result of another form", `{"jsonrpc":"2.0","id":%s,"result":{"outcome":"queued"}}`, `{"outcome":"queued"}`, true, true},
	{"no JSON", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":sent}]}}`, "text\":sent", true, true},
	{"an error inside", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error"}}`, "answered with the error -32603: Internal error; whether drop was done is not known", true, true},
	{"an error of the arguments", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Output validation error"}}`, "Output validation error; whether drop was done is not known", true, true},
	{"an error that is a text", `{"jsonrpc":"2.0","id":%s,"error":"boom"}`, "answered with an error: boom; whether drop was done is not known", true, true},
	{"an error without a number", `{"jsonrpc":"2.0","id":%s,"error":{"code":"E1","message":"boom"}}`, "answered with the error E1: boom; whether drop was done is not known", true, true},
	{"an error without anything", `{"jsonrpc":"2.0","id":%s,"error":{}}`, "answered with an error without words; whether drop was done is not known", true, true},
	{"an error with data", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"boom","data":{"field":"to"}}}`, `answered with the error -32001: boom; {"field":"to"}; whether`, true, true},
	{"no id", `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"sent%.0s"}]}}`, "sent", false, false},
	{"an id that is null", `{"jsonrpc":"2.0","id":null,"result":{"content":[{"type":"text","text":"sent%.0s"}]}}`, "sent", false, false},
	{"no such method", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, "drop was not done by the MCP server fake: it answered with the error -32601: Method not found", true, false},
	{"failed without content", `{"jsonrpc":"2.0","id":%s,"result":{"isError":true}}`, "The tool failed and gave no reason.", true, false},
	{"an error to nobody", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no such%.0s thing"}}`, "error -32600: no such thing", true, true},
	{"a list with a notice", `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}},{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"right"}]}}]`, "right", false, false},
}

func (f *fixture) answered(t *testing.T, server string) (string, bool, bool) {
	t.Helper()
	r := f.call(t, f.ofServer(t, server, "drop"))
	return r.Text, r.Failed, r.Undecided
}

// TestMCPAnswers: the readable parts of an answer are shown, over standard output and both forms
// of HTTP, and a call that may have been done is never reported as not done.
func TestMCPAnswers(t *testing.T) {
	f := serve(t, "answers", twoTools)
	kind := ""
	at := byHand(t, func(w http.ResponseWriter, id, answer string) {
		w.Header().Set("Content-Type", kind)
		if text := fmt.Sprintf(answer, id); kind == "application/json" {
			_, _ = io.WriteString(w, text)
		} else {
			_, _ = io.WriteString(w, "event: message\ndata: "+text+"\n\n")
		}
	})
	over := &fixture{Pool: New(Options{Dir: t.TempDir(), Network: netguard.Guard{}, Servers: map[string]Server{"fake": {URL: at.URL}}})}
	defer over.Close()
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			f.write(t, twoTools+"\n\n"+tt.raw)
			at.answer = tt.raw
			look := func(how, text string, failed, unknown bool) {
				if !strings.Contains(text, tt.want) || failed != tt.failed || unknown != tt.unknown {
					t.Errorf("%s it is %q, failed %v, unknown %v; want %q, %v, %v", how, text, failed, unknown, tt.want, tt.failed, tt.unknown)
				}
			}
			text, failed, unknown := f.answered(t, "fake")
			look("over standard output", text, failed, unknown)
			for _, kind = range []string{"application/json", "text/event-stream"} {
				text, failed, unknown := over.answered(t, "fake")
				look("as "+kind, text, failed, unknown)
			}
		})
	}
}

// A handServer is an MCP server over HTTP that answers calls as a test wants.
type handServer struct {
	*httptest.Server
	answer string
}

func byHand(t *testing.T, call func(w http.ResponseWriter, id, answer string)) *handServer {
	h := &handServer{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		reply := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
		}
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			reply(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":[]},"serverInfo":{"name":"hand","version":"1"}}`)
		case m.Method == "tools/list":
			reply(`"result":` + twoTools)
		case m.Method == "tools/call":
			call(w, string(m.ID), h.answer)
		default:
			reply(`"error":{"code":-32601,"message":"no such method"}`)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// TestMCPStatuses: a call over HTTP that was refused was not done; after any other end without an
// answer nobody knows.
func TestMCPStatuses(t *testing.T) {
	var next atomic.Value // what the server does with a call; one that was cut may still be at it
	next.Store("")
	at := byHand(t, func(w http.ResponseWriter, id, _ string) {
		how := next.Load().(string)
		var status int
		switch _, err := fmt.Sscan(how, &status); {
		case err == nil:
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>gateway</html>")
		case how == "reset":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
		case how == "cut stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": working\n\n")
		case how == "cut answer":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"con`)
		case how == "a page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Log in</html>")
		case how == "no kind":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"sent"}]}}`)
		case how == "too large":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"`)
			_, _ = w.Write(bytes.Repeat([]byte("x"), maxMessage))
			_, _ = io.WriteString(w, "\"}]}}\n\n")
		}
	})
	p := New(Options{Dir: t.TempDir(), Network: netguard.Guard{}, Servers: map[string]Server{"fake": {URL: at.URL}, "new": {URL: at.URL + "/"}}})
	defer p.Close()
	f := &fixture{Pool: p}
	for name, tt := range map[string]struct {
		want    string
		unknown bool
	}{
		"400":        {"drop was not done by the MCP server fake: it answered with the status 400 Bad Request: <html>gateway</html>", false},
		"404":        {"drop was not done", false},
		"429":        {"drop was not done", false},
		"408":        {"whether drop was done is not known", true},
		"409":        {"whether drop was done is not known", true},
		"303":        {"whether drop was done is not known", true},
		"500":        {"answered with the status 500 Internal Server Error: <html>gateway</html>; whether drop was done is not known", true},
		"502":        {"whether drop was done is not known", true},
		"503":        {"whether drop was done is not known", true},
		"504":        {"whether drop was done is not known", true},
		"reset":      {"whether drop was done is not known", true},
		"cut stream": {"whether drop was done is not known", true},
		"cut answer": {"whether drop was done is not known", true},
		"a page":     {"answered with something that is no message: <html>Log in</html>; whether drop was done is not known", true},
		"too large":  {"sent a message that is longer than 16777216 bytes, which is too large; whether drop was done is not known", true},
		"no kind":    {"sent", false},
	} {
		next.Store(name)
		if text, failed, unknown := f.answered(t, "fake"); !strings.Contains(text, tt.want) || unknown != tt.unknown || failed != (name != "no kind") {
			t.Errorf("%s: %q, failed %v, unknown %v; want %q, %v", name, text, failed, unknown, tt.want, tt.unknown)
		}
	}
	tool := f.ofServer(t, "fake", "drop")
	at.Close()
	tool.Server = "new" // a connection that is idle could be used, and what became of the call would be unknown
	if r := f.call(t, tool); !r.Failed || r.Undecided || strings.Contains(r.Text, "not known") {
		t.Errorf("where nothing listens it is %+v", r)
	}
}

// TestMCPSessions: a session that the server has forgotten is begun anew for the call that it refused,
// once, and a notification that it refuses ends nothing.
func TestMCPSessions(t *testing.T) {
	for _, tt := range []struct {
		status, calls int
		id            string // of its answer; the call's if empty
	}{{404, 2, "null"}, {400, 2, "null"}, {410, 2, "null"}, {404, 2, ""}, {400, 1, ""}} {
		var begun, calls atomic.Int32
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			answer := func(result string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
			switch {
			case m.ID == nil:
				w.WriteHeader(http.StatusBadRequest)
			case m.Method == "initialize":
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", begun.Add(1)))
				answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
			case m.Method == "tools/list":
				answer(twoTools)
			case m.Method == "tools/call" && calls.Add(1) == 1:
				w.WriteHeader(tt.status)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Session not found"}}`, cmp.Or(tt.id, string(m.ID)))
			case m.Method == "tools/call":
				w.Header().Set("Mcp-Session-Id", "another")
				answer(`{"content":[{"type":"text","text":"did it in ` + r.Header.Get("Mcp-Session-Id") + `"}]}`)
			default:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			}
		}))
		p := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"fake": {URL: at.URL}}})
		f := &fixture{Pool: p}
		r := f.call(t, f.tool(t, "drop"))
		if again := tt.calls == 2; r.Failed == again || again && r.Text != fmt.Sprint("did it in s", begun.Load()) || int(calls.Load()) != tt.calls {
			t.Errorf("%d to %q: %+v after %d calls and %d sessions", tt.status, tt.id, r, calls.Load(), begun.Load())
		}
		_ = p.Close()
		at.Close()
	}
}

// TestMCPNoise: output of a server between its messages is skipped and quoted, and a message may
// have several lines.
func TestMCPNoise(t *testing.T) {
	message := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id)
	}
	for name, tt := range map[string]struct {
		in    string
		want  int // messages
		noise string
	}{
		"lines":           {"npm warn old\n\n> start\n" + message(1) + "\nlater\r\n" + message(2) + "\r\n", 2, "npm warn old"},
		"a tag":           {"[INFO] listening\n" + message(1) + "\n", 1, "[INFO] listening"},
		"an open bracket": {"[1/3] Installing [\n" + message(1) + "\n" + message(2), 2, "[1/3] Installing ["},
		"an open quote":   {"{ \"half\n" + message(1) + "\n", 1, `{ "half`},
		"inspected":       {"{\n  port: 1,\n  tools: [ 'a' ]\n}\n" + message(1) + "\n", 1, "{"},
		"a log":           {`{"level":"info","id":1,"msg":"up"}` + "\n" + message(1) + "\n", 1, `{"level":"info","id":1,"msg":"up"}`},
		"before it":       {"Loading... " + message(1) + "\n", 1, "Loading..."},
		"around it":       {"\x1b[32m" + message(1) + "\x1b[0m\nup {x} " + message(2) + " done", 2, `\x1b[32m`},
		"zeros":           {"\x00\x00" + message(1) + "\x00\n", 1, `\x00\x00`},
		"a tag before it": {"[INFO] " + message(1) + "\n", 1, "[INFO]"},
		"two in a line":   {message(1) + message(2), 2, ""},
		"a hundred":       {strings.Repeat(`{"jsonrpc":"2.0","method":"x"}`, 60) + message(1) + "\n" + message(2) + strings.Repeat(" [ {\"a\":1}", 10000), 62, strings.TrimSpace(strings.Repeat("[ {\"a\":1} ", 20))},
		"a mark":          {"\ufeff" + message(1) + "\n", 1, ""},
		"several lines":   {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"text\": \"a } b\"\n  }\n}\n" + message(2) + "\n", 2, ""},
		"headers":         {"up\nContent-Length: " + strconv.Itoa(len(message(1))) + "\r\n\r\n" + message(1) + "content-length:" + strconv.Itoa(len(message(2))) + "\nX: y\n\n" + message(2), 2, "up"},
		"a list":          {"[" + message(1) + "," + message(2) + "]\n", 2, ""}, // a revision may have no lists
	} {
		w := &wire{calls: newCalls("x"), changed: func() {}, asked: map[string]request{"1": {id: []byte("1")}, "2": {id: []byte("2")}}}
		named := ""
		m := newMessageReader(strings.NewReader(tt.in), w, func(first string) { named = first })
		b, err := io.ReadAll(m)
		n := 0
		for l := range strings.Lines(string(b)) {
			if n++; !json.Valid([]byte(l)) || !strings.Contains(l, `"jsonrpc":"2.0"`) {
				t.Errorf("%s: %q is no message", name, l)
			}
		}
		if err != nil || n != tt.want || named != tt.noise || m.Noise() != tt.noise {
			t.Errorf("%s: %d messages, %q named, %v; want %d, %q", name, n, named, err, tt.want, tt.noise)
		}
	}
}

// TestMCPFramed: a server whose messages have headers, as those of language servers, is understood,
// and known the next time.
func TestMCPFramed(t *testing.T) {
	f := serve(t, "framed", twoTools)
	s := f.o.Servers["fake"]
	s.StartTimeout = 4 * time.Second
	f.o.Servers["fake"] = s
	if r := f.call(t, f.tool(t, "look")); r.Text != "did it" {
		t.Errorf("the result is %+v", r)
	}
	if r, err := f.record("fake", s); err != nil || !r.Framed {
		t.Errorf("the record is %+v, %v", r, err)
	}
}

// TestMCPRevisions: a server that refuses the revision is asked again with one that it names.
func TestMCPRevisions(t *testing.T) {
	const script = `while read -r x; do case $x in
*discover*) echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}';;
*'"initialize"'*2024-11-05*) echo '{"jsonrpc":"2.0","id":'$(echo "$x" | sed 's/.*"id":\([0-9]*\).*/\1/')',"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}';;
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$(echo "$x" | sed 's/.*"id":\([0-9]*\).*/\1/')',"error":%s}';;
*tools/list*) echo '{"jsonrpc":"2.0","id":'$(echo "$x" | sed 's/.*"id":\([0-9]*\).*/\1/')',"result":%s}';; esac; done`
	for refusal, want := range map[string]string{
		`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-10-07","2024-11-05"],"requested":"2025-11-25"}}`: "",
		`{"code":-32000,"message":"Unsupported protocol version: 2025-11-25 (supported: 2024-11-05)"}`:                                       "",
		`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2023-01-01"],"requested":"2025-11-25"}}`:              "refuses the connection with the error -32602: Unsupported protocol version",
	} {
		p := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"old": {Command: commandLine{"sh", "-c", fmt.Sprintf(script, refusal, twoTools)}, Grants: Grants{Sandbox: "off"}}}})
		list, err := p.Tools(t.Context(), turn.Scope{}, []string{"old"})
		if want == "" && (err != nil || len(list) != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d tools, %v", refusal, len(list), err)
		}
		_ = p.Close()
	}
}

// TestMCPNoisyStart: so it is with a program.
func TestMCPNoisyStart(t *testing.T) {
	f := serve(t, "noisy", twoTools)
	if r := f.call(t, f.tool(t, "look")); r.Text != "did look" {
		t.Errorf("the result is %+v", r)
	}
	if len(f.warnings) != 1 || !strings.Contains(f.warnings[0], `"Debugger listening"`) {
		t.Errorf("the warnings are %q", f.warnings)
	}
}

// TestMCPTooLarge: an answer that is too large is named as that.
func TestMCPTooLarge(t *testing.T) {
	f := serve(t, "too large", twoTools)
	if text, failed, unknown := f.answered(t, "fake"); !failed || !unknown || !strings.Contains(text, "sent a message that is longer than 16777216 bytes, which is too large") {
		t.Errorf("the result is %q, failed %v, unknown %v", text, failed, unknown)
	}
}

// FuzzMCPMessages: reading any output ends, and returns messages only.
func FuzzMCPMessages(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(fmt.Sprintf(a.raw, "1") + "\n"))
	}
	f.Add([]byte("[\n{\n{\"id\":1,\"result\":{\"content\":[[[1]]]}}\n\"\\"))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := newCalls("x")
		o := &openCall{id: "o"}
		c.open["o"] = o
		w := &wire{calls: c, changed: func() {}, asked: map[string]request{}}
		if q := w.sends([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"o"}}}`)); q.call != o {
			t.Fatal("the call is not known")
		}
		b, err := io.ReadAll(newMessageReader(bytes.NewReader(in), w, func(string) {}))
		if err != nil {
			t.Fatal(err)
		}
		for l := range bytes.Lines(b) {
			var m struct{ Result json.RawMessage }
			if l[0] == '{' && json.Unmarshal(l, &m) != nil || !json.Valid(l) || m.Result != nil && string(m.Result) != "null" && bytes.Contains(l, []byte(`"id":1`)) && !decodes(m.Result) && w.asked["1"].id == nil {
				t.Errorf("%q gives %q", in, l)
			}
		}
	})
}
