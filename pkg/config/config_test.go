package config

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/parts"
)

// load reads a configuration from a file's text and variables, without a
// process or a file system.
func load(file string, env map[string]string, flags Flags) (*Config, error) {
	vars := map[string]string{"HOME": "/home/ann"}
	for k, v := range env {
		vars[k] = v
	}
	read := func(name string) ([]byte, error) {
		if file == "" || name != "/home/ann/.config/adroit/config.yaml" {
			return nil, fs.ErrNotExist
		}
		return []byte(file), nil
	}
	return Load(Env{Getenv: func(k string) string { return vars[k] }, ReadFile: read, Parts: parts.All()}, flags)
}

func setting(t *testing.T, c *Config, key string) Setting {
	t.Helper()
	for _, s := range c.Settings() {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("no setting %q", key)
	return Setting{}
}

// Flags override the environment, which overrides the file, which overrides
// the default; each value has its origin.
func TestOrigins(t *testing.T) {
	const file = "file /home/ann/.config/adroit/config.yaml"
	const text = "model: lab/big\ndata_dir: ~/file\nlimits: {turns: 7, time: 90s}\nendpoints: {lab: {base_url: 'http://127.0.0.1:8000/v1'}}\n"
	for _, tc := range []struct {
		name, file string
		env        map[string]string
		flags      Flags
		want       Setting
	}{
		{"default", "", nil, Flags{}, Setting{"mode", "edits", "default"}},
		{"no file: data", "", nil, Flags{}, Setting{"data_dir", "/home/ann/.local/share/adroit", "default"}},
		{"no data where HOME is relative", "", map[string]string{"HOME": "ann"}, Flags{}, Setting{"data_dir", "", "default"}},
		{"data of XDG", "", map[string]string{"XDG_DATA_HOME": "/x"}, Flags{}, Setting{"data_dir", "/x/adroit", "default"}},
		{"file", text, nil, Flags{}, Setting{"model", "lab/big", file}},
		{"file: nested", text, nil, Flags{}, Setting{"limits.turns", "7", file}},
		{"file: duration", text, nil, Flags{}, Setting{"limits.time", "1m30s", file}},
		{"file: home directory", text, nil, Flags{}, Setting{"data_dir", "/home/ann/file", file}},
		{"environment", text, map[string]string{"ADROIT_MODEL": "lab/small"}, Flags{}, Setting{"model", "lab/small", "env ADROIT_MODEL"}},
		{"environment: key", "", map[string]string{"OPENAI_API_KEY": "sk-1"}, Flags{}, Setting{"keys.openai", "(set)", "env OPENAI_API_KEY"}},
		{"environment: sandbox", text, map[string]string{"ADROIT_SANDBOX": "off"}, Flags{}, Setting{"sandbox.level", "off", "env ADROIT_SANDBOX"}},
		{"flag", text, map[string]string{"ADROIT_HOME": "/env"}, Flags{DataDir: "/flag"}, Setting{"data_dir", "/flag", "flag --data-dir"}},
		{"role", "models: {default: ollama/a}\n", nil, Flags{}, Setting{"model", "default", file}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := load(tc.file, tc.env, tc.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := setting(t, c, tc.want.Key); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Every mistake is an error that names its place and comes with a hint.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ file, want string }{
		{"modle: x\n", "modle"},
		{"model: x\nlimits: {turns: many}\n", "limits.turns: it must be a whole number"},
		{"mode: fast\n", `mode is "fast"`},
		{"approve: never\n", `approve is "never"`},
		{"limits: {turns: -1}\n", ".yaml:1: limits.turns is negative"},
		{"limits: {cost_usd: .nan}\n", ".yaml:1: limits.cost_usd: it must be a number"},
		{"retention: soon\n", "retention: "},
		{"windows: {a/b: 3}\n", "a/b has 3 tokens"},
		{"calling: {a/b: loud}\n", `a/b is "loud"`},
		{"edit_formats: {a/b: prose}\n", `a/b is "prose"`},
		{"sandbox: {net: wide}\n", `sandbox.net is "wide"`},
		{"sandbox: {show: [here]}\n", "not an absolute path"},
		{"network: {redirects: 99}\n", "network.redirects is 99"},
		{"research: {search: {engine: brave}}\n", "brave needs key_env"},
		{"research: {feeds: {a: 'ftp://x'}}\n", "research.feeds.a"},
		{"endpoints: {openai: {base_url: 'http://x'}}\n", "built in"},
		{"endpoints: {lab: {}}\n", "endpoints.lab has no base_url"},
		{"models: {Cheap: a/b}\n", "models.Cheap is no name"},
		{"models: {cheap: ''}\n", "models.cheap names no model"},
		{"diagnostics: loud\n", `diagnostics is "loud"`},
		{"language_servers: {x: {command: [x]}}\n", "language_servers.x needs command and files"},
		{"secrets: {known: [short]}\n", "no fingerprint"},
		{"test: {shop: make}\n", `"shop" is no directory`},
		{"cli: {lab: {env: [KEY=secret]}}\n", "names of variables, not values"},
		{"conventions: {bytes: -2}\n", "conventions.bytes is -2, and at least -1"},
		{"results: {bytes: 3}\n", "results.bytes is 3"},
		{"model: a/b\nlimits:\n  turns: many\n", ".yaml:3: limits.turns: it must be a whole number"},
		{"model: a/b\nsandbox: off\n", ".yaml:2: sandbox: it must be keys with values"},
		{"\nnetwork: {allow: {a: b}}\n", ".yaml:2: network.allow: it must be a list"},
		{"endpoints: {lab: {base_url: [x]}}\n", ".yaml:1: endpoints.lab.base_url"},
		{"log:\n  level: info\n  levl: info\n", ".yaml:3: unknown key log.levl"},
		{"model: a\nmodel: b\n", ".yaml:2: "},
		{"model: [\n", ".yaml:1: "},
		{"limits:\n  time: 2x\n", ".yaml:2: limits.time: it must be a duration"},
		{"prices:\n  a/b: {in: -1}\n", ".yaml:2: prices.a/b.in is negative"},
		{"endpoints: {lab: {base_url: 'http://x', timeout: -5s}}\n", "endpoints.lab.timeout is negative"},
		{"a: *x\nmodel: *y\n", ".yaml:1: "},
		{"model: a/b\nlimits:\n  turns: 5\n  time: -1h\n", ".yaml:4: limits.time is negative"},
		{"publish:\n  webhooks: {w: {url: 'http://x'}}\n", ".yaml:2: publish.webhooks.w.secret_env is missing"},
		{"endpoints:\n  a: {base_url: 'http://x'}\n  lab: {}\n", ".yaml:3: endpoints.lab has no base_url"},
		{"\nmcp_servers:\n  bad: {}\n", ".yaml:3: mcp_servers.bad"},
		{"\xef\xbb\xbfmodle: a\n", ".yaml:1: unknown key modle"},
		{"\ufeffmodle: a\n", ".yaml:1: unknown key modle"}, // case c01
		{string(rootfs.Encode16("modle: a\n", rootfs.UTF16LE)), ".yaml:1: unknown key modle"},
	} {
		t.Run(strings.TrimSpace(tc.file), func(t *testing.T) {
			_, err := load(tc.file, nil, Flags{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "config.") && !strings.Contains(err.Error(), "config.yaml") {
				t.Errorf("a Go type is shown: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "/home/ann/.config/adroit/config.yaml:") {
				t.Errorf("the error does not begin with its file and line: %v", err)
			}
			var e *fileError
			if !errors.As(err, &e) || e.Hint() == "" {
				t.Errorf("no hint: %v", err)
			}
		})
	}
}

func TestEnvironmentMistake(t *testing.T) {
	if _, err := load("", map[string]string{"ADROIT_MODE": "fast"}, Flags{}); err == nil || !strings.HasPrefix(err.Error(), "the environment: mode") {
		t.Errorf("got %v", err)
	}
}

// A file that ADROIT_CONFIG names has to be there; the usual one need not.
func TestMissingFile(t *testing.T) {
	if _, err := load("", map[string]string{"ADROIT_CONFIG": "/none.yaml"}, Flags{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the file does not exist", err)
	}
	if _, err := load("", nil, Flags{}); err != nil {
		t.Error(err)
	}
}

func TestNoKeyTwice(t *testing.T) {
	c, err := load("", nil, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range c.Settings() {
		if seen[s.Key] {
			t.Errorf("%s is listed twice", s.Key)
		}
		seen[s.Key] = true
	}
}

func TestRoles(t *testing.T) {
	c, err := load("models: {cheap: openai/a, strong: {model: openai/b, fallbacks: [openai/c], hedge: 2s}}\nfallbacks: {'openai/*': [openai/d]}\n", nil, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Options(Program{})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]executor.Route{
		"cheap":    {Model: "openai/a", Fallbacks: []executor.Fallback{{Model: "openai/d"}}},
		"strong":   {Model: "openai/b", Fallbacks: []executor.Fallback{{Model: "openai/c"}}, Hedge: 2 * time.Second},
		"openai/d": {Model: "openai/d"},
	} {
		if got, err := o.Source.Route(t.Context(), ref); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", ref, got, err, want)
		}
	}
}

func TestParseAge(t *testing.T) {
	for in, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "12h": 12 * time.Hour, "0d": 0} {
		if got, err := ParseAge(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "soon", "-3h", "-1d", "d"} {
		if got, err := ParseAge(in); err == nil {
			t.Errorf("%q is %v, want an error", in, got)
		}
	}
}
