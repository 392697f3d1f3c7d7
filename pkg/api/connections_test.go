package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/jobs"
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

// A token that is typed into the page's form lets a browser do what the token may, until it is revoked.
func TestTokenLogin(t *testing.T) {
	g := guard(t)
	secret := g.add("phone", adroit.ScopeAnswer)
	post := func(token string, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", g.URL()+loginPath, strings.NewReader(url.Values{"token": {token}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "text/html")
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	for name, res := range map[string]*http.Response{
		"a wrong one": post("wrong", "Origin", g.URL()), "none": post("", "Origin", g.URL()), "its hash": post(hash(secret), "Origin", g.URL()),
		"another site's form": post(secret, "Origin", "https://evil.example"), "no origin": post(secret), "a long one": post(strings.Repeat("x", 10<<10), "Origin", g.URL()),
	} {
		if res.StatusCode < 400 || res.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %s %s", name, res.Status, res.Header)
		}
	}
	in := post(secret+"\n", "Origin", g.URL())
	set := in.Header.Get("Set-Cookie")
	if in.StatusCode != http.StatusSeeOther || in.Header.Get("Location") != "/" || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || strings.Contains(set, secret) || strings.Contains(set, hash(secret)) {
		t.Fatalf("%s %s", in.Status, in.Header)
	}
	cookie, _, _ := strings.Cut(set, ";")
	ask := func(path string, more ...string) (int, string) {
		t.Helper()
		return g.do("POST", path, "", "{}", append([]string{"Cookie", cookie, "Origin", g.URL(), "Sec-Fetch-Site", "same-origin"}, more...)...)
	}
	if code, body := ask("/v1/access"); code != http.StatusOK || !strings.Contains(body, `"phone"`) || !strings.Contains(body, `"answer"`) || strings.Contains(body, "admin") || strings.Contains(body, `"dir"`) {
		t.Errorf("its access: %d %s", code, body)
	}
	if code, body := ask("/v1/jobs/list"); code != http.StatusOK || strings.Contains(body, g.away) {
		t.Errorf("the list: %d %s", code, body)
	}
	if code, _ := ask("/v1/jobs/submit"); code != http.StatusForbidden {
		t.Errorf("a job: %d", code)
	}
	if code, _ := ask("/v1/jobs/list", "Sec-Fetch-Site", "cross-site"); code != http.StatusUnauthorized {
		t.Errorf("another site's page: %d", code)
	}
	if err := g.tokens.Revoke("phone"); err != nil {
		t.Fatal(err)
	}
	if code, _ := ask("/v1/jobs/list"); code != http.StatusUnauthorized {
		t.Errorf("revoked: %d", code)
	}
	if own := post(g.token, "Origin", g.URL()); own.StatusCode != http.StatusSeeOther {
		t.Errorf("the owner's token: %s", own.Status)
	}
	if code, body := g.do("POST", "/v1/access", g.token, "{}"); code != http.StatusOK || !strings.Contains(body, `"owner"`) || !strings.Contains(body, `/pkg/api"`) { // this directory, which is in a repository
		t.Errorf("the owner's access: %d %s", code, body)
	}
}

// A file that an artifact names is sent whole or in ranges, as no page; nothing else is sent.
func TestArtifactFile(t *testing.T) {
	g := guard(t)
	sound := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	secret := filepath.Join(t.TempDir(), "secret.mp3")
	for name, data := range map[string][]byte{filepath.Join(g.root, "clips/a b\u00e4.mp3"): sound, filepath.Join(g.root, "page.html"): []byte("<script>"), filepath.Join(g.root, ".env"): []byte("KEY=x"), filepath.Join(g.root, "notes.md"): []byte("# N"), secret: sound} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(g.root, "link.mp3")); err != nil {
		t.Fatal(err)
	}
	value := func(v any) map[string]any { return map[string]any{"value": v} }
	type file map[string]string
	output, err := json.Marshal(map[string]any{"artifacts": map[string]any{
		"finished_audio": value(file{"path": "clips/a b\u00e4.mp3"}), "saved": value([]file{{"path": "page.html"}, {"path": "notes.md"}}), "env": value(file{"path": ".env"}), "out": value(file{"path": "../" + filepath.Base(filepath.Dir(secret)) + "/secret.mp3"}),
		"abs": value(file{"path": secret}), "link": value(file{"path": "link.mp3"}), "dir": value(file{"path": "clips"}), "gone": value(file{"path": "gone.mp3"}), "text": value("notes.md"), "deep": value(map[string]any{"files": []file{{"path": "notes.md"}}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for id, dir := range map[string]string{"J5EEEEEEEEEEEE": g.root, "J6FFFFFFFFFFFF": filepath.Dir(secret)} {
		if _, err := g.store.Add(t.Context(), &jobs.Job{ID: id, Dir: dir, Agent: "a", Output: output}); err != nil {
			t.Fatal(err)
		}
	}
	token := g.add("reader", adroit.ScopeRead)
	get := func(job, artifact, path string, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", g.URL()+jobsFile.path()+"?"+url.Values{"job": {job}, "artifact": {artifact}, "path": {path}}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	const job = "J5EEEEEEEEEEEE"
	whole := get(job, "finished_audio", "")
	b, err := io.ReadAll(whole.Body)
	h := whole.Header
	if err != nil || !bytes.Equal(b, sound) || h.Get("Content-Type") != "audio/mpeg" || !strings.HasPrefix(h.Get("Content-Disposition"), "inline; filename*=utf-8''a%20b") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != filePolicy {
		t.Errorf("%d bytes, %v, %s", len(b), err, h)
	}
	part := get(job, "finished_audio", "clips/a b\u00e4.mp3", "Range", "bytes=1048570-1048585", "If-Range", h.Get("ETag"))
	if b, err := io.ReadAll(part.Body); err != nil || part.StatusCode != http.StatusPartialContent || !bytes.Equal(b, sound[1048570:1048586]) {
		t.Errorf("a range: %s %q %v", part.Status, b, err)
	}
	if past := get(job, "finished_audio", "", "Range", "bytes=99999999-"); past.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range behind the end: %s", past.Status)
	}
	if page := get(job, "saved", "page.html"); page.Header.Get("Content-Type") != "application/octet-stream" || page.Header.Get("Content-Disposition") != "attachment; filename=page.html" {
		t.Errorf("a page: %s", page.Header)
	}
	for _, bad := range [][3]string{
		{job, "env", ""}, {job, "out", ""}, {job, "abs", ""}, {job, "link", ""}, {job, "dir", ""}, {job, "gone", ""}, {job, "text", ""}, {job, "deep", "notes.md"}, {job, "saved", ""}, {job, "saved", ".env"},
		{job, "finished_audio", "clips/../notes.md"}, {job, "none", "notes.md"}, {"J6FFFFFFFFFFFF", "link", ""}, {"..", "saved", "notes.md"}, {"last", "saved", "notes.md"},
	} {
		if res := get(bad[0], bad[1], bad[2]); res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusForbidden || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q: %s %s", bad, res.Status, res.Header)
		}
	}
}
