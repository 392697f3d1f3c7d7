package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/tools"
)

func TestMCPCall(t *testing.T) {
	for _, how := range []string{"behaves", "exits when probed", "silent when probed", "foreign ids"} {
		t.Run(how, func(t *testing.T) {
			f := serve(t, how, twoTools)
			look, drop := f.tool(t, "look"), f.tool(t, "drop")
			if look.Name != "mcp__fake__look" || look.Safe() != tools.Idempotent || look.Asks != "" || drop.Safe() != tools.Unsafe || drop.Asks == "" {
				t.Errorf("the tools are %+v and %+v", look, drop)
			}
			if r := f.call(t, look); r.Failed || r.Text != "did look" && r.Text != "ok" {
				t.Errorf("the result is %+v", r)
			}
		})
	}
}

// TestMCPMisbehaves: every misbehaviour of a server ends in a bounded result with a reason.
func TestMCPMisbehaves(t *testing.T) {
	for _, tt := range []struct{ how, tool, want string }{
		{"dies in a call", "drop", "in the middle of the call; whether drop was done is not known"},
		{"dies in a call", "drop", "ended with exit code 3; its standard error ends with: out of luck"},
		{"endless answer", "drop", "in the middle of the call"},
		{"long text", "look", "[cut: the answer is longer than 1048576 bytes]"},
		{"escapes", "look", `a\x1b]0;owned\x07b\u202e\u2028c\u2029`},
	} {
		t.Run(tt.how, func(t *testing.T) {
			f := serve(t, tt.how, twoTools)
			r := f.call(t, f.tool(t, tt.tool))
			if !strings.Contains(r.Text, tt.want) || len(r.Text) > maxText+1000 {
				t.Errorf("the result has %d bytes: %.300s; want %q", len(r.Text), r.Text, tt.want)
			}
		})
	}
}

// byShell answers every first request with one fixed message.
const byShell = `while read -r x; do case $x in
*discover*) echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}';;
*) echo '{"jsonrpc":"2.0","id":'$(echo "$x" | sed 's/.*"id":\([0-9]*\).*/\1/')',%s}';; esac; done`

// TestMCPStart: a server that does not start is reported with its output.
func TestMCPStart(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"echo npm noise", `ended with exit code 0; it wrote something on its standard output that is no message: "npm noise"`},
		{fmt.Sprintf(byShell, `"error":{"code":-32000,"message":"no license"}`) + "; echo no luck >&2", "refuses the connection with the error -32000: no license; its standard error ends with: no luck"},
		{fmt.Sprintf(byShell, `"result":{"protocolVersion":2099,"capabilities":{}}`), `supports the revision "2099" of MCP; here are ` + sdk.SupportedProtocolVersions()[0]},
		{"exec 1>&-; sleep 60", "has closed its standard output and goes on"},
		{"echo no luck >&2; exit 3", "ended with exit code 3; its standard error ends with: no luck"},
	} {
		p := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"bad": {Command: commandLine{"sh", "-c", tt.script}, Grants: Grants{Sandbox: "off"}}}})
		_, err := p.Tools(t.Context(), turn.Scope{}, []string{"bad"})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.script, err, tt.want)
		}
		_ = p.Close()
	}
}

// TestMCPDeclaresNothing: a server that declares no capability is asked for tools all the same.
func TestMCPDeclaresNothing(t *testing.T) {
	const tools = `,"tools":[{"name":"look","inputSchema":{"type":"object"}}]`
	for _, tt := range []struct {
		declares, tools string
		want            int
	}{{`"capabilities":{}`, tools, 1}, {`"capabilities":null`, tools, 1}, {`"capabilities":{}`, "", 0}, {`"capabilities":{"prompts":{}}`, tools, 0},
		{`"capabilities":{"tools":{}},"protocolVersion":null`, tools, 1},
		// Details of other types.
		{`"instructions":5,"serverInfo":null,"capabilities":{"tools":true,"logging":null,"experimental":[],"prompts":false}`, tools, 1},
		{`"serverInfo":"x","capabilities":{"tools":{"listChanged":"yes"}}`, tools, 1}} {
		script := fmt.Sprintf(byShell, `"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"x","version":"1"},`+tt.declares+tt.tools+`}`)
		p := New(Options{Dir: t.TempDir(), Servers: map[string]Server{"bare": {Command: commandLine{"sh", "-c", script}, Grants: Grants{Sandbox: "off"}}}})
		got, err := p.Tools(t.Context(), turn.Scope{}, []string{"bare"})
		if err != nil || len(got) != tt.want {
			t.Errorf("%s%s: %d tools, %v; want %d", tt.declares, tt.tools, len(got), err, tt.want)
		}
		_ = p.Close()
	}
}

// TestMCPHidden: a server that does not find its program in the sandbox is reported with the
// reason why it is hidden.
func TestMCPHidden(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	script := filepath.Join(home, ".ssh", "server.sh")
	if err := errors.Join(os.Mkdir(filepath.Dir(script), 0o700), os.WriteFile(script, []byte("echo started >&2; exit 3\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	const hint = "/.ssh/server.sh from it: adroit mcp add bad --read PATH --replace"
	for _, tt := range []struct {
		name    string
		grants  Grants
		started bool
	}{{"hidden", Grants{}, false}, {"shown", Grants{Read: []string{"~/.ssh/server.sh"}}, true}, {"without a sandbox", Grants{Sandbox: "off"}, true}} {
		p := New(Options{Dir: t.TempDir(), Getenv: os.Getenv, Servers: map[string]Server{"bad": {Command: commandLine{"sh", script}, Grants: tt.grants}}})
		_, err := p.Tools(t.Context(), turn.Scope{}, []string{"bad"})
		if err == nil || strings.Contains(err.Error(), "ends with: started") != tt.started || strings.Contains(err.Error(), hint) == tt.started {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMCPChanged: a tool that changes after it was accepted is neither called nor
// offered until somebody accepts it.
func TestMCPChanged(t *testing.T) {
	f := serve(t, "changes in a call", twoTools)
	look := f.tool(t, "look")
	if r := f.call(t, look); r.Text != "ok" {
		t.Fatalf("the first result is %+v", r)
	}
	if changed := f.untilChanged(t, look); !strings.Contains(changed.Text, "send it all to me") {
		t.Errorf("what it says now is %q", changed.Text)
	}
	nobody := turn.WithSaid(t.Context(), turn.Said{Nobody: true})
	if r, err := f.Call(nobody, f.scope, look, new(tools.Env).Only(0), []byte("{}")); err != nil || !r.Failed || !strings.Contains(r.Text, "has changed its tool look") {
		t.Errorf("where nobody is, the result is %+v, %v", r, err)
	}
	list, err := f.Tools(t.Context(), f.scope, []string{"fake"})
	if err != nil || len(list) != 1 || list[0].Tool != "drop" || len(f.warnings) != 1 {
		t.Errorf("offered are %+v, %v; warnings %q", list, err, f.warnings)
	}
	r, err := f.Check(t.Context(), f.scope, "fake", true)
	if err != nil || r.Pending != 0 || len(r.Items) != 2 {
		t.Fatalf("the report is %+v, %v", r, err)
	}
	if f.tool(t, "look").Digest == look.Digest {
		t.Error("the accepted tool has the digest of the old one")
	}
	if r := f.call(t, look); r.Text != "ok" {
		t.Errorf("after it was accepted, a job that has the old one gets %+v", r)
	}
}

// TestMCPAccepted: a person who accepts a changed tool in a job accepts it for all.
func TestMCPAccepted(t *testing.T) {
	f := serve(t, "changes in a call", twoTools)
	look := f.tool(t, "look")
	changed := f.untilChanged(t, look)
	other := turn.WithSaid(t.Context(), turn.Said{Accepted: "of another one"})
	if _, err := f.Call(other, f.scope, look, new(tools.Env).Only(0), []byte("{}")); !errors.As(err, &changed) {
		t.Errorf("with the digest of another one it is %v", err)
	}
	yes := turn.WithSaid(t.Context(), turn.Said{Accepted: changed.Digest})
	if r, err := f.Call(yes, f.scope, look, new(tools.Env).Only(0), []byte("{}")); err != nil || r.Text != "ok" {
		t.Errorf("accepted, it is %+v, %v", r, err)
	}
	if now := f.tool(t, "look"); now.Digest != changed.Digest {
		t.Errorf("new jobs are given %s", now.Digest)
	}
}

// TestAcceptedBefore: what a person has accepted stays accepted, as when branches have tools of other forms, and
// nothing else does.
func TestAcceptedBefore(t *testing.T) {
	at := func(digest string) listing {
		return listing{tools: []definition{{Name: "look", Digest: digest}, {Name: "drop", Digest: "d"}}}
	}
	r := &record{}
	for i, c := range []struct {
		digest         string
		accept, stands bool
	}{{"a", false, true}, {"b", false, false}, {"b", true, true}, {"a", false, true}, {"b", false, true}, {"c", false, false}, {"a", false, true}} {
		r.update(at(c.digest), c.accept)
		r.Seen = time.Now()
		if offered := len(r.offered()) == 2; offered != c.stands || len(r.Tools) != 2 {
			t.Errorf("%d: %s is offered: %v, of %+v", i, c.digest, offered, r.Tools)
		}
		for range maxBefore { // what is accepted again drives out nothing
			r.update(listing{tools: r.Tools}, c.stands)
		}
	}
}

// TestMCPUnchecked: a tool is usable although a detail of its schema is not understood; the job,
// the report and the model list the omitted parts. An unusable tool is named.
func TestMCPUnchecked(t *testing.T) {
	endless := strings.Repeat(`{"items":`, 700) + "{}" + strings.Repeat("}", 700)
	f := serve(t, "behaves", `{"tools":[{"name":"look","inputSchema":{"type":"object","properties":{"to":{"type":"string","pattern":"^(?!x)a+$"}}}},{"name":"text","inputSchema":`+endless+`},
		{"name":"none","inputSchema":null,"annotations":[]},{"name":5},{"name":"empty","description":7,"inputSchema":{"type":"object","properties":[]}}]}`)
	look := f.tool(t, "look")
	if !strings.Contains(look.Description, "not checked before a call: to: the pattern ^(?!x)a+$ is not checked") || !strings.Contains(string(look.Input), "It must match the pattern") {
		t.Errorf("the tool is %+v, %s", look, look.Input)
	}
	f.tool(t, "none")
	f.tool(t, "empty")
	said := strings.Join(f.warnings, "\n")
	for _, want := range []string{"1 tool of the MCP server fake cannot be used, and adroit mcp check fake lists them: text:", "the tool look of the MCP server fake: not checked before a call: to:"} {
		if !strings.Contains(said, want) {
			t.Errorf("the job is warned of %q, not of %q", said, want)
		}
	}
	r, err := f.Check(t.Context(), f.scope, "fake", false)
	if err != nil || len(r.Items) != 4 || r.Items[0].Name != "5" || r.Items[2].Name != "look" || len(r.Items[2].Unchecked) != 1 {
		t.Errorf("the report is %+v, %v", r, err)
	}

	// Who asks for one tool is warned of that one, whatever the others are called.
	f = serve(t, "behaves", `{"tools":[{"name":"text","inputSchema":`+endless+`},{"name":"text: also","inputSchema":`+endless+`},{"name":"look","inputSchema":{"type":"object"}}]}`)
	f.scope.Tool = "text"
	if _, err := f.Tools(t.Context(), f.scope, []string{"fake"}); err != nil || len(f.warnings) != 1 || !strings.Contains(f.warnings[0], "cannot be used: text: its schema") {
		t.Errorf("the warnings are %q, %v", f.warnings, err)
	}
}

// TestUnusableOfOldRecords: a record of an earlier version has text where there is a value now.
func TestUnusableOfOldRecords(t *testing.T) {
	var r record
	if err := json.Unmarshal([]byte(`{"server":"s","unusable":["a: its schema cannot be used",{"tool":"b","why":"b: none"}]}`), &r); err != nil {
		t.Fatal(err)
	}
	if got := r.reasons(); !slices.Equal(got, []string{"a: its schema cannot be used", "b: none"}) || r.Unusable[0].Tool != "" || r.Unusable[1].Tool != "b" {
		t.Errorf("read as %+v", r.Unusable)
	}
}

// TestMCPList: of a malformed list, the readable tools are offered and the others named.
func TestMCPList(t *testing.T) {
	tool := func(name string) string { return `{"name":` + name + `,"inputSchema":{"type":"object"}}` }
	for _, tt := range []struct{ name, list, offered, unusable string }{
		{"in a circle", `{"tools":[` + tool(`"a"`) + `],"nextCursor":"c"}`, "a", `what follows in the list: it goes in a circle: the cursor "c" comes twice`},
		{"one name twice", `{"tools":[` + tool(`"a"`) + `,{"name":"a","description":"Another.","inputSchema":{"type":"object"}}]}`, "a", "a: another tool of that name is listed before it"},
		{"the same again", `{"tools":[` + tool(`"a"`) + `,` + tool(`"a"`) + `]}`, "a", ""},
		{"a list alone", `[` + tool(`"a"`) + `]`, "a", ""},
		{"another page that fails", `{"tools":[` + tool(`"a"`) + `],"nextCursor":"fails"}`, "a", `what follows in the list: calling "tools/list": no such page`},
		{"by name", `{"tools":{"a":{"inputSchema":{"type":"object"}},"b":null}}`, "a b", ""},
		{"names", `{"tools":[` + tool("7") + `,` + tool("null") + `,"x",` + tool(`"a/b"`) + `]}`, "7 a/b", `"": its name is empty, not printable or longer than 256 bytes` + "\n" + `"": its name is empty, not printable or longer than 256 bytes`},
	} {
		f := serve(t, "behaves", tt.list)
		r, err := f.Check(t.Context(), f.scope, "fake", false)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var offered []string
		for _, i := range r.Items {
			offered = append(offered, i.Name)
		}
		if got := strings.Join(offered, " "); got != tt.offered || strings.Join(r.Unusable, "\n") != tt.unusable {
			t.Errorf("%s: %q is offered, %q is not usable", tt.name, got, r.Unusable)
		}
	}
	f := serve(t, "behaves", `{"tools":[],"nextCursor":"c"}`)
	if _, err := f.Check(t.Context(), f.scope, "fake", false); err == nil || !strings.Contains(err.Error(), "goes in a circle") {
		t.Errorf("a circle without tools is %v", err)
	}
}

// TestMCPTarget: what people see of an entry has no key, wherever the entry has it.
func TestMCPTarget(t *testing.T) {
	const key = "sk-proj-abcDEF1234567890abcDEF12"
	for want, s := range map[string]Server{
		"npx srv [secret: api key]":                         {Command: []string{"npx"}, Args: []string{"srv", key}},
		"srv --api-key [secret: named secret]":              {Command: []string{"srv", "--api-key", "q8Zt3LmN0pXr7Kd2"}},
		"https://u:[secret: password in a url]@x.example/m": {URL: "https://u:q8Zt3LmN0p@x.example/m?token=" + key},
		"srv --port 8080 /srv/docs":                         {Command: []string{"srv", "--port", "8080", "/srv/docs"}},
	} {
		if got := s.Target(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMCPOffers: names of tools are not paths, and a pattern equal to a name matches that name.
func TestMCPOffers(t *testing.T) {
	for _, tt := range []struct {
		pattern, tool string
		offered       bool
	}{
		{"*", "repo/create", true}, {"repo/*", "repo/a/b", true}, {"repo*", "repo/create", true}, {"a[b]", "a[b]", true}, {"a[b]", "ab", true},
		{"a*", "a*", true}, {"größe", "größe", true}, {"a b", "a b", true}, {"-x", "-x", true}, {"repo/*", "repo", false}, {"a", "A", false},
	} {
		if got := (Server{Tools: []string{tt.pattern}}).offers(tt.tool); got != tt.offered {
			t.Errorf("%q offers %q: %v", tt.pattern, tt.tool, got)
		}
	}
}

// TestMCPBombs: schemas that explode and too many tools leave the others usable.
func TestMCPBombs(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&bomb, `"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	bomb.WriteString(`"d40":{"type":"string"}}}`)
	var list strings.Builder
	fmt.Fprintf(&list, `{"tools":[{"name":"bomb","inputSchema":%s},{"name":"huge","inputSchema":{"type":"object","description":%q}},{"name":"a\u001b[2J","inputSchema":{"type":"object"}}`, &bomb, strings.Repeat("x", maxSchemaBytes))
	for i := range 12_000 {
		fmt.Fprintf(&list, `,{"name":"t%d","inputSchema":{"type":"object"}}`, i)
	}
	list.WriteString("]}")
	f := serve(t, "behaves", list.String())
	r, err := f.Check(t.Context(), f.scope, "fake", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Items) != maxTools || r.More != 12_002-maxTools || len(r.Unusable) != 1 {
		t.Errorf("%d tools, %d more, unusable %q", len(r.Items), r.More, r.Unusable)
	}
}

// TestMCPNames: names are valid, distinct for all names that a server uses, and stay with their
// tool.
func TestMCPNames(t *testing.T) {
	long := strings.Repeat("long", 30)
	taken := hashedName(toolID{"s", "A"})[len("mcp__s__"):]
	var ids []toolID
	for _, server := range []string{"s", "s-t", "st"} {
		for _, tool := range []string{"a", "A", "a_", "a.b", "a-b", "ab", "tA", "t_a", "", "ü", "_", long, long + "1", taken} {
			ids = append(ids, toolID{server, tool})
		}
	}
	names, seen := toolNames(ids), map[string]toolID{}
	for id, name := range names {
		if other, twice := seen[spelling.Fold(name)]; twice {
			t.Errorf("%v and %v are both %s", id, other, name)
		}
		seen[spelling.Fold(name)] = id
		if err := tools.Func(tools.Metadata{Name: name, Description: "x"}, []byte(`{"type":"object"}`), nil).Check(); err != nil && strings.Contains(err.Error(), "bad name") {
			t.Error(err)
		}
	}
	if len(names) != len(ids) {
		t.Errorf("%d names for %d tools", len(names), len(ids))
	}
	if one := toolNames([]toolID{{"s", "get-sum"}}); one[toolID{"s", "get-sum"}] != "mcp__s__get_sum" {
		t.Errorf("the plain name is %q", one)
	}
}

// TestMCPHTTP: a server behind an address; the headers go to it and nowhere else,
// and a redirect inside is not followed.
func TestMCPHTTP(t *testing.T) {
	var leaked string
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked += r.Header.Get("Authorization") + " reached" }))
	defer inside.Close()
	server := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "hello", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer outside.Close()
	p := New(Options{Dir: t.TempDir(), Network: netguard.Guard{}, Getenv: func(name string) string { return map[string]string{"TOKEN": "s3cret"}[name] }, Servers: map[string]Server{
		"fake": {URL: outside.URL, Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}},
		"away": {URL: outside.URL + "/away", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}},
		"none": {URL: outside.URL, Headers: map[string]string{"Authorization": "Bearer ${ABSENT}"}},
	}})
	defer p.Close()
	f := &fixture{Pool: p}
	if r := f.call(t, f.tool(t, "hello")); r.Text != "Bearer s3cret" {
		t.Errorf("the result is %+v", r)
	}
	if _, err := p.Tools(t.Context(), f.scope, []string{"away"}); err == nil || leaked != "" {
		t.Errorf("the redirect: %v, leaked %q", err, leaked)
	}
	if _, err := p.Tools(t.Context(), f.scope, []string{"none"}); err == nil || !strings.Contains(err.Error(), "the variable ABSENT is not set") {
		t.Errorf("the missing variable: %v", err)
	}
}

// TestMCPEndlessHTTP: an answer over HTTP that does not end is left after a bound.
func TestMCPEndlessHTTP(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		sent := make(chan int, 64)
		endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			text, n := []byte("data: "), 0
			for block := bytes.Repeat([]byte("x"), 1<<20); n < 1<<30; {
				m, err := w.Write(text)
				if n += m; err != nil {
					break
				}
				text = block
			}
			sent <- n
		}))
		p := New(Options{Dir: t.TempDir(), Network: netguard.Guard{}, Servers: map[string]Server{"flood": {URL: endless.URL}}})
		if _, err := p.Tools(t.Context(), turn.Scope{}, []string{"flood"}); err == nil {
			t.Errorf("%s: it has tools", kind)
		}
		_ = p.Close()
		endless.Close() // the requests have ended
		close(sent)
		for n := range sent {
			if n > 2*maxStream {
				t.Errorf("%s: it took %d bytes of an answer", kind, n)
			}
		}
	}
}

// TestMCPProgress: a call goes on beyond its limit while the server reports progress, an
// hour at most, and ends by it when that stops.
func TestMCPProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		reports int // one a minute
		ends    bool
		want    error
	}{"at work": {10, true, nil}, "none": {0, false, errLate}, "then none": {10, false, errLate}, "for ever": {1000, false, errLate}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				calls := newCalls("x")
				o := &openCall{id: "o", c: &session{dead: make(chan struct{}), cancels: make(chan struct{}, 64)}, done: make(chan struct{}), moved: make(chan struct{}, 1)}
				calls.open["o"] = o
				life, cancel := context.WithCancel(t.Context())
				o.cancel = cancel
				go func() {
					defer close(o.done)
					for range tt.reports {
						select {
						case <-life.Done():
							return
						case <-time.After(time.Minute):
							calls.progress(life, &sdk.ProgressNotificationClientRequest{Params: &sdk.ProgressNotificationParams{ProgressToken: "o"}})
						}
					}
					if !tt.ends {
						<-life.Done()
					}
				}()
				_, err := o.follow(t.Context())
				took := time.Since(began)
				if limit := time.Duration(tt.reports)*time.Minute + 2*time.Minute; !errors.Is(err, tt.want) || took > min(limit, time.Hour)+time.Second {
					t.Errorf("it ends with %v after %s", err, took)
				}
				cancel()
			})
		})
	}
}

// TestMCPDisabled: a server that is disabled by its entry is neither started nor offered.
func TestMCPDisabled(t *testing.T) {
	servers, problems, err := ParseFile([]byte(`{"mcpServers":{"a":{"command":"false","disabled":true},"b":{"command":"false","enabled":false},"c":{"command":"false","enabled":true}}}`))
	if err != nil || problems != nil || !servers["a"].Disabled || !servers["b"].Disabled || servers["c"].Disabled {
		t.Fatalf("the servers are %+v, %v, %v", servers, problems, err)
	}
	var warned []string
	p := New(Options{Dir: t.TempDir(), Servers: servers, Warn: func(text string) { warned = append(warned, text) }})
	defer p.Close()
	if list, err := p.Tools(t.Context(), turn.Scope{}, []string{"a", "b"}); err != nil || list != nil || len(warned) != 2 {
		t.Errorf("offered are %v, %v, warned %q", list, err, warned)
	}
	if _, err := p.Check(t.Context(), turn.Scope{}, "a", false); err == nil || !strings.Contains(err.Error(), "is disabled by its entry") {
		t.Errorf("the check ends with %v", err)
	}
	if list, err := p.List(turn.Scope{}); err != nil || list[0].State != "disabled" {
		t.Errorf("listed are %+v, %v", list, err)
	}
}

// TestMCPFetches: programs that download what they run are known.
func TestMCPFetches(t *testing.T) {
	for words, want := range map[string]string{
		"npx -y x": "npx", "/usr/bin/npx x": "npx", "uvx x": "uvx", "pnpm dlx x": "pnpm", "bun x y": "bun", "pnpm run x": "", "bun y": "", "node x": "", "npx --offline x": "", "pipx run x": "pipx", "pipx install": "",
	} {
		list := strings.Fields(words)
		if got := (Server{Command: list[:1], Args: list[1:]}).Fetches(); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	p := New(Options{Dir: t.TempDir(), Getenv: func(name string) string {
		return map[string]string{"HOME": t.TempDir(), "NODE_EXTRA_CA_CERTS": "/etc/own.pem"}[name]
	}})
	for _, net := range []bool{false, true} {
		c, conf := &session{name: "x"}, &process.SandboxOptions{}
		env, err := p.environment(c, Server{Command: commandLine{"npx"}, Args: []string{"-y", "x"}, Grants: Grants{Net: net}}, conf)
		all := strings.Join(env, "\n")
		if err != nil || (c.hint == "") != net || strings.Contains(all, "NODE_EXTRA_CA_CERTS=/etc/own.pem") != net || len(conf.Write) != 1 || !strings.Contains(all, "npm_config_cache="+conf.Write[0]) {
			t.Errorf("with the network %v: %q, %+v, %q, %v", net, all, conf, c.hint, err)
		}
	}
}
