package agents_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

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
		"tabs":                     {"---\nname: s\ndescription: Use it\n\twhen asked.\n---\nDo.", "s", "Use it when asked.", "Do.", "SKILL.md:4:1: note: YAML has no tabs"},
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
		"tools: Read\nmodel: @x":                         {[]string{"read_file"}, `x.md:5:8: note: model @x is not known here; the default is used`},
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

// Agents as people have them in .claude/agents: of Claude Code's generator, its documentation, the
// collections on GitHub, and of opencode, Cursor, Copilot and Gemini, copied there.
func TestAgentFiles(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"---\nname: a\ndescription: d\ntools: Read, Grep, Bash(git:*)\n---\nB", "a|d|[read_file search] [] [] []|0|B; 4:8 warning"},
		{"---\nname: a\ndescription: d\ntools:\n  - Read\n  - Grep\n---\nB", "a|d|[read_file search] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read Grep Glob\n---\nB", "a|d|[read_file search list_files] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: [\"Read\", \"Grep\"]\n---\nB", "a|d|[read_file search] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: *\n---\nB", "a|d|[*] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: \"*\"\n---\nB", "a|d|[*] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: All tools\n---\nB", "a|d|[All tools] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read, mcp__github__create_issue, mcp__github, mcp__github__*\n---\nB", "a|d|[read_file mcp__github__create_issue mcp__github__*] [] [github] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read, Read, Write,\n---\nB", "a|d|[read_file write_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: read, grep, bash\n---\nB", "a|d|[read grep bash] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ndisallowedTools: Write, Edit\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [write_file edit_file] [] []|0|B"},
		{"---\nname: a\ndescription: d\ndisallowedTools:\n  - Bash\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [shell] [] []|0|B"},
		{"---\nname: a\ndescription: d\ndisallowedTools: Bash(rm:*)\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [shell] [] []|0|B"},
		{"---\nname: a\ndescription: d\nallowed-tools: Read, Grep\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 4:1 error"},
		{"---\nname: a\ndescription: d\nmodel: opus\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\nmodel: claude-opus-4-5-20251101\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\nmodel: sonnet[1m]\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\nmodel: opusplan\ncolor: \"#ff0000\"\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ncolor: #ff0000\ntools: Read\n---\nB", "a|d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: Use this agent when X. Examples:\\n\\n<example>\\nContext: The user is y.\\nuser: \"Please do z\"\\nassistant: \"I'll do: z\"\\n<commentary>\\nSince: w\\n</commentary>\\n</example>\ntools: Read\nmodel: sonnet\ncolor: blue\n---\n\nB", "a|Use this agent when X. Examples:\n\n<example>\nContext: The user is y.\nuser: \"Please do z\"\nassistant: \"I'll do: z\"\n<commentary>\nSince: w\n</commentary>\n</example>|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: Use this agent when X. Examples:\n\n<example>\nContext: The user is y.\nuser: \"Please do z\"\nassistant: \"I'll do: z\"\n<commentary>\nSince: w\n</commentary>\n</example>\n\ntools: Read\nmodel: sonnet\ncolor: blue\n---\n\nB", "a|Use this agent when X. Examples: <example> Context: The user is y. user: \"Please do z\" assistant: \"I'll do: z\" <commentary> Since: w </commentary> </example>|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: |\n  Use this: x\n  ---\n  y\ntools: Read\n---\nB", "a|Use this: x\n---\ny|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: >-\n  Use this: x\n  y # not a comment\ntools: Read\n---\nB", "a|Use this: x y # not a comment|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: \"Say: \\\"hi\\\" # x\"\ntools: Read\n---\nB", "a|Say: \"hi\" # x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: 'It''s: x'\ntools: Read\n---\nB", "a|It's: x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: It's \"x\": y's # and z\ntools: Read\n---\nB", "a|It's \"x\": y's # and z|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: \"Quoted\" words first, then more\ntools: Read\n---\nB", "a|\"Quoted\" words first, then more|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: 'Quoted' words: first\ntools: Read\n---\nB", "a|'Quoted' words: first|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: [WIP] does x\ntools: Read\n---\nB", "a|[WIP] does x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: {x} does y\ntools: Read\n---\nB", "a|{x} does y|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: {{name}} does: y\ntools: Read\n---\nB", "a|{{name}} does: y|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: `code` first\ntools: Read\n---\nB", "a|`code` first|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: @mention first\ntools: Read\n---\nB", "a|@mention first|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: %percent first\ntools: Read\n---\nB", "a|%percent first|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: - dash first\ntools: Read\n---\nB", "a|- dash first|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: > text on the same line\ntools: Read\n---\nB", "a|> text on the same line|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: | text on the same line\ntools: Read\n---\nB", "a|| text on the same line|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: !important x\ntools: Read\n---\nB", "a|!important x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: & more\ntools: Read\n---\nB", "a|& more|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: ? what\ntools: Read\n---\nB", "a|? what|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: true\ntools: Read\n---\nB", "a|true|[read_file] [] [] []|0|B"},
		{"---\nname: 42\ndescription: d\ntools: Read\n---\nB", "file|d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription:\n  Use this when x\n  and y\ntools: Read\n---\nB", "a|Use this when x and y|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription:   \ntools: Read\n---\nB", "a||[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription : space before\ntools: Read\n---\nB", "a|space before|[read_file] [] [] []|0|B"},
		{"---\r\nname: a\r\ndescription: one: two\r\ntools: Read\r\n---\r\nB\r\nC\r\n", "a|one: two|[read_file] [] [] []|0|B\nC"},
		{"---\rname: a\rdescription: d\rtools: Read\r---\rB\rC\r", "a|d|[read_file] [] [] []|0|B\nC"},
		{"\ufeff---\nname: a\ndescription: d\ntools: Read\n---\nB", "a|d|[read_file] [] [] []|0|B"},
		{wide("---\nname: a\ndescription: dü: x\ntools: Read\n---\nB", binary.LittleEndian), "a|dü: x|[read_file] [] [] []|0|B"},
		{wide("---\nname: a\ndescription: dü: x\ntools: Read\n---\nB", binary.BigEndian), "a|dü: x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: caf\xe9\ntools: Read\n---\nB \xe9", "-; 1:1 error"},
		{"# Title\n\nJust text {{x}}", "-; 1:1 error"},
		{"\n\n---\nname: a\ndescription: d\ntools: Read\n---\nB", "a|d|[read_file] [] [] []|0|B"},
		{" ---\nname: a\ndescription: d\n---\nB", "-; 1:1 error"},
		{"--- \nname: a\ndescription: d\ntools: Read\n---  \nB", "a|d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read\n...\nB", "a|d|[read_file] [] [] []|0|B"},
		{"---yaml\nname: a\ndescription: d\n---\nB", "-; 1:1 error"},
		{"+++\nname = \"a\"\ndescription = \"d\"\n+++\nB", "-; 1:1 error"},
		{"---\n# comment\nname: a # c\ndescription: d # c\ntools: Read, # c\n---\nB", "a|d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read\n---\nB\n---\nC\n---\nD", "a|d|[read_file] [] [] []|0|B\n---\nC\n---\nD"},
		{"---\nname: a\ndescription: d\ntools: Read\n---\n---\nB", "a|d|[read_file] [] [] []|0|---\nB"},
		{"---\nname:\ta\ndescription:\td\ntools:\n\t- Read\n---\nB", "a|d|[read_file] [] [] []|0|B"},
		{"---\nname:\u00a0a\ndescription:\u00a0d\ntools: Read\n---\nB", "a|d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\nhooks:\n\tPreToolUse: x\ntools: Read\n---\nB", "a|d|[read_file] [] [] []|0|B; 4:1 warning"},
		{"---\nname: a\nname: b\ndescription: d\ndescription: e\ntools: Read\n---\nB", "-; 3:1 error"},
		{"---\nname: a\ndescription: d\npermissionMode: acceptEdits\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 4:1 warning"},
		{"---\nname: a\ndescription: d\npermissionMode: bypassPermissions\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 4:1 warning"},
		{"---\nname: a\ndescription: d\npermissionMode: plan\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|plan0|B"},
		{"---\nname: a\ndescription: d\nhooks:\n  PreToolUse:\n    - matcher: \"Bash\"\n      hooks:\n        - type: command\n          command: \"./x.sh\"\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 4:1 warning"},
		{"---\nname: a\ndescription: d\nskills: plugin:skill-name\nmcpServers: github, slack\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] [plugin:skill-name]|0|B; 5:1 warning"},
		{"---\nname: a\ndescription: d\nmemory: user\nbackground: true\nisolation: worktree\neffort: high\nmaxTurns: 20\ninitialPrompt: \"/review\"\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|20|B"},
		{"---\nname: a\ndescription: d\nmaxTurns: \"20\"\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 4:11 error"},
		{"---\nname: a\ndescription: d\neffort: max\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\neffort: xhigh\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\nname: plugin:reviewer\ndescription: d\ntools: Read\n---\nB", "plugin-reviewer|d|[read_file] [] [] []|0|B"},
		{"---\nname: 代码审查\ndescription: 审查代码：当需要时\ntools: Read\n---\nB", "file|审查代码：当需要时|[read_file] [] [] []|0|B"},
		{"---\nname: Über Prüfer\ndescription: d\ntools: Read\n---\nB", "file|d|[read_file] [] [] []|0|B"},
		{"---\nName: a\nDescription: d\nTools: Read\n---\nB", "file||[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 2:1 warning; 3:1 warning; 4:1 error"},
		{"---\ndescription: Reviews code\nmode: subagent\nmodel: anthropic/claude-sonnet-4-20250514\ntemperature: 0.1\ntools:\n  write: false\n  edit: false\n  bash: false\n---\nB", "file|Reviews code|[] [] [] []|anthropic/claude-sonnet-4-202505140|B; 3:7 error; 5:1 warning; 7:3 error"},
		{"---\ndescription: Reviews code\nmode: subagent\npermission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git diff\": allow\n  webfetch: deny\n---\nB", "file|Reviews code|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 3:7 error; 4:1 error"},
		{"---\ndescription: x\nmode: primary\ntools:\n  \"mymcp_*\": false\n  read: true\nsteps: 5\ntop_p: 0.9\nhidden: true\n---\nB", "file|x|[] [] [] []|0|B; 3:7 error; 5:3 error; 7:1 warning; 8:1 warning"},
		{"---\ndescription: RPC Service boilerplate\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\nB\n@service-template.ts", "file|RPC Service boilerplate|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B\n@service-template.ts; 3:1 warning; 4:1 warning"},
		{"---\ndescription: \nglobs: \nalwaysApply: true\n---\nB", "file||[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 3:1 warning; 4:1 warning"},
		{"---\napplyTo: \"**/*.ts,**/*.tsx\"\n---\nB", "file||[read_file list_files search edit_file write_file run_tests] [] [] []|0|B; 2:1 warning"},
		{"---\nname: plan\ndescription: 'd'\ntools: ['search', 'fetch', 'github/*', 'execute/runInTerminal']\nmodel: GPT-5 (copilot)\ntarget: vscode\nhandoffs:\n  - label: Start\n    agent: agent\n    prompt: go\n    send: false\n---\nB #tool:fetch ${input:x}", "plan|d|[search fetch github/* execute/runInTerminal] [] [] []|0|B #tool:fetch ${input:x}; 6:1 warning; 7:1 warning"},
		{"---\nname: g\ndescription: d\nkind: local\ntools:\n  - read_file\n  - grep_search\nmodel: gemini-2.5-pro\ntemperature: 0.2\nmax_turns: 10\ntimeout_mins: 5\n---\nB", "g|d|[read_file grep_search] [] [] []|0|B; 4:1 warning; 9:1 warning; 10:1 error; 11:1 warning"},
		{"---\nname: a\ndescription: d\ntools: Read\n---\nUse {{ name }}, ${VAR}, {% if x %}y{% endif %}, {{#each a}}, <%= x %>, $ARGUMENTS, !`cmd`, @file", "a|d|[read_file] [] [] []|0|Use {{ name }}, ${VAR}, {% if x %}y{% endif %}, {{#each a}}, <%= x %>, $ARGUMENTS, !`cmd`, @file"},
		{"---\nname: a\ndescription: d {{ name }}\ntools: Read\nversion: 1.0\nauthor: x <a@b.c>\ntags: [a, b]\n---\nB", "a|d {{ name }}|[read_file] [] [] []|0|B; 5:1 warning; 6:1 warning; 7:1 warning"},
		{"---\nname: a\ndescription: d\ntools: Read\nmetadata:\n  x: {y: [1, 2]}\n---\nB", "a|d|[read_file] [] [] []|0|B; 5:1 warning"},
		{"---\nname: a\ndescription: d\nargument-hint: [file] [--x]\nallowed-tools: Bash(git add:*), Bash(git status:*)\n---\n!`git status` $1 $ARGUMENTS", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|!`git status` $1 $ARGUMENTS; 4:1 warning; 5:1 error"},
		{"---\nname: a\ndescription: d\ntools: Read, Agent(worker, researcher), Write\n---\nB", "a|d|[read_file write_file] [] [] []|0|B; 4:8 warning"},
		{"---\nname: a\ndescription: d\ntools: Read(src/**), Edit(/docs/**), WebFetch(domain:example.com)\n---\nB", "a|d|[] [] [] []|0|B; 4:8 warning; 4:8 warning; 4:8 warning"},
		{"---\nname: a\ndescription: d\ntools: Read, Write, Edit, MultiEdit, NotebookEdit, Glob, Grep, LS, Bash, BashOutput, KillShell, TodoWrite, WebFetch, WebSearch, Task, Skill, AskUserQuestion, ExitPlanMode\n---\nB", "a|d|[read_file write_file edit_file list_files search shell shell_output shell_kill todo web_fetch web_search] [] [] []|0|B; 4:8 warning; 4:8 warning; 4:8 warning; 4:8 warning; 4:8 warning"},
		{"---\nname: a\ndescription: d\ntools: \"Read, Write\" # both\n---\nB", "a|d|[read_file write_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: >\n  Read,\n  Write\n---\nB", "a|d|[read_file write_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read,\n  Write,\n  Edit\n---\nB", "a|d|[read_file write_file edit_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read,\nWrite\n---\nB", "a|d|[read_file write_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools:\n  - Read, Write\n---\nB", "a|d|[read_file write_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: &d x\ntools: Read\nother: *d\n---\nB", "a|x|[read_file] [] [] []|0|B; 5:1 warning"},
		{"---\nname: a\ndescription: d\ntools: &t [Read, Grep]\ndeny: *t\nx: {<<: *t, b: &h [{c: d}], e: *h}\n---\nB", "a|d|[read_file search] [read_file search] [] []|0|B; 6:1 warning"},
		{"<!-- comment -->\n---\nname: a\ndescription: d\n---\nB", "-; 1:1 error"},
		{"```markdown\n---\nname: a\ndescription: d\ntools: Read\n---\nB\n```", "-; 1:1 error"},
		{"---\nname: a\ndescription: d\nexpose: true\n---\nB", "a|d|[read_file list_files search edit_file write_file run_tests] [] [] []|0|B"},
		{"---\n{\"name\": \"a\", \"description\": \"d: x\", \"tools\": [\"Read\"]}\n---\nB", "a|d: x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\u00a0x\u2028y\ntools: Read\n---\nB", "a|d\u00a0x\u2028y|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\ntools: Read\n\n\n---\n\n\nB\n\n", "a|d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: Handles C# and F#: x\ntools: Read\n---\nB", "a|Handles C# and F#: x|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: uses https://x.y/z: and a:b c::d\ntools: Read\n---\nB", "a|uses https://x.y/z: and a:b c::d|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: \"an unclosed quote: x\ntools: Read\n---\nB", "-; 3:14 error"},
		{"---\nname: a\ndescription: ends in colon:\ntools: Read\n---\nB", "a|ends in colon:|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: - item: x\n  - item: y\ntools: Read\n---\nB", "a|- item: x - item: y|[read_file] [] [] []|0|B"},
		{"---\nname: a\ndescription: d\nmodel: null\ntools: ~\n---\nB", "a|d|[] [] [] []|0|B"},
	} {
		a, ps := agents.Parse(".claude/agents/file.md", []byte(c.file))
		got := "-"
		if a != nil {
			got = fmt.Sprint(a.Name, "|", a.Description, "|", a.Tools, a.Deny, a.MCPServers, a.Skills, "|", a.Model, a.Mode, a.Limits.Turns, "|", a.Prompt)
		}
		for _, p := range ps {
			if p.Severity != agents.Note {
				got += fmt.Sprintf("; %d:%d %s", p.Line, p.Col, p.Severity)
			}
		}
		if got != c.want {
			t.Errorf("%q\n is %q\nwant %q", c.file, got, c.want)
		}
	}
}

// Skills as people have them.
func TestSkillFiles(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"---\nname: s\ndescription: d\nallowed-tools: Read, Grep\nlicense: Apache-2.0\ncompatibility: Requires git: yes\nmetadata:\n  author: x\n  version: \"1.0\"\n---\nSee {{x}} and ${y}.", "s|d|See {{x}} and ${y}.|1; 6:1 note"},
		{"---\nname: s\ndescription: >\n  a\n  b: c\n---\nB", "s|a b: c|B|1"},
		{"---\nname: s\ndescription: d\ndisable-model-invocation: true\nuser-invocable: false\ncontext: fork\nagent: Explore\n---\nB $ARGUMENTS !`ls` @f", "s|d|B $ARGUMENTS !`ls` @f|1"},
		{wide("---\nname: s\ndescription: dü\n---\nB", binary.LittleEndian), "s|dü|B|1"},
		{wide("---\nname: s\ndescription: dü\n---\nB", binary.BigEndian), "s|dü|B|1"},
		{"\ufeff---\r\nname: s\r\ndescription: a: b\r\n---\r\nB\r\n", "s|a: b|B|1; 3:1 note"},
		{"---\rname: s\rdescription: d\r---\rB", "s|d|B|1"},
		{"---\nname: s\ndescription: d \xe9\n---\nB", "-; 0:0 error"},
		{"--- \nname: s\ndescription: d\n--- \nB", "s|d|B|1"},
		{"\n---\nname: s\ndescription: d\n---\nB", "s|d|B|1"},
		{"---\nname: s\ndescription: d\n...\nB", "s|d|B|1"},
		{"---\nname: s\nname: t\ndescription: d\n---\nB", "-; 3:1 error"},
		{"---\nname: s\ndescription: true\n---\nB", "s|true|B|1"},
		{"---\nname: s\ndescription: 2024-01-01\n---\nB", "s|2024-01-01|B|1"},
		{"---\nname: s\ndescription: [WIP] x\n---\nB", "s|[WIP] x|B|1; 3:1 note"},
		{"---\nname: s\ndescription: \"x\" and \"y\"\n---\nB", "s|\"x\" and \"y\"|B|1; 3:1 note"},
		{"---\nname: s\ndescription: 'it's x'\n---\nB", "s|it's x|B|1; 3:1 note"},
		{"---\nname: s\ndescription: - x\n---\nB", "s|- x|B|1; 3:1 note"},
		{"---\nname: s\ndescription: > x: y\n---\nB", "s|> x: y|B|1; 3:1 note"},
		{"---\nname: s\ndescription: |\nB: x\n---\nB", "s|B|B|1; 1:1 note"},
		{"---\nname: s\ndescription: Use\n\nwhen: x\n---\nB", "s|Use|B|1"},
		{"---\nname: s\ndescription: d\nwhen_to_use: x: y\ntriggers:\n  - a\n  - \"b: c\"\n---\nB", "s|d|B|1; 4:1 note"},
		{"---\nname: s\ndescription: d\ntriggers: \n- a: b: c\n---\nB", "s|d|B|1; 4:1 note"},
		{"---\nname: s\ndescription: d\nmetadata: {\"openclaw\": {\"emoji\": \"x\", \"requires\": {\"bins\": [\"a\"]}}}\n---\nB", "s|d|B|1"},
		{"---\nname: s\ndescription: d\nmetadata:\n  {\n    \"openclaw\": { \"emoji\": \"x\" },\n  }\n---\nB", "s|d|B|1"},
		{"---\nNAME: s\nDescription: d\n---\nB", "s|B|B|1; 1:1 note; 1:1 note"},
		{"", "-; 1:1 note; 1:1 error"},
		{"---\n---\nB", "s|B|B|1; 1:1 note; 1:1 note"},
		{"---\nname: s\ndescription: d\n---\n```\n---\nname: x\n---\n```\n", "s|d|```\n---\nname: x\n---\n```|1"},
		{"---\nname: s\ndescription: d\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{type: command, command: \"a: b\"}]\n---\nB", "s|d|B|1"},
		{"---\nname: s\ndescription: d\nversion: 1.2.3\nallowed-tools:\n  - Read\n  - Bash(git:*)\n---\nB", "s|d|B|1"},
		{"---\nname: s\ndescription: d\nmodel: opus\npaths: src/**/*.ts, *.js\n---\nB", "s|d|B|1"},
		{"---\nname: s\ndescription: d\nglobs: *.ts\n---\nB", "s|d|B|1; 4:1 note"},
		{"---\nname: \"s\"\ndescription: \"a\\n\\nb\"\n---\nB", "s|a\n\nb|B|1"},
		{"---\nname: s\ndescription: <example>x</example> & y\n---\nB", "s|<example>x</example> & y|B|1"},
	} {
		list, ps := agents.LoadSkills(agents.Layer{Name: "user", FS: fstest.MapFS{"s/SKILL.md": {Data: []byte(c.file)}, "s/references/deep/a.md": file("x")}, Dir: "home"})
		got := "-"
		for _, s := range list {
			got = fmt.Sprint(s.Name, "|", s.Description, "|", s.Body, "|", len(s.Files))
		}
		for _, p := range ps {
			got += fmt.Sprintf("; %d:%d %s", p.Line, p.Col, p.Severity)
		}
		if got != c.want {
			t.Errorf("%q\n is %q\nwant %q", c.file, got, c.want)
		}
	}
}

// wide is a text in UTF-16 with its byte order mark.
func wide(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}
