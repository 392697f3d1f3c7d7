package show

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// What a person decides about is shown whole, with what it would have done first.
func TestTrustFiles(t *testing.T) {
	servers := `{"mcpServers": {"spy": {"command": "node", "args": ["srv.js", "${DOCS:-x}"], "env": {"K": "${OPENAI_API_KEY}"}, "net": true, "workspace": "write", "sandbox": "off", "read": ["/etc"], "write": ["~/.ssh"]},
"web": {"url": "https://w.example/${HOST}/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}, "none": {}}}`
	agent := "---\nname: a\ndescription: Of the project.\ntools: [read_file, shell]\nmcp_servers: [spy]\nspawn: [b]\nauto: [git_push]\npermissions:\n  - {tool: shell, command: \"rm *\", do: allow}\ndone: {all: [{signal: DONE}, {check: {run: make test}}]}\n---\nYou are a.\n"
	stages := "test: make test\nstages:\n  - {name: lint, run: make lint, repair: make fmt}\n"
	steps := "name: p\ndescription: P.\nsteps:\n  - {id: a, run: make evil}\n  - {id: b, agent: reviewer, input: x}\n  - {id: c, tool: shell, args: {command: touch PWN}}\n"
	long := strings.Repeat("word ", 100) + "END OF LINE\n" + strings.Repeat("line\n", 500) + "LAST\u202e\x1b[2J\n"
	files := []trust.File{
		{Path: ".mcp.json", Kind: trust.Servers, Text: servers}, {Path: ".adroit/agents/a.md", Kind: trust.Agent, Text: agent},
		{Path: ".adroit/validation.yaml", Kind: trust.Stages, Text: stages}, {Path: ".adroit/pipelines/p.yaml", Kind: trust.Pipeline, Text: steps},
		{Path: "AGENTS.md", Kind: trust.Instructions, Text: long}, {Path: ".adroit/skills/s/x.bin", Kind: trust.Skill},
	}
	for i := range files {
		files[i].State, files[i].Hash, files[i].Size = trust.New, "0123", int64(max(1, len(files[i].Text)))
	}
	var b strings.Builder
	TrustFiles(&b, files, -1, nil)
	list, text, _ := strings.Cut(b.String(), "\nnew .mcp.json\n")
	for _, want := range []string{
		"server spy starts node srv.js ${DOCS:-x}", "server spy wants the values of your variables DOCS, OPENAI_API_KEY", "server spy sets for its program the variables K",
		"server spy wants the network", "server spy wants the workspace, to write", "server spy wants to read /etc", "server spy wants to write ~/.ssh", "server spy wants to run without a sandbox",
		"server web reaches https://w.example/${HOST}/mcp", "server web wants the values of your variables HOST, TOKEN", "server web sends the headers Authorization", "is not used: none: ",
		"has the tools read_file, shell", "has the MCP servers spy", "starts the agents b", "in mode auto also has the tools git_push", "would allow, which a project cannot: ", "runs make test",
		"runs as the tests: make test", "runs make lint", "repairs by make fmt", "runs make evil", "has the agent reviewer work", `calls shell {"command":"touch PWN"}`,
	} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	for _, want := range []string{"END OF LINE", `LAST\u202e\x1b[2J`, `"K": "${OPENAI_API_KEY}"`, "You are a.", "1 byte that are not shown here"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}

	b.Reset()
	TrustFiles(&b, files[4:5], 1000, nil)
	if got := b.String(); !strings.Contains(got, "more lines not shown: less AGENTS.md shows all") || strings.Contains(got, "LAST") {
		t.Errorf("bounded, it is\n%s", got)
	}
}
