package agents_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/pkg/agents"
)

// Skills as other programs read them: what those take for text is text, and the others
// are refused by line, with what to write.
func TestSkillsOfStrangers(t *testing.T) {
	for name, c := range map[string]struct{ file, name, about, body, problems string }{
		"two brackets":             {"---\nname: s\ndescription: d\nargument-hint: [a] [b]\n---\nDo.", "s", "d", "Do.", "SKILL.md:4:1: note: the argument-hint is not valid YAML and was taken as it is; quote it"},
		"a model behind @":         {"---\nname: s\nmodel: @x\ndescription: d\n---\nDo.", "s", "d", "Do.", "SKILL.md:3:1: note"},
		"a colon":                  {"---\nname: s\ndescription: Use it: when asked\n---\nDo.", "s", "Use it: when asked", "Do.", "SKILL.md:3:1: note: the description"},
		"lines, indented":          {"---\nname: s\ndescription: Use it: when\n  asked: twice\nmodel: x\n---\nDo.", "s", "Use it: when asked: twice", "Do.", "SKILL.md:3:1: note"},
		"lines, plain":             {"---\nname: s\ndescription: Use it when\nasked to.\nmodel: x\n---\nDo.", "s", "Use it when asked to.", "Do.", "SKILL.md:3:1: note"},
		"lines that are YAML":      {"---\nname: s\ndescription: Use it when\n  asked to.\n---\nDo.", "s", "Use it when asked to.", "Do.", ""},
		"tabs":                     {"---\nname: s\ndescription: Use it\n\twhen asked.\n---\nDo.", "s", "Use it when asked.", "Do.", "SKILL.md:3:1: note"},
		"quotes in quotes":         {"---\nname: s\ndescription: \"Say \"no\" twice\"\n---\nDo.", "s", "Say \"no\" twice", "Do.", "SKILL.md:3:1: note"},
		"stars":                    {"---\nname: s\ndescription: *Always* use it.\n---\nDo.", "s", "*Always* use it.", "Do.", "SKILL.md:3:1: note"},
		"tools with colons":        {"---\nname: s\ndescription: d\nallowed-tools: Bash(a: b), Read\n---\nDo.", "s", "d", "Do.", "SKILL.md:4:1: note"},
		"no name":                  {"---\ndescription: d\n---\nDo.", "s", "d", "Do.", "SKILL.md:1:1: note: the name \"\" cannot be used; its folder's is"},
		"a name for people":        {"---\nname: My Skill\ndescription: d\n---\nDo.", "s", "d", "Do.", "SKILL.md:1:1: note: the name \"My Skill\""},
		"no description":           {"---\nname: s\n---\n# Title\n\nDo it\nso.\n\nMore.", "s", "Do it so.", "# Title\n\nDo it\nso.\n\nMore.", "SKILL.md:1:1: note: the description is missing"},
		"no front matter":          {"# Title\n\nDo it.\n", "s", "Do it.", "# Title\n\nDo it.", "SKILL.md:1:1: note"},
		"nothing but a title":      {"# Title\n", "s", "Title", "# Title", "SKILL.md:1:1: note"},
		"a list for words":         {"---\nname: s\ndescription: [a, b]\n---\nDo.", "", "", "", "SKILL.md:3:14: error: description is a list, not text"},
		"left unfinished":          {"---\nname: s\ndescription: [a\n---\nDo.", "", "", "", "SKILL.md:3:14: error: the front matter is not valid YAML"},
		"no end of the front part": {"---\nname: s\ndescription: d\nDo.", "", "", "", "SKILL.md:1:1: error: the front matter does not end; close it with a line ---"},
		"empty":                    {"---\nname: s\ndescription: d\n---\n", "", "", "", "SKILL.md:1:1: error: there are no instructions"},
	} {
		list, ps := agents.LoadSkills(agents.Layer{Name: "user", FS: fstest.MapFS{"s/SKILL.md": {Data: []byte(c.file)}}, Dir: "home"})
		var got agents.Skill
		if len(list) == 1 {
			got = list[0]
		}
		if got.Name != c.name || got.Description != c.about || got.Body != c.body || !strings.Contains(lines(ps), c.problems) || c.problems == "" && len(ps) > 0 {
			t.Errorf("%s: %+v, problems: %s", name, got, lines(ps))
		}
	}
}

// Agents of Claude Code keep a name's brackets together, and their keys of text are text.
func TestAgentsOfStrangers(t *testing.T) {
	for front, c := range map[string]struct {
		tools    []string
		problems string
	}{
		"tools: Task(a, b), Read":                     {[]string{"read_file"}, "Task(a, b) has no counterpart here"},
		"tools: Read, Bash(git log: *, git diff)":     {[]string{"read_file"}, "Bash(git log: *, git diff) cannot be restricted like that"},
		"tools: [Read, 'Task(a, b)']":                 {[]string{"read_file"}, "Task(a, b) has no counterpart here"},
		"tools: Read, Grep, Glob(":                    {[]string{"read_file", "search"}, "Glob"},
		"tools: Read\ndescription: one: two\n  three": {[]string{"read_file"}, "the description is not valid YAML and was taken as it is"},
		"description: Use it so: <example>\nContext: x\nuser: \"y\"\ntools: Bash\n</example>\n\n<example>\nuser: z</example>\ntools: Read": {[]string{"read_file"}, "the description is not valid YAML and was taken as it is"},
		"description: Use it so: <example>\ntools: Read": {[]string{"read_file"}, "the description is not valid YAML and was taken as it is"},
		"tools: Read\nmodel: @x":                         {[]string{"read_file"}, `x.md:5:8: error: model "@x" names no provider; write it like ollama/qwen3:8b`},
	} {
		a, ps := agents.Parse(".claude/agents/x.md", []byte("---\nname: x\ncolor: red\n"+front+"\n---\nDo."))
		if a == nil || !slices.Equal(a.Tools, c.tools) || !strings.Contains(lines(ps), c.problems) {
			t.Errorf("%s: %+v %s", front, a, lines(ps))
		}
	}
	for _, front := range []string{"tools: [Read", "disallowedTools: [Bash", "permissions: allow: x", "limits: {turns: 1", "grant: @x"} {
		if a, ps := agents.Parse("x.md", []byte("---\nname: x\n"+front+"\n---\nDo.")); a != nil || ps.Err() == nil {
			t.Errorf("%s is read as %+v", front, a)
		}
	}
}
