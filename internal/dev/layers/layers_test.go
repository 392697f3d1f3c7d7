// Package layers holds the test that keeps the import graph what
// docs/architecture.md says it is.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/adroit-run/adroit/"

// may says which of our packages a package may import. A trailing slash
// stands for everything below. What is not listed here may import nothing of
// ours; adding a package means adding a line.
var may = map[string][]string{
	"pkg/event":          {},
	"pkg/llm":            {"internal/text/jsontext"},
	"pkg/flow":           {"pkg/event"},
	"pkg/guard/permit":   {"internal/text/match"},
	"pkg/guard/netguard": {},
	"internal/memory":    {},
	"pkg/workspace":      {"internal/text/match", "internal/system/rootfs", "internal/work/ledger", "internal/system/rootfs"},
	"pkg/guard/secret":   {},
	"pkg/guard/secret":   {},
	"pkg/guard/trust":    {"configs", "internal/system/rootfs", "internal/system/lock", "internal/system/rootfs"},
	"pkg/tools":          {"pkg/event", "pkg/llm", "pkg/workspace", "internal/work/process"},

	// The loop is deterministic: it has no way to its handlers, to files or to the network.
	"pkg/executor":  {"internal/stored", "internal/turn", "pkg/guard/permit", "internal/turn", "pkg/flow", "pkg/llm", "pkg/llm", "internal/calling/route", "internal/calling/schema", "pkg/guard/permit", "pkg/tools", "internal/turn", "internal/turn", "internal/turn", "internal/turn"},
	"internal/turn": {"pkg/llm", "pkg/tools"},
	"internal/turn": {"pkg/llm", "pkg/tools"},
	"internal/turn": {"internal/turn", "internal/turn", "pkg/guard/permit", "pkg/llm", "pkg/llm", "pkg/tools"},
	"internal/turn": {"pkg/llm", "internal/calling/schema", "internal/calling/textcall", "pkg/tools"},
	"internal/turn": {"internal/text/lazyregexp"},
	"internal/host": {"internal/text/match", "internal/stored", "internal/work/process", "internal/system/rootfs", "internal/turn", "pkg/event", "pkg/executor", "internal/turn", "internal/turn", "internal/turn", "pkg/flow", "pkg/llm", "internal/calling/route",
		"pkg/guard/permit", "pkg/guard/permit", "pkg/tools"},
	"pkg/llm": {"internal/text/match", "pkg/llm"},

	"pkg/agents":             {"internal/stored", "internal/text/plainyaml", "pkg/llm", "pkg/llm", "pkg/guard/permit", "pkg/executor", "internal/turn", "internal/turn", "pkg/tools", "pkg/flow"},
	"pkg/agents":             {"internal/system/rootfs", "pkg/guard/permit", "pkg/tools", "internal/turn", "internal/turn", "internal/calling/route", "pkg/agents", "internal/turn", "internal/text/plainyaml", "pkg/agents", "pkg/event", "pkg/llm", "pkg/llm", "pkg/guard/permit", "pkg/executor", "internal/turn", "pkg/tools", "pkg/flow"},
	"pkg/workflows/pipeline": {"internal/stored", "internal/turn", "internal/system/rootfs", "pkg/agents", "pkg/guard/permit", "internal/turn", "internal/coordinator", "pkg/agents", "internal/text/plainyaml", "pkg/agents", "pkg/event", "pkg/executor", "pkg/flow", "pkg/llm", "pkg/tools"},
	"pkg/jobs":               {"pkg/event", "pkg/jobs"},
	"internal/hooks":         {"pkg/event", "pkg/jobs", "internal/host", "pkg/tools", "pkg/workspace", "internal/work/process"},
	"pkg/workflows":          {"internal/turn", "internal/coordinator", "internal/turn", "pkg/agents", "pkg/executor", "pkg/flow", "pkg/llm", "pkg/tools"},
	"pkg/workflows/pipeline": {"pkg/workflows/pipeline"},
	"pkg/guard/trust":        {"pkg/guard/trust"},
	"pkg/config":             {"pkg/config", "pkg/adroit", "pkg/flow", "pkg/tools"},
	"pkg/jobs/sqlite":        {"pkg/jobs/sqlite", "pkg/jobs"},
	"pkg/workflows":          {"pkg/workflows", "pkg/flow"},
	"internal/stored":        {"pkg/flow"},
	"pkg/jobs":               {"pkg/jobs", "internal/stored", "internal/system/lock", "pkg/event", "pkg/flow", "pkg/llm"},

	// The workspace's rooms, each above those it names.
	"internal/work/sandbox":      {"internal/system/rootfs"},
	"internal/system/rootfs":     {"internal/system/rootfs"},
	"internal/work/ledger":       {"internal/system/lock", "internal/system/rootfs", "internal/system/rootfs"},
	"internal/work/overlay":      {"internal/system/lock", "internal/text/match", "internal/system/rootfs", "internal/work/ledger", "internal/work/sandbox", "internal/system/rootfs"},
	"internal/work/process":      {"internal/system/lock", "internal/system/rootfs", "internal/work/ledger", "internal/work/overlay", "internal/work/sandbox", "internal/system/rootfs"},
	"internal/git":               {"internal/system/rootfs", "pkg/workspace", "internal/work/process", "internal/system/rootfs"},
	"internal/git/worktree":      {"internal/system/lock", "internal/system/rootfs", "internal/git", "pkg/workspace", "internal/work/ledger", "internal/work/process", "internal/system/rootfs"},
	"internal/calling/textcall":  {"pkg/llm"},
	"internal/calling/schema":    {},
	"internal/calling/route":     {"internal/text/match", "pkg/llm"},
	"internal/calling/transport": {"internal/calling/textcall", "pkg/llm"},
	"pkg/llm/llmtest":            {"pkg/llm"},
	"pkg/models/openai":          {"pkg/llm", "internal/calling/schema", "internal/calling/textcall", "internal/calling/transport"},
	"pkg/models/anthropic":       {"pkg/llm", "internal/calling/schema", "internal/calling/transport"},
	"pkg/models/ollama":          {"pkg/llm", "internal/calling/schema", "internal/calling/textcall", "internal/calling/transport"},
	"pkg/models/script":          {"internal/text/plainyaml", "internal/system/rootfs", "pkg/llm"},
	"pkg/models/openai":          {"pkg/models/openai", "pkg/llm"},
	"pkg/models/ollama":          {"pkg/models/ollama", "pkg/llm"},
	"pkg/models/script":          {"pkg/models/script", "pkg/llm"},
	"pkg/models/cliagent":        {"pkg/models/cliagent", "pkg/llm"},
	"pkg/models/cliagent":        {"internal/system/rootfs", "pkg/llm", "pkg/workspace", "internal/work/process"},
	"pkg/flow/flowtest":          {"pkg/event", "pkg/flow"},
	"internal/dev/flowvet":       {},
	"internal/lsp":               {"pkg/tools", "pkg/workspace", "internal/work/process", "internal/system/rootfs"},
	"internal/turn":              {"pkg/tools"},
	"internal/mcp":               {"internal/system/rootfs", "internal/system/lock", "internal/turn", "pkg/llm", "internal/system/rootfs", "internal/turn", "pkg/guard/secret", "pkg/adroit", "pkg/guard/netguard", "pkg/tools", "pkg/workspace", "internal/work/process", "internal/system/rootfs"},
	// A surface: what it does is a call of adroit.Client.
	"pkg/cli/internal/acp":       {"pkg/jobs", "internal/system/rootfs", "internal/tools/control", "internal/turn", "pkg/adroit", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/tools"},
	"internal/host/backup":       {"internal/git/worktree", "internal/host/jobdir", "internal/system/rootfs", "internal/system/rootfs", "internal/system/rootfs", "pkg/jobs", "pkg/jobs/sqlite"},
	"internal/system/rootfs":     {"internal/system/lock", "internal/system/rootfs"},
	"pkg/jobs/sqlite":            {"internal/stored", "internal/system/lock", "internal/system/rootfs", "internal/system/lock", "pkg/event", "pkg/flow", "pkg/jobs", "internal/memory"},
	"internal/memory/memorytest": {"internal/memory"},
	"pkg/tools/toolstest":        {"pkg/event", "pkg/llm", "pkg/guard/netguard", "pkg/tools", "pkg/workspace", "internal/work/process"},
	"internal/tools/file":        {"internal/turn", "internal/system/rootfs", "internal/text/spelling", "internal/turn", "pkg/llm", "pkg/tools", "internal/tools/edit", "pkg/workspace"},
	"pkg/parts":                  {"internal/tools/", "pkg/tools", "pkg/tools/"},
	"pkg/jobs/jobstest":          {"pkg/event", "pkg/flow", "pkg/jobs", "pkg/llm"},

	"internal/tools/blog":               {"pkg/llm", "pkg/tools", "internal/tools/internal/fetch", "internal/tools/internal/outputs", "internal/tools/internal/outputs", "internal/tools/internal/markdown", "internal/tools/internal/site"},
	"internal/tools/podcast":            {"internal/system/rootfs", "internal/tools/podcast/transcript", "pkg/llm", "pkg/tools", "internal/tools/internal/fetch", "internal/tools/internal/outputs", "internal/tools/internal/outputs", "pkg/workspace", "internal/work/process"},
	"internal/tools/podcast/transcript": {},
	"internal/tools/docs":               {"pkg/tools", "internal/tools/internal/markdown"},
	"internal/tools/publish":            {"pkg/event", "pkg/tools", "internal/tools/internal/markdown", "internal/tools/internal/site"},
	"internal/tools/calendar":           {"pkg/tools", "internal/tools/internal/fetch"},
	"internal/tools/web":                {"pkg/tools", "internal/tools/internal/fetch", "internal/tools/internal/outputs", "internal/tools/internal/markdown", "internal/tools/internal/site"},
	"internal/tools/internal/fetch":     {"internal/system/rootfs"},
	"internal/tools/internal/outputs":   {},
	"internal/tools/internal/outputs":   {"pkg/workspace"},
	"internal/tools/internal/markdown":  {},
	"internal/tools/internal/site":      {"internal/tools/internal/markdown"},
	"internal/tools/control":            {"internal/memory", "pkg/tools"},

	"internal/turn": {"pkg/llm"},
	// Rooms of the runtime: each has a part of its work and takes what it needs as values.
	"internal/host":         {"internal/turn", "internal/git", "pkg/guard/permit", "internal/system/rootfs", "pkg/executor", "pkg/tools", "pkg/workspace"},
	"internal/host/doctor":  {"internal/git/worktree", "pkg/guard/permit", "pkg/tools", "internal/host/jobdir", "internal/lsp", "internal/system/rootfs", "internal/host/catalog", "internal/system/rootfs", "internal/tools/test", "internal/work/process", "internal/work/sandbox", "pkg/jobs", "pkg/guard/permit", "pkg/tools", "pkg/workspace"},
	"pkg/adroit":            {"pkg/event"},
	"pkg/adroit":            {"internal/turn", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm"},
	"pkg/adroit":            {"internal/coordinator", "internal/host", "internal/host/jobdir", "internal/tools/edit", "internal/work/ledger"},
	"internal/host/catalog": {"pkg/agents", "internal/host/jobdir", "internal/text/plainyaml", "internal/system/rootfs", "internal/turn", "internal/tools/test", "pkg/guard/trust", "pkg/workflows", "internal/system/rootfs", "pkg/agents", "pkg/tools", "pkg/workspace"},
	"internal/host/catalog": {"internal/system/rootfs", "pkg/agents", "internal/coordinator", "pkg/workflows/pipeline", "internal/host/catalog", "internal/host/catalog", "pkg/agents", "pkg/flow", "pkg/tools"},
	"internal/host/catalog": {"internal/system/rootfs", "pkg/agents", "internal/host/jobdir", "internal/turn", "internal/tools/control", "pkg/agents", "pkg/executor", "pkg/tools"},
	"internal/host/book":    {"internal/host", "internal/turn", "internal/git", "internal/host/jobdir", "pkg/agents", "pkg/event", "pkg/executor", "pkg/jobs", "pkg/tools", "pkg/workspace"},

	"internal/system/rootfs":   {"internal/system/lock", "internal/system/rootfs"},
	"internal/system/lock":     {},
	"internal/system/lock":     {"internal/system/unixonly"},
	"internal/system/unixonly": {},
	"pkg/agents":               {"pkg/agents"},

	"internal/problem":           {"pkg/jobs", "pkg/llm"},
	"pkg/tools":                  {},
	"pkg/flow":                   {},
	"pkg/flow":                   {},
	"internal/calling/extagent":  {"pkg/llm"},
	"configs":                    {},
	"internal/text/plainyaml":    {},
	"internal/system/rootfs":     {"internal/text/match", "internal/system/unixonly", "internal/work/sandbox"},
	"pkg/jobs":                   {},
	"internal/system/exhaustion": {},
	"internal/system/hostexec":   {"internal/system/unixonly"},
	"pkg/guard/permit":           {"internal/text/match", "internal/system/rootfs", "pkg/guard/permit"},
	"pkg/tools":                  {"pkg/tools"},
	"internal/calling/schema":    {},

	"internal/problem":          {"internal/system/unixonly"},
	"pkg/cli/internal/work":     {"internal/text/plainyaml"},
	"internal/problem":          {"internal/text/match"},
	"internal/text/match":       {},
	"pkg/cli/internal/proposal": {"internal/problem", "pkg/workflows/pipeline"},

	"internal/problem/failurestest": {"internal/problem", "internal/text/match"},

	"internal/coordinator": {"internal/stored", "internal/system/rootfs", "internal/turn", "pkg/agents", "internal/turn", "pkg/guard/permit", "pkg/agents", "internal/problem", "internal/text/plainyaml", "pkg/agents", "pkg/event", "pkg/executor", "pkg/flow", "pkg/tools", "internal/problem"},
	"internal/tools/shell": append([]string{"pkg/event", "internal/problem", "internal/text/spelling"}, pack...),

	"configs": {"internal/system/rootfs"},
	"internal/host/jobdir": {"internal/system/lock", "internal/turn", "internal/host", "internal/git/worktree", "internal/lsp", "internal/system/rootfs", "internal/work/", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm", "pkg/guard/netguard",
		"pkg/tools", "pkg/workspace"},
	"pkg/adroit":            {"internal/", "pkg/"},
	"pkg/api":               {"pkg/adroit", "pkg/event", "pkg/executor", "pkg/jobs", "internal/memory", "pkg/guard/trust", "internal/git/worktree", "pkg/workspace", "internal/work/ledger", "internal/work/process"},
	"pkg/adroit/adroittest": {"internal/", "pkg/"},
	"pkg/cli":               {"internal/", "pkg/", "configs"},

	"pkg/config/internal/provider": {"internal/text/match", "internal/system/rootfs", "internal/system/lock", "internal/llm/", "pkg/models/cliagent", "internal/calling/route", "internal/host", "internal/turn", "internal/calling/textcall", "pkg/adroit", "pkg/executor", "pkg/llm", "pkg/llm/", "pkg/workflows/pipeline"},

	"pkg/config": {"internal/text/plainyaml", "internal/system/rootfs", "pkg/agents", "internal/turn", "internal/llm/", "pkg/models/cliagent", "configs", "internal/coordinator", "internal/system/rootfs", "internal/mcp", "internal/turn", "pkg/jobs", "pkg/config/internal/provider", "internal/system/rootfs", "internal/tools/", "internal/work/process", "pkg/adroit", "pkg/agents", "pkg/executor", "pkg/flow", "internal/turn", "internal/hooks", "pkg/jobs", "pkg/llm", "pkg/llm/", "internal/lsp", "pkg/guard/netguard", "pkg/guard/permit", "pkg/workflows/pipeline", "pkg/jobs/sqlite", "pkg/tools", "pkg/tools/", "pkg/guard/trust", "pkg/workflows", "pkg/workspace", "internal/work/sandbox"},

	"pkg/cli/internal/kit":     {"internal/system/rootfs", "pkg/adroit", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/config", "pkg/llm", "pkg/tools", "pkg/cli/internal/kit"},
	"pkg/cli/internal/request": {"internal/system/rootfs", "pkg/adroit", "pkg/event", "pkg/executor", "pkg/jobs", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/cli/internal/show", "pkg/cli/internal/show"},
	"pkg/cli/internal/request": append([]string{"pkg/agents", "internal/turn", "pkg/executor", "pkg/agents", "pkg/tools", "pkg/guard/trust"}, command...),
	"pkg/cli/internal/chat":    append([]string{"internal/system/rootfs", "internal/system/rootfs", "pkg/cli/internal/show", "internal/turn", "pkg/executor", "pkg/flow", "pkg/guard/trust"}, command...),
	// A surface for other programs: over the client alone.
	"pkg/cli/internal/serve": {"internal/memory", "internal/turn", "pkg/adroit", "pkg/agents", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/tools", "pkg/cli/internal/kit", "pkg/cli/internal/show"},
	"pkg/api":                {"pkg/adroit"},
	// The screen alone may import what decodes keys.
	"pkg/cli/internal/chatscreen": {"pkg/cli/internal/chat", "pkg/cli/internal/kit", "pkg/cli/internal/kit"},
	"pkg/cli/internal/work":       append([]string{"pkg/workflows/pipeline", "pkg/agents", "pkg/executor"}, command...),
	"pkg/cli/internal/work":       {"internal/system/rootfs"},
	// Exceptions to what a command may import, which may only get fewer.
	"pkg/cli/internal/work":            append([]string{"internal/turn", "configs", "pkg/cli/internal/work", "pkg/cli/internal/work"}, command...),
	"pkg/cli/internal/machine":         {"internal/system/rootfs", "pkg/adroit", "pkg/guard/trust"},
	"pkg/cli/internal/machine":         append([]string{"internal/system/rootfs", "pkg/cli/internal/machine"}, command...),
	"pkg/cli/internal/jobcmd":          append([]string{"pkg/cli/internal/proposal", "pkg/cli/internal/machine"}, command...),
	"pkg/cli/internal/work":            append([]string{"configs", "pkg/cli/internal/work"}, command...),
	"pkg/cli/internal/work":            append([]string{"pkg/cli/internal/work", "internal/problem"}, command...),
	"pkg/cli/internal/work":            append([]string{"pkg/cli/internal/chat", "pkg/cli/internal/chatscreen"}, command...),
	"pkg/cli/internal/jobcmd":          append([]string{"internal/coordinator"}, command...),
	"pkg/cli/internal/work":            append([]string{"internal/git", "internal/system/hostexec", "internal/system/rootfs", "pkg/guard/trust", "internal/work/process", "pkg/workspace"}, command...),
	"pkg/cli/internal/work":            append([]string{"pkg/cli/internal/work", "internal/memory"}, command...),
	"pkg/cli/internal/jobcmd":          append([]string{"internal/host/backup", "pkg/cli/internal/kit", "pkg/jobs/sqlite"}, command...),
	"pkg/cli/internal/acp":             append([]string{"pkg/cli/internal/acp", "pkg/cli/internal/chat", "pkg/cli/internal/kit"}, command...),
	"pkg/cli/internal/jobcmd":          append([]string{"pkg/cli/internal/show", "pkg/cli/internal/show", "internal/git/worktree", "internal/work/ledger"}, command...),
	"pkg/cli/internal/define":          append([]string{"internal/system/rootfs", "pkg/agents"}, command...),
	"pkg/cli/internal/define":          append([]string{"configs", "pkg/workflows/pipeline"}, command...),
	"pkg/cli/internal/define":          append([]string{"internal/mcp", "pkg/cli/internal/serve", "pkg/executor"}, command...),
	"pkg/cli/internal/serve":           append([]string{"internal/system/rootfs", "pkg/api", "pkg/cli/internal/kit", "pkg/api", "pkg/cli/internal/serve"}, command...),
	"pkg/cli/internal/jobcmd":          append([]string{"internal/memory"}, command...),
	"pkg/cli/internal/machine":         append([]string{"internal/system/rootfs"}, command...),
	"pkg/cli/internal/define":          append([]string{"pkg/tools", "internal/system/rootfs", "pkg/executor", "pkg/tools"}, command...),
	"pkg/cli/internal/define/skeleton": {"pkg/tools"}, // imported by nobody: the text of adroit tools new
	"pkg/cli/internal/work":            append([]string{"pkg/executor"}, command...),

	"pkg/cli/internal/define": {"pkg/adroit", "pkg/agents", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/cli/internal/kit"},
	"pkg/cli/internal/kit":    {"pkg/jobs"},
	"pkg/cli/internal/kit":    {"internal/system/unixonly"},
	"internal/tools/control":  {"pkg/event", "pkg/tools"},
	// What is shown: format knows no value of the program, render those of the client, viewer the events as they come.
	"pkg/cli/internal/kit":  {"pkg/cli/internal/kit"},
	"pkg/cli/internal/show": {"pkg/agents", "pkg/agents", "internal/mcp", "internal/host/catalog", "internal/turn", "internal/tools/control", "pkg/adroit", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/guard/secret", "pkg/guard/trust", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm", "pkg/workflows/pipeline", "pkg/workspace", "internal/work/ledger"},
	"pkg/cli/internal/show": {"internal/turn", "internal/tools/control", "pkg/workflows/pipeline", "pkg/cli/internal/kit", "pkg/cli/internal/show", "pkg/cli/internal/kit", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm"},
	"pkg/cli/internal/show": {"internal/turn", "pkg/cli/internal/kit", "pkg/event", "pkg/jobs", "pkg/llm"},

	"cmd/adroit":  {"pkg/cli", "pkg/parts"},
	"cmd/flowvet": {"internal/dev/flowvet"},
}

// packs are the tool packages: one rule for all of them.
var pack = []string{"internal/turn", "internal/git", "pkg/tools", "pkg/workspace", "internal/work/process", "internal/system/rootfs"}

// command is what a folder of pkg/cli/cmd may import: it parses flags, calls,
// and renders one value.
var command = []string{"pkg/adroit", "pkg/event", "pkg/jobs", "pkg/llm", "pkg/config", "pkg/cli/internal/request", "pkg/cli/internal/define", "pkg/cli/internal/kit", "pkg/cli/internal/request", "pkg/cli/internal/kit", "pkg/cli/internal/kit", "pkg/cli/internal/show", "pkg/cli/internal/kit"}

// TestLayers prints every import that goes where it may not. Tests may import
// what they like: they are nobody's dependency.
func TestLayers(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(tooling, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			return nil
		}
		seen++
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if slices.Contains(deterministic, pkg) && slices.Contains(effects, imp) {
				t.Errorf("%s imports %s: the loop does no I/O; its handlers in internal/host do", name, imp)
			}
			if ours, ok := strings.CutPrefix(imp, module); ok && !allowed(pkg, ours) {
				t.Errorf("%s imports %s: the layers do not allow it", name, ours)
			} else if strings.HasPrefix(imp, "github.com/charmbracelet/") && path.Base(pkg) != "chatscreen" {
				t.Errorf("%s imports %s: only chatscreen may", name, imp)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Fatalf("looked at %d files only: is this the repository?", seen)
	}
}

// deterministic packages are replayed: what they do must follow from their
// arguments, so they may not import the effects.
var (
	deterministic = []string{"pkg/executor", "internal/turn", "internal/turn", "internal/turn", "internal/turn"}
	effects       = []string{"io/fs", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "syscall", module + "internal/system/hostexec"}
)

// tooling is what only tests and the Makefile use: it may import anything.
var tooling = []string{"internal/dev/apisnapshot/", "internal/dev/bench/", "internal/dev/", "internal/dev/dirtest/", "internal/dev/dist/", "internal/dev/reference/", "internal/dev/e2e/", "pkg/executor/criteriontest/", "internal/dev/lint/", "internal/dev/realrepo/", "internal/dev/testenv/", "internal/dev/workspacetest/"}

// leaves are packages of pure functions over text and JSON that every package may use, and
// the one way to start a program, and the one that knows what a host can run out of.
var leaves = []string{"internal/system/exhaustion", "internal/system/hostexec", "internal/problem", "pkg/tools", "pkg/flow", "pkg/flow", "internal/text/hint", "internal/text/jsontext", "internal/calling/extagent", "configs", "internal/memory", "internal/text/lazyregexp", "internal/problem", "internal/text/spelling", "pkg/guard/secret", "internal/calling/schema"}

func allowed(pkg, imp string) bool {
	if slices.Contains(leaves, imp) && imp != pkg && pkg != "pkg/event" && pkg != "pkg/llm" {
		return true
	}
	rule, listed := may[pkg]
	if !listed && (strings.HasPrefix(pkg, "pkg/tools/") || strings.HasPrefix(pkg, "internal/tools/")) {
		rule = pack
	}
	if !listed && strings.HasPrefix(pkg, "pkg/cli/internal/cmd/") {
		rule = command
	}
	return slices.ContainsFunc(rule, func(r string) bool {
		return imp == r || strings.HasSuffix(r, "/") && strings.HasPrefix(imp, r)
	})
}
