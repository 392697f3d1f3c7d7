package control_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestSkillConforms(t *testing.T) { toolstest.Check(t, control.ReadSkill) }

type skillGiven map[string]json.RawMessage

func (g skillGiven) Value(name string) json.RawMessage { return g[name] }
func (g skillGiven) Names() []string                   { return nil }

func TestSkillRead(t *testing.T) {
	env := &tools.Env{Artifacts: skillGiven{"skills": json.RawMessage(`[{"name":"notes","body":"Write them short.","files":{"a/form.md":"The form."}},{"name":"bare","body":"Do."}]`)}}
	for _, c := range []struct {
		env        *tools.Env
		args, want string
		failed     bool
	}{
		{env, `{"name":"notes"}`, "Write them short.\n\nFiles of this skill, for read_skill with file: a/form.md", false},
		{env, `{"name":"bare"}`, "Do.", false},
		{env, `{"name":"notes","file":"SKILL.md"}`, "Write them short.", false},
		{env, `{"name":"notes","file":"./a/form.md"}`, "The form.", false},
		{env, `{"name":"notes","file":"a/../../x"}`, "it has a/form.md", true},
		{env, `{"name":"bare","file":"x"}`, "has no files", true},
		{env, `{"name":"note"}`, "did you mean", true},
		{new(tools.Env), `{"name":"notes"}`, "no skills", true},
	} {
		r, err := control.ReadSkill.Run(t.Context(), c.env, json.RawMessage(c.args))
		if err != nil || r.Failed != c.failed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.args, r, err, c.want)
		}
	}
}
