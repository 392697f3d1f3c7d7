package machine

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

// run executes a command line with a configuration, in buffers.
func run(file string, args ...string) (string, error) {
	var out bytes.Buffer
	getenv := func(key string) string { return map[string]string{"HOME": "/home/ann"}[key] }
	e := &kit.Env{Out: &out, Err: &out, Getenv: getenv, Config: func() (*config.Config, error) {
		return config.Load(config.Env{Getenv: getenv, ReadFile: func(string) ([]byte, error) {
			if file == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(file), nil
		}}, config.Flags{})
	}}
	cmd := NewConfig(e)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestConfigCommands(t *testing.T) {
	for _, tc := range []struct {
		file, args, want string
	}{
		{"", "get mode", "edits\n"},
		{"mode: auto\n", "get mode", "auto\n"},
		{"model: \"a/\\e[31mb\"\n", "get model", "a/\\x1b[31mb\n"},
		{"", "get model", "model is not set\n"},
		{"", "path", "/home/ann/.config/adroit/config.yaml\n"},
	} {
		if got, err := run(tc.file, strings.Fields(tc.args)...); err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.args, got, err, tc.want)
		}
	}
	got, err := run("mode: auto\n", "show", "--json")
	if want := "\"key\": \"mode\",\n    \"value\": \"auto\",\n    \"from\": \"file /home/ann/.config/adroit/config.yaml\""; err != nil || !strings.Contains(got, want) {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestConfigUnknown(t *testing.T) {
	for args, hint := range map[string]string{"get mod": `did you mean "mode"?`, "shwo": `did you mean "config show"?`} {
		_, err := run("", strings.Fields(args)...)
		var e *kit.Error
		if !errors.As(err, &e) || e.Code != kit.Usage || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %+v, want a usage error with %s", args, err, hint)
		}
	}
}
