package publish

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestTools(t *testing.T) { toolstest.Check(t, Tools(Config{})...) }

// A tool without a target is not offered: it requires what is not there.
func TestUnconfigured(t *testing.T) {
	for name, want := range map[string]int{"read_site": 0, "publish_markdown": 0, "publish_notion": 1, "publish_webhook": 1} {
		if got := len(tool(t, Config{}, name).Requires); got != want {
			t.Errorf("%s requires %d things, want %d", name, got, want)
		}
	}
	c := Config{Notion: Notion{KeyEnv: "T", DataSource: "d"}, Webhooks: map[string]Webhook{"w": {URL: "https://example.com", SecretEnv: "S", Idempotent: true}}}
	list := Tools(c)
	for _, tool := range list {
		if len(tool.Requires) > 0 || tool.Needs.Has(tools.Publish) && tool.Safe() != tools.Idempotent {
			t.Errorf("%s: requires %v, effect %s", tool.Name, tool.Requires, tool.Safe())
		}
	}
	c.Webhooks["w"] = Webhook{URL: "https://example.com", SecretEnv: "S"}
	if e := tool(t, c, "publish_webhook").Safe(); e != tools.Unsafe {
		t.Errorf("a webhook that can neither be asked nor sees repetitions is %s", e)
	}
}

func TestCheck(t *testing.T) {
	ok := Config{Notion: Notion{KeyEnv: "T", Database: "d"}, Markdown: Site{Style: "hugo"}, Webhooks: map[string]Webhook{"w": {URL: "https://example.com", SecretEnv: "S"}}}
	ok.Check(func(err error, _ string, _ ...string) { t.Error(err) })
	bad := Config{Notion: Notion{Database: "d"}, Markdown: Site{Style: "hexo"}, Webhooks: map[string]Webhook{"a": {URL: "ftp://x", SecretEnv: "S"}, "b": {URL: "https://x"}, "c": {URL: "https://x", SecretEnv: "S", Lookup: "https://x"}}}
	var faults []string
	bad.Check(func(err error, _ string, keys ...string) {
		faults = append(faults, err.Error()+" at "+strings.Join(keys, "."))
	})
	for _, want := range []string{"at markdown.style", "at notion.key_env", "at webhooks.a.url", "at webhooks.b.secret_env", "at webhooks.c.lookup"} {
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.HasSuffix(f, want) }) {
			t.Errorf("%q is not reported in %q", want, faults)
		}
	}
}

// What is read after the approval must be what was approved.
func TestApproved(t *testing.T) {
	site := tool(t, Config{}, "publish_markdown")
	j := newJob(t, "")
	j.write("in.md", "# T\n\nGood.")
	j.approved = map[string]string{"in.md": digest([]byte("# T\n\nGood."))}
	j.write("in.md", "# T\n\nEvil.")
	for _, args := range []string{`{"from":"in.md"}`, `{"from":"./in.md"}`, `{"from":"` + j.files.Dir() + `/in.md"}`} {
		if r := j.call(site, args); !r.Failed || !strings.Contains(r.Text, "changed since it was approved") {
			t.Errorf("%s: %s", args, r.Text)
		}
	}
	j.write("in.md", "# T\n\nGood.")
	if r := j.call(site, `{"from":"./in.md"}`); r.Failed {
		t.Error(r.Text)
	}
}

func tool(t *testing.T, c Config, name string) tools.Tool {
	t.Helper()
	if c.Wait == nil {
		c.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	}
	if c.Getenv == nil {
		c.Getenv = func(name string) string {
			return map[string]string{"TOKEN": "secret-token", "HOOK": "whsec_c2VjcmV0"}[name]
		}
	}
	for _, tool := range Tools(c) {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return tools.Tool{}
}

// A job is the caller of the tools.
type job struct {
	t       *testing.T
	id      string
	files   *workspace.Files
	http    *http.Client
	content string
	notes   []string

	approved map[string]string
}

func newJob(t *testing.T, content string) *job {
	t.Helper()
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return &job{t: t, id: "J1", files: files, http: &http.Client{}, content: content}
}

func (j *job) Names() []string { return []string{"content"} }
func (j *job) Value(name string) json.RawMessage {
	if name != "content" || j.content == "" {
		return nil
	}
	b, _ := json.Marshal(j.content)
	return b
}

func (j *job) try(ctx context.Context, tool tools.Tool, args string) (tools.Result, error) {
	return tool.Run(ctx, &tools.Env{Job: j.id, Files: j.files, HTTP: j.http, Artifacts: j, Approved: j.approved, Emit: func(e event.Event) { j.notes = append(j.notes, e.Text) }}, json.RawMessage(args))
}

func (j *job) call(tool tools.Tool, args string) tools.Result {
	j.t.Helper()
	r, err := j.try(j.t.Context(), tool, args)
	if err != nil {
		j.t.Fatal(err)
	}
	return r
}

func (j *job) write(name, text string) {
	j.t.Helper()
	if err := j.files.WriteFile(name, []byte(text)); err != nil {
		j.t.Fatal(err)
	}
}

func (j *job) read(name string) string {
	j.t.Helper()
	b, err := j.files.ReadFile(name)
	if err != nil {
		j.t.Fatal(err)
	}
	return string(b)
}

// A mortal is a connection of a process that dies after a number of requests
// were carried out and before it receives the last response.
type mortal struct {
	left int
	kill context.CancelFunc
}

var errKilled = errors.New("killed")

func (m *mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if m.left--; m.left > 0 || err != nil {
		return resp, err
	}
	_ = resp.Body.Close()
	m.kill()
	return nil, errKilled
}

// dying calls a tool in a process that dies at its n-th request. It reports
// false if the call got by with fewer.
func (j *job) dying(tool tools.Tool, args string, n int) bool {
	ctx, cancel := context.WithCancel(j.t.Context())
	defer cancel()
	whole := j.http
	defer func() { j.http = whole }()
	m := &mortal{left: n, kill: cancel}
	j.http = &http.Client{Transport: m}
	_, err := j.try(ctx, tool, args)
	return err != nil
}
