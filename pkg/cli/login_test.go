package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An account is a home without keys, and providers that take labKey alone.
type account struct {
	t    *testing.T
	home string
	env  map[string]string
	mu   sync.Mutex
	seen []string // requests
}

func newAccount(t *testing.T) *account {
	d := &account{t: t, home: t.TempDir()}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.seen = append(d.seen, r.Method+" "+r.URL.Path)
		d.mu.Unlock()
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
		switch {
		case r.URL.Path == "/bare/models":
			http.NotFound(w, r) // its address lacks /v1
		case r.URL.Path == "/down/models":
			http.Error(w, "down", http.StatusServiceUnavailable)
		case r.URL.Path == "/away/models":
			http.Redirect(w, r, "/v1/models", http.StatusFound)
		case key != labKey:
			http.Error(w, `{"error":{"message":"bad key `+key+`"}}`, http.StatusUnauthorized)
		case r.Method == http.MethodPost: // a provider that echoes the key
			http.Error(w, `{"error":{"message":"no `+key+`"}}`, http.StatusUnauthorized)
		}
	}))
	t.Cleanup(srv.Close)
	conf := filepath.Join(d.home, "config.yaml")
	text := fmt.Sprintf("endpoints:\n  lab: {base_url: %[1]s/v1}\n  down: {base_url: %[1]s/down}\n  away: {base_url: %[1]s/away}\n  bare: {base_url: %[1]s/bare}\n  openrouter: {base_url: %[1]s/own, key_env: OWN}\n", srv.URL)
	agent := "---\nname: poet\ndescription: Says something.\n---\nYou say something.\n"
	for path, text := range map[string]string{conf: text, filepath.Join(d.home, ".config/adroit/agents/poet.md"): agent} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.env = map[string]string{"HOME": d.home, "ADROIT_CONFIG": conf, "ADROIT_HOME": filepath.Join(d.home, "data"), "OLLAMA_HOST": "127.0.0.1:9",
		"OPENAI_BASE_URL": srv.URL + "/openai", "ANTHROPIC_BASE_URL": srv.URL}
	return d
}

func (d *account) run(stdin string, args ...string) (out string, code int) {
	var b bytes.Buffer
	p := Program{Tools: []tools.Tool{control.Finish}, Stdin: strings.NewReader(stdin), Stdout: &b, Stderr: &b, Getenv: func(k string) string { return d.env[k] }}
	code = p.Run(d.t.Context(), args...)
	return b.String(), code
}

func (d *account) file() string { return filepath.Join(d.home, ".config/adroit/credentials.json") }

func TestLogin(t *testing.T) {
	d := newAccount(t)
	for _, c := range []struct {
		args  []string
		stdin string
		code  int
		says  string
	}{
		{[]string{"config", "login"}, "", kit.Usage, "login needs one provider, or --list"},
		{[]string{"config", "login", "nobody"}, labKey, kit.Usage, `unknown model provider "nobody"`},
		{[]string{"config", "login", "lab"}, "", kit.Usage, "there is no key on standard input"},
		{[]string{"config", "login", "lab"}, "two\nlines", kit.Usage, "what was given is not a key"},
		{[]string{"config", "login", "lab"}, "wrong-key-123456", kit.Failed, "the server refuses the key"},
		{[]string{"config", "login", "bare"}, "wrong-key-123456", kit.Failed, "the server refuses the key"},
		{[]string{"config", "login", "down"}, labKey, kit.Failed, "--no-verify keeps it all the same"},
		{[]string{"config", "login", "away"}, labKey, kit.Failed, "HTTP 302"}, // no other host gets the key
		{[]string{"config", "logout", "lab"}, "", kit.Done, "no key of lab is kept"},
	} {
		out, code := d.run(c.stdin, c.args...)
		if code != c.code || !strings.Contains(out, c.says) || strings.Contains(out, "wrong-key") {
			t.Errorf("%v: exit code %d\n%s", c.args, code, out)
		}
	}
	if _, err := os.Lstat(d.file()); err == nil {
		t.Fatal("a key was kept")
	}
	if out, code := d.run("Authorization: Bearer "+labKey+"\n", "config", "login", "bare"); code != 0 || !strings.Contains(out, "(verified)") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, provider := range []string{"lab", "openai", "anthropic"} {
		if out, code := d.run(labKey+"\n", "config", "login", provider); code != 0 || !strings.Contains(out, "(verified)") {
			t.Fatalf("%s: exit code %d\n%s", provider, code, out)
		}
	}
	if out, code := d.run("own-key-123456", "config", "login", "openrouter", "--no-verify"); code != 0 || !strings.Contains(out, "(not verified)") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if got := strings.Join(d.seen[len(d.seen)-3:], ", "); got != "GET /v1/models, GET /openai/models, GET /v1/models" {
		t.Errorf("asked: %s", got)
	}
	if info, err := os.Stat(d.file()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	d.env["OPENAI_API_KEY"] = "sk-of-the-environment"
	out, _ := d.run("", "config", "login", "--list")
	for _, want := range []string{"lab         adroit config login\n", "openai      OPENAI_API_KEY, before that of adroit config login\n", "gemini      no key (adroit config login gemini, or GEMINI_API_KEY)\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list lacks %q\n%s", want, out)
		}
	}
	if out, _ := d.run("", "models"); !strings.Contains(out, "anthropic/NAME") || !strings.Contains(out, "the key of adroit config login") {
		t.Errorf("models\n%s", out)
	}
}

// The key reaches the server and nothing else: no output, event, journal or error.
func TestLoginKeyStaysSecret(t *testing.T) {
	d := newAccount(t)
	var all []string
	keep := func(stdin string, args ...string) string {
		out, _ := d.run(stdin, args...)
		all = append(all, out)
		return out
	}
	keep(labKey, "config", "login", "lab")
	if out := keep("", "run", "poet", "hello", "-m", "lab/m", "--json"); !strings.Contains(out, "job.finished") || !strings.Contains(out, "refused the key, which is that of adroit config login lab") {
		t.Errorf("the run says\n%s", out)
	}
	for _, args := range [][]string{{"jobs", "logs", "last"}, {"jobs", "show", "last", "--json"}, {"config"}, {"doctor"}, {"models", "--json"}, {"config", "login", "--list", "--json"}, {"models", "check", "lab/m"}} {
		keep("", args...)
	}
	absent(t, d.env["ADROIT_HOME"], all...)
	if out := keep("", "config", "logout", "lab"); !strings.Contains(out, "is forgotten") {
		t.Error(out)
	}
	if b, err := os.ReadFile(d.file()); err != nil || strings.Contains(string(b), labKey) {
		t.Errorf("%s, %v", b, err)
	}
	if out := keep("", "models", "check", "lab/m"); !strings.Contains(out, "asks for a key: adroit config login lab") {
		t.Error(out)
	}
}

// A file that others can read is not used, and doctor names the remedy.
func TestLoginFileForOthers(t *testing.T) {
	d := newAccount(t)
	d.run(labKey, "config", "login", "lab")
	if err := os.Chmod(d.file(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor"}, {"models", "check", "lab/m"}, {"config", "login", "--list"}} {
		if out, _ := d.run("", args...); !strings.Contains(out, "run chmod 600 on it") {
			t.Errorf("%v\n%s", args, out)
		}
	}
	if last := d.seen[len(d.seen)-1]; last != "POST /v1/chat/completions" {
		t.Errorf("the last request is %s", last)
	}
}
