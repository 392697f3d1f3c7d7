package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
)

// An earlierServer has the transport HTTP+SSE of 2024-11-05, with what servers make of it.
type earlierServer struct {
	*httptest.Server
	refusal  int                          // of a message at the address of the stream
	body     string                       // with the refusal
	get      int                          // the status of the stream; 0 for 200
	before   string                       // of the event that names the address
	endpoint string                       // %s is the session
	posted   int                          // the status of an accepted message; 0 for 202
	direct   bool                         // the answer is in the answer to the message, too
	wide     rootfs.Encoding              // of the stream
	cuts     bool                         // the stream ends in a call
	forgets  bool                         // a call is refused as of an unknown session, once
	mixed    bool                         // messages are accepted at the address of the stream, which names none
	saw      func(r *http.Request) string // what is wrong with a request

	mu       sync.Mutex
	sessions map[string]chan string
	faults   []string
	begun    int
}

func (e *earlierServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	if e.saw != nil {
		if fault := e.saw(r); fault != "" {
			e.faults = append(e.faults, r.Method+" "+fault)
		}
	}
	id := r.URL.Query().Get("sessionId")
	if e.mixed {
		id = "mixed"
	}
	if e.mixed && e.sessions[id] == nil {
		e.sessions[id] = make(chan string, 9)
	}
	to := e.sessions[id]
	e.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && e.get != 0:
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(e.get)
	case r.Method == http.MethodGet:
		e.stream(w, r)
	case to == nil:
		w.WriteHeader(e.refusal)
		_, _ = io.WriteString(w, e.body)
	default:
		e.message(w, r, to)
	}
}

func (e *earlierServer) stream(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.begun++
	id := fmt.Sprint(e.begun)
	if e.mixed {
		id = "mixed"
	}
	if e.sessions[id] == nil {
		e.sessions[id] = make(chan string, 9)
	}
	to := e.sessions[id]
	e.mu.Unlock()
	w.Header().Set("Content-Type", eventStream)
	write := func(text string) {
		if e.wide != "" {
			text = string(rootfs.Encode16(text, e.wide))
		}
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	first := e.before + "event: endpoint\ndata: " + strings.ReplaceAll(e.endpoint, "%s", id) + "\n\n"
	if e.mixed {
		first = ": up\n\n"
	}
	write(first)
	for {
		select {
		case <-r.Context().Done():
			return
		case m := <-to:
			if m == "" {
				return
			}
			write("event: message\ndata: " + m + "\n\n")
		}
	}
}

func (e *earlierServer) message(w http.ResponseWriter, r *http.Request, to chan string) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	text := `"error":{"code":-32601,"message":"no such method"}`
	switch m.Method {
	case "initialize":
		text = `"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"earlier","version":"1"}}`
	case "tools/list":
		text = `"result":` + twoTools
	case "tools/call":
		e.mu.Lock()
		forgets := e.forgets
		e.forgets = false
		if forgets {
			clear(e.sessions)
		}
		e.mu.Unlock()
		if forgets {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if e.cuts {
			to <- ""
			w.WriteHeader(http.StatusAccepted)
			return
		}
		to <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
		text = `"result":{"content":[{"type":"text","text":"gesendet für 5 %"}]}`
	}
	text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, text)
	if m.ID != nil {
		to <- text
	}
	w.WriteHeader(max(e.posted, http.StatusAccepted-2*min(e.posted, 1)))
	switch {
	case e.direct && m.ID != nil:
		_, _ = io.WriteString(w, text)
	case !e.mixed:
		_, _ = io.WriteString(w, "Accepted")
	}
}

func (e *earlierServer) start(t *testing.T, entry Server) *fixture {
	t.Helper()
	e.sessions = map[string]chan string{}
	if e.refusal == 0 {
		e.refusal = http.StatusMethodNotAllowed
	}
	if e.endpoint == "" {
		e.endpoint = "/messages?sessionId=%s"
	}
	e.Server = httptest.NewServer(e)
	t.Cleanup(func() { e.CloseClientConnections(); e.Close() })
	e.endpoint = strings.ReplaceAll(e.endpoint, "SERVER", e.URL)
	entry.URL = e.URL + "/sse"
	f := &fixture{Pool: New(Options{Dir: t.TempDir(), Servers: map[string]Server{"fake": entry}})}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestMCPEarlierTransport: a server of the transport of 2024-11-05 is found by what it answers, its tools are
// called with the headers of its entry, and adroit mcp check names the transport.
func TestMCPEarlierTransport(t *testing.T) {
	for name, e := range map[string]*earlierServer{
		"plain":           {},
		"404":             {refusal: 404, body: "Cannot POST /sse"},
		"400":             {refusal: 400, body: `{"error":"Missing sessionId parameter"}`},
		"a whole address": {endpoint: "SERVER/messages/?sessionId=%s"},
		"a relative one":  {endpoint: "messages?sessionId=%s"},
		"with quotes":     {endpoint: `"/messages?sessionId=%s"`},
		"comments first":  {before: ": ping\n\nretry: 5\n\nevent: ping\n\n"},
		"line ends":       {before: ":\r\n\r\n"},
		"200":             {posted: 200},
		"twice":           {direct: true},
		"little endian":   {wide: rootfs.UTF16LE},
		"big endian":      {wide: rootfs.UTF16BE},
		"forgotten":       {forgets: true},
		"accepted":        {mixed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e.saw = func(r *http.Request) string {
				if r.Header.Get("X-Key") != "k" {
					return "has no key"
				}
				if r.Method != http.MethodPost && r.Method != http.MethodGet {
					return "is not of the transport"
				}
				if r.URL.Path == "/messages" && r.Header.Get(sessionHeader) != "" {
					return "names a session that the server does not know"
				}
				return ""
			}
			f := e.start(t, Server{Headers: map[string]string{"X-Key": "k"}})
			for range 2 {
				if r := f.call(t, f.tool(t, "drop")); r.Failed || r.Text != "gesendet für 5 %" {
					t.Errorf("the result is %+v", r)
				}
			}
			report, err := f.Check(t.Context(), turn.Scope{}, "fake", false)
			if err != nil || report.Transport != "sse" || report.Protocol != "2024-11-05" {
				t.Errorf("the report is %+v, %v", report, err)
			}
			f.Close()
			e.mu.Lock()
			defer e.mu.Unlock()
			if len(e.faults) > 0 {
				t.Errorf("requests: %q", e.faults)
			}
		})
	}
}

// TestMCPEarlierTransportRefused: messages go to no other server, and a stream that ends leaves a call unknown
// and the next one possible.
func TestMCPEarlierTransportRefused(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	for name, tt := range map[string]struct {
		e    *earlierServer
		want string
	}{
		"another server":      {&earlierServer{endpoint: other.URL + "/messages?sessionId=%s"}, "has the transport HTTP+SSE of 2024-11-05, and wants messages at another server, " + other.URL + ", which does not get them"},
		"a login":             {&earlierServer{get: 401}, "wants a login"},
		"no stream":           {&earlierServer{get: 404}, "Method Not Allowed"},
		"a refusal by itself": {&earlierServer{refusal: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad client"}}`}, "bad client"},
	} {
		t.Run(name, func(t *testing.T) {
			f := tt.e.start(t, Server{})
			if _, err := f.Tools(t.Context(), turn.Scope{}, []string{"fake"}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	e := &earlierServer{cuts: true}
	f := e.start(t, Server{})
	tool := f.tool(t, "drop")
	if r := f.call(t, tool); !r.Undecided || !strings.Contains(r.Text, "broke off its answer") {
		t.Errorf("the result is %+v", r)
	}
	e.mu.Lock()
	e.cuts = false
	e.mu.Unlock()
	if r := f.call(t, tool); r.Failed {
		t.Errorf("the result is %+v", r)
	}
}

// TestMCPEarlierTransportOfLibrary: the server of the library has a question and progress in a call.
func TestMCPEarlierTransportOfLibrary(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "drop"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		a, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Really?"})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Action}}}, nil, nil
	})
	at := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
	f := &fixture{Pool: New(Options{Dir: t.TempDir(), Servers: map[string]Server{"fake": {URL: at.URL}}})}
	t.Cleanup(func() { f.Close(); at.Close() })
	tool := f.tool(t, "drop")
	if _, err := f.Call(t.Context(), f.scope, tool, nil, json.RawMessage("{}")); err == nil || !strings.Contains(fmt.Sprintf("%#v", err), "Really?") {
		t.Errorf("the question is %#v", err)
	}
}

// redirecting is a server that redirects from http to https, and notes what it gets there.
type redirecting struct {
	status int
	to     string
	got    []string
}

func (s *redirecting) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
	}
	s.got = append(s.got, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Key")+r.Header.Get(sessionHeader)+" "+body)
	out := plainAnswer(r, http.StatusAccepted)
	if r.URL.Scheme == "http" {
		out = plainAnswer(r, s.status)
		out.Header.Set("Location", s.to)
	}
	return out, nil
}

// TestMCPToTLS: where a server redirects from http to https, messages go there with all that belongs to them, and
// nowhere else.
func TestMCPToTLS(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, tt := range []struct {
		status int
		to     string
		want   []string
	}{
		{301, "https://a.test/mcp", []string{"POST https://a.test/mcp ks " + message, "POST https://a.test/mcp ks " + message}},
		{308, "https://a.test/other", []string{"POST https://a.test/other ks " + message, "POST https://a.test/mcp ks " + message}},
		{307, "https://a.test:8443/mcp", nil},
		{307, "https://b.test/mcp", nil},
	} {
		s := &redirecting{status: tt.status, to: tt.to}
		to := &toServer{next: s, host: "a.test:80", headers: map[string]string{"X-Key": "k"}, wire: &wire{calls: newCalls(""), asked: map[string]request{}}, wrote: func([]byte) {}}
		for range 2 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.test/mcp", strings.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set(sessionHeader, "s")
			resp, err := to.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		var secure []string
		for _, line := range s.got {
			if strings.HasPrefix(line, "POST https:") {
				secure = append(secure, line)
			}
		}
		if fmt.Sprint(secure) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %q", tt.to, s.got)
		}
	}
}
