package describe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/tools/describe"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestConforms(t *testing.T) { toolstest.Check(t, describe.Tool) }

type given map[string]json.RawMessage

func (g given) Value(name string) json.RawMessage { return g[name] }
func (g given) Names() []string                   { return nil }

func TestTool(t *testing.T) {
	env := &tools.Env{Artifacts: given{describe.Artifact: json.RawMessage(`{"git_blame":"### git_blame\nWho wrote it.","git_log":"x"}`)}}
	for _, c := range []struct {
		env        *tools.Env
		args, want string
		failed     bool
	}{
		{env, `{"name":"git_blame"}`, "### git_blame\nWho wrote it.", false},
		{env, `{"name":"read_file"}`, "more is known of: git_blame, git_log", true},
		{new(tools.Env), `{"name":"git_blame"}`, "in full already", true},
	} {
		r, err := describe.Tool.Run(t.Context(), c.env, json.RawMessage(c.args))
		if err != nil || r.Failed != c.failed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.args, r, err, c.want)
		}
	}
}
