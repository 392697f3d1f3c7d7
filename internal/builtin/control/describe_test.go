package control_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestDescribeConforms(t *testing.T) { toolstest.Check(t, control.Describe) }

type given map[string]json.RawMessage

func (g given) Value(name string) json.RawMessage { return g[name] }
func (g given) Names() []string                   { return nil }

func TestTool(t *testing.T) {
	env := &tools.Env{Artifacts: given{control.DescriptionsArtifact: json.RawMessage(`{"git_blame":"### git_blame\nWho wrote it.","git_log":"x"}`)}}
	for _, c := range []struct {
		env        *tools.Env
		args, want string
		failed     bool
	}{
		{env, `{"name":"git_blame"}`, "### git_blame\nWho wrote it.", false},
		{env, `{"name":"read_file"}`, "more is known of: git_blame, git_log", true},
		{new(tools.Env), `{"name":"git_blame"}`, "in full already", true},
	} {
		r, err := control.Describe.Run(t.Context(), c.env, json.RawMessage(c.args))
		if err != nil || r.Failed != c.failed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.args, r, err, c.want)
		}
	}
}
