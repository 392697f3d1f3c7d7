package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A guarded is a server with a job inside and one outside of the root of its narrow tokens.
type guarded struct {
	*testing.T
	*Listener
	tokens       *Tokens
	root         string
	inside, away string // jobs
	store        *jobs.Memory
	rt           *adroit.Runtime
}

func guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{T: t, root: t.TempDir(), inside: "J1AAAAAAAAAAAA", away: "J2BBBBBBBBBBBB"}
	store, elsewhere := new(jobs.Memory), t.TempDir()
	g.store = store
	for id, dir := range map[string]string{g.inside: g.root, g.away: elsewhere} {
		if _, err := store.Add(t.Context(), &jobs.Job{ID: id, Dir: dir, Agent: "a"}); err != nil {
			t.Fatal(err)
		}
		j, journal, err := store.Claim(t.Context(), id, "test:1:1", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		j.Status = jobs.Interrupted
		if err := journal.FinishJob(t.Context(), j, &event.Event{Kind: event.Note, Text: id}); err != nil {
			t.Fatal(err)
		}
	}
	data := t.TempDir()
	var err error
	g.rt, err = adroit.Open(t.Context(), adroit.Options{Models: map[string]llm.Model{"x": nil},
		Storage: adroit.Storage{Data: data, Store: func(context.Context) (jobs.Store, error) { return store, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.rt.Close() })
	g.tokens = NewTokens(data)
	if g.Listener, err = Open(Options{Address: "127.0.0.1:0", Token: rand.Text(), Tokens: g.tokens}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, Handler(g.rt)) }()
	t.Cleanup(func() { stop(); <-ended })
	return g
}

func (g *guarded) add(name string, scopes ...adroit.TokenScope) (secret string) {
	g.Helper()
	secret, err := g.tokens.Add(adroit.Authority{Name: name, Scopes: scopes, Roots: []string{g.root}})
	if err != nil {
		g.Fatal(err)
	}
	return secret
}

// do sends a request, and checks that an error has the form of the interface.
func (g *guarded) do(method, path, secret, body string, header ...string) (code int, answer string) {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.URL()+path, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		g.Fatalf("%s %s %s: %v", method, path, body, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		g.Fatal(err)
	}
	if res.StatusCode >= 400 && method != http.MethodHead && !(path == "/" && method == http.MethodGet) && res.Header.Get("Content-Type") != "application/problem+json" {
		g.Errorf("%s %s: %d %s %s", method, path, res.StatusCode, res.Header, b)
	}
	return res.StatusCode, string(b)
}

// Every route and method, from the table: nobody without a token, with a wrong one or with one that
// can do less gets to it.
func TestEveryRoute(t *testing.T) {
	g := guard(t)
	secrets := map[adroit.TokenScope]string{}
	for _, s := range adroit.TokenScopes {
		secrets[s] = g.add(string(s), s)
	}
	paths := []string{eventsPath, allEventsPath}
	for _, e := range endpoints {
		paths = append(paths, e.path())
	}
	for path := range page() {
		paths = append(paths, path)
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			for name, secret := range map[string]string{"no": "", "a wrong": strings.Repeat("A", 26), "a hashed": hash(g.token)} {
				if code, _ := g.do(method, path, secret, "{}"); code != http.StatusUnauthorized {
					t.Errorf("%s %s with %s token: %d", method, path, name, code)
				}
			}
		}
		method := "POST"
		if strings.HasSuffix(path, "events") {
			method = "GET"
		}
		for _, s := range adroit.TokenScopes {
			may := s == adroit.ScopeAdmin || s == scopeOf(path) || scopeOf(path) == adroit.ScopeRead
			if may {
				continue
			}
			if code, body := g.do(method, path, secrets[s], "{}"); code != http.StatusForbidden || !strings.Contains(body, "adroit serve token add") {
				t.Errorf("%s %s with the scope %s: %d %s", method, path, s, code, body)
			}
		}
	}
}

// The page comes to the owner's browser and to no other; it is small, has nothing inline and names nothing
// of another origin that a browser would load.
func TestPage(t *testing.T) {
	g := guard(t)
	get := func(path, cookie string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Accept", "text/html,*/*")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(b)
	}
	if res, text := get("/", ""); res.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "adroit serve") || res.Header.Get("Content-Security-Policy") != entrancePolicy {
		t.Errorf("a browser that is not known: %d %s", res.StatusCode, text)
	}
	link := strings.TrimPrefix(g.Link(), g.URL())
	in, _ := get(link, "")
	if in.Header.Get("Location") != "/" {
		t.Fatalf("the link leads to %q", in.Header.Get("Location"))
	}
	cookie, _, _ := strings.Cut(in.Header.Get("Set-Cookie"), ";")
	if again, text := get(link, ""); again.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "works once") || again.Header.Get("Set-Cookie") != "" {
		t.Errorf("a used link: %d %s", again.StatusCode, text)
	}
	if again, _ := get(link, cookie); again.Header.Get("Location") != "/" || again.Header.Get("Set-Cookie") != "" {
		t.Errorf("a used link in a browser that is known leads to %q", again.Header.Get("Location"))
	}
	first, whole := 0, 0
	_, index := get("/", cookie)
	for path, f := range page() {
		res, text := get(path, cookie)
		caching := res.Header.Get("Cache-Control")
		if res.StatusCode != http.StatusOK || text != unpacked(t, f.small) || res.Header.Get("Content-Security-Policy") != pagePolicy || f.kind == "" || strings.Contains(caching, "immutable") != strings.HasPrefix(path, "/assets/") {
			t.Errorf("%s: %d %s", path, res.StatusCode, res.Header)
		}
		if strings.HasSuffix(path, ".md") {
			continue // the licences, which no view loads
		}
		if whole += len(f.small); path == "/" || strings.Contains(index, path) {
			first += len(f.small)
		}
	}
	const most, mostInAll = 130_000, 350_000 // bytes, in gzip
	if first > most || whole > mostInAll || whole < 100_000 {
		t.Errorf("the first view has %d bytes, at most %d; all of the page %d, at most %d", first, most, whole, mostInAll)
	}
	for _, bad := range []string{"<style", "style=", "onload=", "http://", "https://", "<script>"} {
		if strings.Contains(index, bad) {
			t.Errorf("the page has %s:\n%s", bad, index)
		}
	}
	if code, _ := g.do("GET", "/assets/../index.html", g.token, ""); code == http.StatusOK {
		t.Error("a path leads out of the assets")
	}
}

func unpacked(t *testing.T, small []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What the table asks for, the runtime asks for, too, also of who comes by another way.
func TestScopesOfRuntime(t *testing.T) {
	g := guard(t)
	for _, e := range endpoints {
		need := scopeOf(e.path())
		if need == adroit.ScopeRead {
			continue
		}
		w := &recorder{header: http.Header{}}
		r, err := http.NewRequestWithContext(adroit.WithAuthority(t.Context(), &adroit.Authority{Name: "reader", Scopes: []adroit.TokenScope{adroit.ScopeRead}}), "POST", e.path(), strings.NewReader(bodyOf(e.path())))
		if err != nil {
			t.Fatal(err)
		}
		e.serve(g.rt)(w, r)
		if w.code != http.StatusForbidden && !strings.Contains(w.body.String(), `"forbidden"`) {
			t.Errorf("%s: %d %s", e.path(), w.code, &w.body)
		}
	}
}

// A scope of a newer adroit gives nothing here.
func TestUnknownScope(t *testing.T) {
	for _, need := range []adroit.TokenScope{adroit.ScopeRead, adroit.ScopeRun, adroit.ScopeAnswer, adroit.ScopeAdmin} {
		if (&adroit.Authority{Name: "newer", Scopes: []adroit.TokenScope{"observe"}}).Has(need) {
			t.Errorf("it has %s", need)
		}
	}
}

func bodyOf(path string) string {
	switch path {
	case "/v1/models/forget", "/v1/trust/show":
		return `"x"`
	}
	return "{}"
}

type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }
func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// Jobs and directories outside of the roots do not exist.
func TestRoots(t *testing.T) {
	g := guard(t)
	secret := g.add("admin", adroit.ScopeAdmin)
	link := filepath.Join(g.root, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	hostile := []string{"..", "%2e%2e", "../" + g.inside, "\x00", strings.Repeat("J", 10<<10), g.away, g.away[:4], g.away[4:], "", "J", "*", "' or 1=1"}
	for _, e := range endpoints {
		if name := strings.TrimPrefix(e.path(), "/v1/jobs/"); name == e.path() || slices.Contains([]string{"list", "resolve", "submit", "prune"}, name) {
			continue // it is about no job
		}
		for _, id := range hostile {
			b, err := json.Marshal(map[string]any{"job": id})
			if err != nil {
				t.Fatal(err)
			}
			if code, body := g.do("POST", e.path(), secret, string(b)); code != http.StatusNotFound || strings.Contains(body, g.root) {
				t.Errorf("%s of %.20q: %d %s", e.path(), id, code, body)
			}
		}
	}
	for _, id := range hostile {
		if code, body := g.do("GET", "/v1/jobs/events?"+url.Values{"job": {id}}.Encode(), secret, ""); code != http.StatusNotFound {
			t.Errorf("events of %.20q: %d %s", id, code, body)
		}
	}
	for _, dir := range []string{"/", "/etc", g.root + "/..", link, filepath.Dir(g.root), g.root + "x"} {
		for path, body := range map[string]any{
			"/v1/jobs/list": adroit.ListOptions{Dir: dir}, "/v1/agents/list": adroit.Scope{Dir: dir}, "/v1/servers/list": adroit.Scope{Dir: dir}, "/v1/doctor": adroit.DoctorQuery{Dir: dir},
			"/v1/jobs/submit": map[string]string{"dir": dir, "prompt": "x"}, "/v1/jobs/resolve": map[string]string{"dir": dir}, "/v1/tools/call": adroit.ToolCall{Name: "read_file", Dir: dir}, "/v1/trust/show": dir,
			"/v1/trust/set": adroit.TrustChange{Dir: dir}, "/v1/memory/facts": map[string]string{"dir": dir}, "/v1/memory/remember": map[string]string{"dir": dir}, "/v1/memory/import": map[string]any{"dir": dir, "facts": []any{}},
			"/v1/failures/list": map[string]string{"project": dir},
		} {
			b, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if code, body := g.do("POST", path, secret, string(b)); code != http.StatusNotFound {
				t.Errorf("%s in %s: %d %s", path, dir, code, body)
			}
		}
	}
	if code, body := g.do("POST", "/v1/jobs/list", secret, "{}"); code != http.StatusOK || !strings.Contains(body, g.inside) || strings.Contains(body, g.away) {
		t.Errorf("the list: %d %s", code, body)
	}
	if code, body := g.do("GET", "/v1/events", secret, ""); code != http.StatusOK || !strings.Contains(body, g.inside) || strings.Contains(body, g.away) {
		t.Errorf("all events: %d %s", code, body)
	}
	if code, body := g.do("POST", "/v1/jobs/list", g.token, "{}"); code != http.StatusOK || !strings.Contains(body, g.inside) || !strings.Contains(body, g.away) {
		t.Errorf("the owner's list: %d %s", code, body)
	}
	run := g.add("run", adroit.ScopeRun)
	for name, extra := range map[string]string{"approve": `"approve": "all"`, "trust": `"trust_project": true`, "sandbox": `"sandbox": "off"`, "servers": `"mcp_servers": {}`, "address": `"base_url": "http://127.0.0.1:9"`, "record": `"record": "/tmp/x"`,
		"rules": `"spec": {"name": "own", "description": "x", "prompt": "x", "permissions": [{"do": "allow"}]}`, "parent": `"parent": {"agent": "a", "model": "m", "rules": [{"do": "allow"}]}`} {
		if code, body := g.do("POST", "/v1/jobs/submit", run, fmt.Sprintf(`{"dir": %q, "prompt": "x", %s}`, g.root, extra)); code != http.StatusForbidden {
			t.Errorf("a request with %s: %d %s", name, code, body)
		}
	}
	if code, body := g.do("POST", "/v1/jobs/submit", run, fmt.Sprintf(`{"dir": %q, "prompt": "x", "model": "script:/etc/passwd"}`, g.root)); code != http.StatusNotFound {
		t.Errorf("a script outside: %d %s", code, body)
	}
	// What a token cannot begin it can neither repeat nor steer.
	if _, err := g.store.Add(t.Context(), &jobs.Job{ID: "J3CCCCCCCCCCCC", Dir: g.root, Agent: "a", Input: []byte(`{"approve": "all", "prompt": "x"}`)}); err != nil {
		t.Fatal(err)
	}
	for path, options := range map[string]string{"/v1/jobs/retry": `{}`, "/v1/jobs/send": `{"text": "x"}`} {
		if code, body := g.do("POST", path, run, fmt.Sprintf(`{"job": "J3CCCCCCCCCCCC", "options": %s}`, options)); code != http.StatusForbidden {
			t.Errorf("%s of a job that approves all: %d %s", path, code, body)
		}
	}
	// A directory that has become a link out of the root takes its jobs along.
	moved := filepath.Join(g.root, "moved")
	if _, err := g.store.Add(t.Context(), &jobs.Job{ID: "J4DDDDDDDDDDDD", Dir: moved, Agent: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		if code, body := g.do("POST", "/v1/jobs/show", secret, `{"job": "J4DDDDDDDDDDDD"}`); code != want {
			t.Errorf("a job whose directory is gone, then a link out: %d %s, want %d", code, body, want)
		}
		if err := os.Symlink(t.TempDir(), moved); err != nil && want == http.StatusOK {
			t.Fatal(err)
		}
	}
}

// A token is a hash in the file, is listed without its secret, and does nothing once it is revoked.
func TestTokens(t *testing.T) {
	g := guard(t)
	secret := g.add("phone", adroit.ScopeAnswer)
	b, err := os.ReadFile(g.tokens.path)
	if info, failed := os.Stat(g.tokens.path); err != nil || failed != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(b), secret) || !strings.Contains(string(b), hash(secret)) {
		t.Errorf("the file: %s %v %v", b, err, failed)
	}
	if code, _ := g.do("POST", "/v1/jobs/list", secret, "{}"); code != http.StatusOK {
		t.Errorf("with the token: %d", code)
	}
	for name, a := range map[string]adroit.Authority{
		"twice": {Name: "phone", Scopes: adroit.TokenScopes}, "no name": {Scopes: adroit.TokenScopes}, "a bad name": {Name: "a b", Scopes: adroit.TokenScopes}, "the owner": {Name: owner, Scopes: adroit.TokenScopes},
		"no scope": {Name: "x"}, "another scope": {Name: "x", Scopes: []adroit.TokenScope{"write"}}, "no directory": {Name: "x", Scopes: adroit.TokenScopes, Roots: []string{"/none"}},
	} {
		if _, err := g.tokens.Add(a); problem.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, _ := g.do("POST", "/v1/jobs/list", "", "{}", "Authorization", secret); code != http.StatusUnauthorized {
		t.Errorf("the token without Bearer: %d", code)
	}
	streamed := make(chan int, 1)
	go func() { code, _ := g.do("GET", "/v1/events?follow=true", secret, ""); streamed <- code }()
	select {
	case code := <-streamed:
		t.Fatalf("a stream ends early: %d", code)
	case <-time.After(recheck / 4):
	}
	other := &Tokens{path: g.tokens.path} // of another process
	if err := other.Revoke("phone"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-streamed:
	case <-time.After(5 * recheck):
		t.Fatal("a stream goes on after its token was revoked")
	}
	if code, _ := g.do("POST", "/v1/jobs/list", secret, "{}"); code != http.StatusUnauthorized {
		t.Errorf("revoked: %d", code)
	}
	if err := os.WriteFile(g.tokens.path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _ := g.do("POST", "/v1/jobs/list", secret, "{}"); code != http.StatusUnauthorized {
		t.Errorf("a damaged file: %d", code)
	}
}

// A link sets a cookie once, with which pages of this server alone do what the owner can.
func TestLogin(t *testing.T) {
	g := guard(t)
	link := strings.TrimPrefix(g.Link(), g.URL())
	r, err := http.NewRequestWithContext(t.Context(), "GET", g.URL()+link, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	set := res.Header.Get("Set-Cookie")
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || strings.Contains(set, g.token) {
		t.Fatalf("%s: %s", res.Status, res.Header)
	}
	cookie, _, _ := strings.Cut(set, ";")
	for _, path := range []string{link, "/login", "/login?code="} {
		if code, _ := g.do("GET", path, "", ""); code != http.StatusUnauthorized {
			t.Errorf("%s again: %d", path, code)
		}
	}
	self := g.URL()
	for _, tt := range []struct {
		name, method string
		want         int
		header       []string
	}{
		{"a page of its own", "POST", 200, []string{"Cookie", cookie, "Origin", self, "Sec-Fetch-Site", "same-origin"}},
		{"an older browser", "POST", 200, []string{"Cookie", cookie, "Origin", self}},
		{"no origin", "POST", 401, []string{"Cookie", cookie}},
		{"a form of another site", "POST", 403, []string{"Cookie", cookie, "Origin", "https://evil.example", "Content-Type", "text/plain"}},
		{"a form of another port", "POST", 401, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}},
		{"another site's, without an origin", "POST", 401, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}},
		{"another cookie", "POST", 401, []string{"Cookie", cookie + "x", "Origin", self}},
		{"rebinding", "POST", 403, []string{"Cookie", cookie, "Host", "evil.example", "Origin", "http://evil.example"}},
		{"a wrong token beside it", "POST", 401, []string{"Cookie", cookie, "Origin", self, "Authorization", "Bearer wrong"}},
		{"WebSocket", "GET", 400, []string{"Cookie", cookie, "Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}},
	} {
		path := "/v1/jobs/list"
		if tt.method == "GET" {
			path = "/v1/events"
		}
		if code, body := g.do(tt.method, path, "", "{}", tt.header...); code != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.name, code, body, tt.want)
		}
	}
}

// A body of 100 MB is refused, and a next request is served.
func TestLargeBody(t *testing.T) {
	g := guard(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", g.URL()+"/v1/jobs/list", io.MultiReader(strings.NewReader(`{"agent": "`), io.LimitReader(letters{}, 100<<20), strings.NewReader(`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	if res, err := http.DefaultTransport.RoundTrip(r); err == nil { // else it was cut while it was sent
		if res.Body.Close(); res.StatusCode != http.StatusBadRequest {
			t.Errorf("100 MB: %s", res.Status)
		}
	}
	if code, _ := g.do("POST", "/v1/jobs/list", g.token, "{}"); code != http.StatusOK {
		t.Errorf("the next: %d", code)
	}
}

type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// A socket in the file system is this user's alone; one that was left behind is replaced, one in use is not.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Open(Options{Address: "unix:" + path, Token: "0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Address: "unix:" + path}); problem.Hint(err) == "" {
		t.Errorf("in use: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || l.Link() != "" {
		t.Errorf("%v %v", info, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var from []string
	go func() {
		ended <- l.Serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			from = append(from, adroit.AuthorityOf(r.Context()).From)
		}))
	}()
	for token, want := range map[string]int{"0123456789abcdef": http.StatusOK, "0123456789abcdeX": http.StatusUnauthorized} {
		res, err := (&http.Client{Transport: Unix(path, token)}).Get("http://localhost/")
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s: %s", token, res.Status)
		}
	}
	stop()
	if err := <-ended; err != nil || !slices.Equal(from, []string{"unix"}) {
		t.Errorf("%v, from %v", err, from)
	}
}

// Without a token nobody is the owner.
func TestNoToken(t *testing.T) {
	l, err := Open(Options{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.l.Close()
	for _, header := range []string{"", "Bearer ", "Bearer"} {
		w := &recorder{header: http.Header{}}
		r := &http.Request{Method: "GET", Host: "127.0.0.1:1", URL: &url.URL{Path: "/"}, Header: http.Header{"Authorization": {header}, "Cookie": {"adroit_1=" + l.login.session("")}}}
		l.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(w, r)
		if w.code != http.StatusUnauthorized {
			t.Errorf("with %q: %d", header, w.code)
		}
	}
}

// Requests drawn from the description of the interface, with values of all kinds, are answered or refused:
// none is a fault of the server.
func TestRandomRequests(t *testing.T) {
	t.Chdir(t.TempDir()) // some name directories below, and files
	g := guard(t)
	r := mathrand.New(mathrand.NewPCG(testenv.Seed(t), 0))
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema any }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	texts := []any{"", " ", g.root, g.root + "/absent", "absent", g.inside, "last", "a", "../absent", "\x00", "\u202ex", "script:absent.yaml", strings.Repeat("a", 5000), "agents", "plan"}
	other := append([]any{nil, true, -1, 1 << 53, 0.5, []any{}, map[string]any{"a": nil}}, texts...)
	var draw func(schema any, depth int) any
	draw = func(schema any, depth int) any {
		s, _ := schema.(map[string]any)
		if ref, ok := s["$ref"].(string); ok {
			s, _ = doc.Components.Schemas[path.Base(ref)].(map[string]any)
		}
		props, _ := s["properties"].(map[string]any)
		if enum, ok := s["enum"].([]any); ok && r.IntN(8) > 0 {
			return enum[r.IntN(len(enum))]
		}
		switch kind := s["type"]; {
		case r.IntN(12) == 0 || depth > 6:
			return other[r.IntN(len(other))]
		case props != nil:
			out := map[string]any{}
			must, _ := s["required"].([]any)
			for _, name := range slices.Sorted(maps.Keys(props)) {
				if slices.Contains(must, any(name)) || r.IntN(3) == 0 {
					out[name] = draw(props[name], depth+1)
				}
			}
			return out
		case kind == "string":
			return texts[r.IntN(len(texts))]
		case kind == "boolean":
			return r.IntN(2) == 0
		case kind == "integer" || kind == "number":
			return r.IntN(5) - 1
		case kind == "array":
			return []any{draw(s["items"], depth+1)}
		}
		return other[r.IntN(len(other))]
	}
	waits := []string{jobsWait.path(), jobsFile.path()} // the one waits, the other sends files
	for _, at := range slices.Sorted(maps.Keys(doc.Paths)) {
		post, ok := doc.Paths[at]["post"]
		if !ok || slices.Contains(waits, at) {
			continue
		}
		for range 40 {
			body, err := json.Marshal(draw(post.RequestBody.Content["application/json"].Schema, 0))
			if err != nil {
				t.Fatal(err)
			}
			if code, answer := g.do("POST", at, g.token, string(body)); code >= 500 {
				t.Errorf("%s %s: %d %s", at, body, code, answer)
				break
			}
		}
	}
}
