package reference

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// fields describes for each field of tools.Metadata where it is used.
var fields = []word{
	{"Name", "What the model calls; also what agents list, criteria check and `adroit tools call` takes. Unknown names are answered with the nearest one."},
	{"Description", "Sent to the model with every request."},
	{"Category", "A column of `adroit tools list`; the headings of the prompt section, which is for models that do not take tools natively; `Set.ByCategory`. A word: those of the tools below, or another."},
	{"Optionality", "`required` (the zero value), `optional` or `conditional`. Groups the prompt section, ranks `Set.Suggest`; a template sees the latter two as `.Optional`."},
	{"When", "The condition of a conditional tool, in words; added to its description."},
	{"UsageHint", "For templates of agents (`{{range .Tools}}{{.UsageHint}}`) and the prompt section: when to prefer this tool."},
	{"Examples", "Checked against the schema when a set is made; the first is shown in the prompt section. `toolstest.Check` calls it."},
	{"Needs", "What its `Env` holds, and nothing else; checked against an agent's `grant`; decides about approval, order, undo and repeating."},
	{"Outside", "It runs its command outside the sandbox, with the user's environment: a person is asked about each call unless a rule allows it."},
	{"Online", "It gives its command the network of this machine. A person is asked about each call, unless commands have it anyway, or a rule that names the tool allows it."},
	{"Offline", "Of a server's tool: the server has no network, so that a question about a call does not name it. `Needs` has `net` all the same, since what the server answers is not trusted."},
	{"Asks", "Why a person is asked about each call unless a rule allows it; the tool is not offered in mode plan. Tools of MCP servers have it that do not say that they only read."},
	{"RunsCode", "The tool runs code of the workspace, as tests do: it is not offered in mode plan, and where no sandbox confines it a person is asked as about a command."},
	{"Effect", "Whether a call may be repeated after a crash. Left out it follows from `Needs`: pure if the tool needs to read or to think and nothing else, else unsafe; a tool that declares neither is unsafe. Pure calls of one answer run at once if they only read or think."},
	{"Requires", "Programs of the host. An agent gets no tool whose program is not there, and is refused if `done` needs it; `adroit doctor` and `adroit tools lint` say which they are."},
	{"Secrets", "Environment variables of adroit that the tool needs. Its calls get the values, which are replaced wherever a job keeps or shows text; `adroit doctor` names those that are not set, and calls without them are refused."},
	{"Consumes", "Artifacts that must exist: a call before that is refused with the names, and with the tools that make them."},
	{"Uses", "Artifacts that the tool is given where they exist; it works without them. `test_command` is the configured command line of the project's tests."},
	{"Produces", "Artifacts that a successful call binds; `done: {artifact: …}` asks for them, a missing one is reported with the tool that makes it."},
	{"Paths", "Arguments that are paths in the workspace: what rules about paths judge, together with where links lead."},
	{"Command", "The argument that is shell text: what rules about commands judge."},
	{"Proves", "What a successful call proves, of a tool that can be a check: `done: {check: …}`, stages, and steps of pipelines. `adroit agents lint` refuses all others as checks."},
	{"ProvesWith", "Arguments of which a check must give at least one: without them the call does something else."},
	{"Timeout", "Of one call; two minutes if zero. The result says that the call was stopped and may be half done."},
	{"Source", "Of a server's tool, who has brought the server: `project` or `client`; empty for the operator's. A rule allows it only if it names the source."},
}

func TestTools(t *testing.T) {
	var code []string
	for f := range reflect.TypeFor[tools.Metadata]().Fields() {
		code = append(code, f.Name)
	}
	complete(t, "tools.Metadata field", fields, code)

	var b strings.Builder
	b.WriteString("| field | use |\n|---|---|\n")
	for _, w := range fields {
		fmt.Fprintf(&b, "| `%s` | %s |\n", w.name, cell(w.about))
	}
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, part := range parts.All() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", part.Name, part.About)
		for _, tool := range adroit.ToolsOf([]adroit.Part{part}) {
			checked, ok := set.Lookup(tool.Name)
			if !ok {
				t.Fatalf("%s is in a part and not in parts.Tools", tool.Name)
			}
			writeTool(t, &b, checked)
			shown++
		}
	}
	if shown != len(parts.Tools()) {
		t.Errorf("the page shows %d tools of %d", shown, len(parts.Tools()))
	}
	hold(t, "tools.md", b.String())
}

func writeTool(t *testing.T, b *strings.Builder, tool tools.Tool) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", tool.Name, strings.TrimSpace(tool.Description))
	if tool.UsageHint != "" {
		fmt.Fprintf(b, "Hint: %s\n\n", tool.UsageHint)
	}
	timeout := "2m0s"
	if tool.Timeout != 0 {
		timeout = tool.Timeout.String()
	}
	optionality := string(tool.Optionality)
	if tool.Optionality == tools.Conditional {
		optionality += ", when " + tool.When
	}
	facts := [][2]string{
		{"category", tool.Category}, {"presented as", optionality}, {"needs", tool.Needs.String()}, {"effect", string(tool.Safe())},
		{"requires", strings.Join(tool.Requires, ", ")}, {"consumes", strings.Join(tool.Consumes, ", ")}, {"uses", strings.Join(tool.Uses, ", ")},
		{"produces", strings.Join(tool.Produces, ", ")}, {"timeout", timeout}, {"as a check proves that", tool.Proves},
		{"as a check needs one of", strings.Join(tool.ProvesWith, ", ")},
	}
	for _, f := range facts {
		if f[1] != "" {
			fmt.Fprintf(b, "- %s: %s\n", f[0], f[1])
		}
	}
	writeParameters(t, b, only(t, tool).Describe(nil))
	for _, e := range tool.Examples {
		fmt.Fprintf(b, "\nExample: `%s`", e.Args)
		if e.Note != "" {
			fmt.Fprintf(b, " (%s)", e.Note)
		}
		b.WriteByte('\n')
		if !json.Valid(e.Args) {
			t.Errorf("%s: an example is not JSON", tool.Name)
		}
	}
}

func only(t *testing.T, tool tools.Tool) *tools.Set {
	set, err := tools.NewSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// parameter matches a parameter's line in the prompt section: people read the same text as models.
var parameter = regexp.MustCompile(`(?m)^- (\w+) \((.*?), (required|optional)\)(?:: (.*))?$`)

func writeParameters(t *testing.T, b *strings.Builder, section string) {
	_, list, found := strings.Cut(section, "\nParameters:\n")
	if !found {
		if !strings.Contains(section, "\nParameters: none") {
			t.Errorf("no parameters in %q", section)
		}
		b.WriteString("\nNo parameters.\n")
		return
	}
	lines := strings.Split(list, "\n")
	if end := slices.IndexFunc(lines, func(s string) bool { return !strings.HasPrefix(s, "- ") }); end >= 0 {
		lines = lines[:end]
	}
	b.WriteString("\n| parameter | type | | meaning |\n|---|---|---|---|\n")
	for _, line := range lines {
		m := parameter.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("cannot read the parameter %q", line)
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", m[1], cell(m[2]), m[3], cell(m[4]))
	}
}
