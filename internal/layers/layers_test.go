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
	"pkg/event":       {},
	"pkg/llm":         {"internal/jsontext"},
	"pkg/flow":        {"pkg/event"},
	"pkg/permit":      {"internal/glob"},
	"pkg/netguard":    {},
	"internal/memory": {},
	"pkg/workspace":   {"internal/glob", "internal/rootfs", "internal/workspace/ledger", "internal/workspace/textfile"},
	"internal/secret": {},
	"pkg/secret":      {},
	"internal/trust":  {"internal/projectdir", "internal/rootfs", "internal/filelock", "internal/workspace/textfile"},
	"pkg/tools":       {"pkg/event", "pkg/llm", "pkg/workspace", "internal/workspace/process"},

	// The loop is deterministic: it has no way to its handlers, to files or to the network.
	"pkg/executor":                 {"internal/stored", "internal/executor/oldresult", "internal/permission", "internal/toolserver", "pkg/flow", "pkg/llm", "pkg/llm/price", "internal/llm/route", "internal/llm/schema", "pkg/permit", "pkg/tools", "internal/executor/compaction", "internal/executor/loopdetect", "internal/executor/stepio", "internal/executor/toolcall"},
	"internal/executor/compaction": {"pkg/llm", "pkg/tools"},
	"internal/executor/loopdetect": {"pkg/llm", "pkg/tools"},
	"internal/executor/stepio":     {"internal/executor/compaction", "internal/executor/toolcall", "internal/permission", "pkg/llm", "pkg/llm/price", "pkg/tools"},
	"internal/executor/toolcall":   {"pkg/llm", "internal/llm/schema", "internal/llm/textcall", "pkg/tools"},
	"internal/executor/oldresult":  {"internal/lazyregexp"},
	"internal/executor/handler": {"internal/glob", "internal/stored", "internal/workspace/process", "internal/rootfs", "internal/toolserver", "pkg/event", "pkg/executor", "internal/executor/compaction", "internal/executor/stepio", "internal/executor/toolcall", "pkg/flow", "pkg/llm", "internal/llm/route",
		"internal/permission", "pkg/permit", "pkg/tools"},
	"pkg/llm/price": {"internal/glob", "pkg/llm"},

	"pkg/agents":         {"internal/stored", "internal/plainyaml", "pkg/llm", "pkg/llm/price", "pkg/permit", "pkg/executor", "internal/executor/stepio", "internal/executor/toolcall", "pkg/tools", "pkg/flow"},
	"internal/agentfile": {"internal/workspace/textfile", "internal/permission", "internal/requirement", "internal/executor/compaction", "internal/executor/stepio", "internal/llm/route", "internal/definitions", "internal/toolserver", "internal/plainyaml", "pkg/agents", "pkg/event", "pkg/llm", "pkg/llm/price", "pkg/permit", "pkg/executor", "internal/executor/toolcall", "pkg/tools", "pkg/flow"},
	"internal/pipeline":  {"internal/stored", "internal/executor/oldresult", "internal/workspace/textfile", "internal/agentfile", "internal/permission", "internal/executor/stepio", "internal/coordinator", "internal/definitions", "internal/plainyaml", "pkg/agents", "pkg/event", "pkg/executor", "pkg/flow", "pkg/llm", "pkg/tools"},
	"internal/oplog":     {"pkg/event", "pkg/jobs"},
	"internal/hooks":     {"pkg/event", "pkg/jobs", "internal/executor/handler", "pkg/tools", "pkg/workspace", "internal/workspace/process"},
	"internal/workflows": {"internal/executor/oldresult", "internal/coordinator", "internal/executor/stepio", "pkg/agents", "pkg/executor", "pkg/flow", "pkg/llm", "pkg/tools"},
	"pkg/pipeline":       {"internal/pipeline"},
	"pkg/trust":          {"internal/trust"},
	"pkg/config":         {"internal/config", "pkg/adroit", "pkg/flow", "pkg/tools"},
	"pkg/sqlite":         {"internal/sqlite", "pkg/jobs"},
	"pkg/workflows":      {"internal/workflows", "pkg/flow"},
	"internal/stored":    {"pkg/flow"},
	"pkg/jobs":           {"internal/jobid", "internal/stored", "internal/owner", "pkg/event", "pkg/flow", "pkg/llm"},

	// The workspace's rooms, each above those it names.
	"internal/workspace/sandbox":  {"internal/rootfs"},
	"internal/workspace/textfile": {"internal/rootfs"},
	"internal/workspace/ledger":   {"internal/filelock", "internal/rootfs", "internal/workspace/textfile"},
	"internal/workspace/overlay":  {"internal/filelock", "internal/glob", "internal/rootfs", "internal/workspace/ledger", "internal/workspace/sandbox", "internal/workspace/textfile"},
	"internal/workspace/process":  {"internal/filelock", "internal/rootfs", "internal/workspace/ledger", "internal/workspace/overlay", "internal/workspace/sandbox", "internal/workspace/textfile"},
	"internal/git":                {"internal/rootfs", "pkg/workspace", "internal/workspace/process", "internal/workspace/textfile"},
	"internal/git/worktree":       {"internal/filelock", "internal/rootfs", "internal/git", "pkg/workspace", "internal/workspace/ledger", "internal/workspace/process", "internal/workspace/textfile"},
	"internal/llm/textcall":       {"pkg/llm"},
	"internal/llm/schema":         {},
	"internal/llm/route":          {"internal/glob", "pkg/llm"},
	"internal/llm/transport":      {"internal/llm/textcall", "pkg/llm"},
	"pkg/llm/llmtest":             {"pkg/llm"},
	"internal/llm/openai":         {"pkg/llm", "internal/llm/schema", "internal/llm/textcall", "internal/llm/transport"},
	"pkg/llm/anthropic":           {"pkg/llm", "internal/llm/schema", "internal/llm/transport"},
	"internal/llm/ollama":         {"pkg/llm", "internal/llm/schema", "internal/llm/textcall", "internal/llm/transport"},
	"internal/llm/script":         {"internal/plainyaml", "internal/rootfs", "pkg/llm"},
	"pkg/llm/openai":              {"internal/llm/openai", "pkg/llm"},
	"pkg/llm/ollama":              {"internal/llm/ollama", "pkg/llm"},
	"pkg/llm/script":              {"internal/llm/script", "pkg/llm"},
	"pkg/llm/cliagent":            {"internal/llm/cliagent", "pkg/llm"},
	"internal/llm/cliagent":       {"internal/rootfs", "pkg/llm", "pkg/workspace", "internal/workspace/process"},
	"pkg/flow/flowtest":           {"pkg/event", "pkg/flow"},
	"internal/flow/flowvet":       {},
	"internal/lsp":                {"pkg/tools", "pkg/workspace", "internal/workspace/process", "internal/rootfs"},
	"internal/toolserver":         {"pkg/tools"},
	"internal/mcp":                {"internal/rootfs", "internal/filelock", "internal/attachment", "pkg/llm", "internal/keyfile", "internal/toolserver", "internal/secret", "pkg/adroit", "pkg/netguard", "pkg/tools", "pkg/workspace", "internal/workspace/process", "internal/workspace/textfile"},
	// A surface: what it does is a call of adroit.Client.
	"internal/acp":               {"internal/jobid", "internal/rootfs", "internal/tools/todo", "internal/executor/stepio", "pkg/adroit", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/tools"},
	"internal/backup":            {"internal/git/worktree", "internal/jobdir", "internal/keyfile", "internal/rootfs", "internal/scratch", "pkg/jobs", "internal/sqlite"},
	"internal/scratch":           {"internal/filelock", "internal/rootfs"},
	"internal/sqlite":            {"internal/stored", "internal/filelock", "internal/rootfs", "internal/owner", "pkg/event", "pkg/flow", "pkg/jobs", "internal/memory"},
	"internal/memory/memorytest": {"internal/memory"},
	"pkg/tools/toolstest":        {"pkg/event", "pkg/llm", "pkg/netguard", "pkg/tools", "pkg/workspace", "internal/workspace/process"},
	"internal/tools/file":        {"internal/executor/stepio", "internal/rootfs", "internal/spelling", "internal/attachment", "pkg/llm", "pkg/tools", "internal/tools/edit", "pkg/workspace"},
	"pkg/tools/std":              {"internal/tools/", "pkg/tools", "pkg/tools/"},
	"pkg/jobs/jobstest":          {"pkg/event", "pkg/flow", "pkg/jobs", "pkg/llm"},

	"internal/tools/blog":               {"pkg/llm", "pkg/tools", "internal/tools/internal/fetch", "internal/tools/internal/figures", "internal/tools/internal/outputs", "internal/tools/internal/markdown", "internal/tools/internal/site"},
	"internal/tools/podcast":            {"internal/rootfs", "internal/tools/podcast/transcript", "pkg/llm", "pkg/tools", "internal/tools/internal/fetch", "internal/tools/internal/figures", "internal/tools/internal/outputs", "pkg/workspace", "internal/workspace/process"},
	"internal/tools/podcast/transcript": {},
	"internal/tools/docs":               {"pkg/tools", "internal/tools/internal/markdown"},
	"internal/tools/publish":            {"pkg/event", "pkg/tools", "internal/tools/internal/markdown", "internal/tools/internal/site"},
	"internal/tools/calendar":           {"pkg/tools", "internal/tools/internal/fetch"},
	"internal/tools/web":                {"pkg/tools", "internal/tools/internal/fetch", "internal/tools/internal/figures", "internal/tools/internal/markdown", "internal/tools/internal/site"},
	"internal/tools/internal/fetch":     {"internal/rootfs"},
	"internal/tools/internal/figures":   {},
	"internal/tools/internal/outputs":   {"pkg/workspace"},
	"internal/tools/internal/markdown":  {},
	"internal/tools/internal/site":      {"internal/tools/internal/markdown"},
	"internal/tools/memory":             {"internal/memory", "pkg/tools"},

	"internal/attachment": {"pkg/llm"},
	// Rooms of the runtime: each has a part of its work and takes what it needs as values.
	"internal/attachment/reader":   {"internal/attachment", "internal/git", "internal/permission", "internal/rootfs", "pkg/executor", "pkg/tools", "pkg/workspace"},
	"internal/doctor":              {"internal/git/worktree", "internal/permission", "internal/requirement", "internal/jobdir", "internal/lsp", "internal/scratch", "internal/project", "internal/rootfs", "internal/tools/test", "internal/workspace/process", "internal/workspace/sandbox", "pkg/jobs", "pkg/permit", "pkg/tools", "pkg/workspace"},
	"internal/live":                {"pkg/event"},
	"internal/transcript":          {"internal/executor/stepio", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm"},
	"internal/coordinator/repairs": {"internal/coordinator", "internal/executor/handler", "internal/jobdir", "internal/tools/edit", "internal/workspace/ledger"},
	"internal/project":             {"internal/agentfile", "internal/jobdir", "internal/plainyaml", "internal/rootfs", "internal/toolserver", "internal/tools/test", "internal/trust", "internal/workflows", "internal/workspace/textfile", "pkg/agents", "pkg/tools", "pkg/workspace"},
	"internal/catalog":             {"internal/rootfs", "internal/agentfile", "internal/coordinator", "internal/pipeline", "internal/project", "internal/toolserver/offer", "pkg/agents", "pkg/flow", "pkg/tools"},
	"internal/toolserver/offer":    {"internal/rootfs", "internal/agentfile", "internal/jobdir", "internal/toolserver", "internal/tools/describe", "pkg/agents", "pkg/executor", "pkg/tools"},
	"internal/memory/book":         {"internal/executor/handler", "internal/executor/stepio", "internal/git", "internal/jobdir", "pkg/agents", "pkg/event", "pkg/executor", "pkg/jobs", "pkg/tools", "pkg/workspace"},

	"internal/keyfile":     {"internal/filelock", "internal/rootfs"},
	"internal/owner":       {},
	"internal/filelock":    {"internal/unixonly"},
	"internal/unixonly":    {},
	"internal/definitions": {"pkg/agents"},

	"internal/apierr":        {"pkg/jobs", "pkg/llm"},
	"internal/artifactname":  {},
	"internal/flow/stepid":   {},
	"internal/flow/stepkind": {},
	"internal/llm/extagent":  {"pkg/llm"},
	"internal/projectdir":    {},
	"internal/plainyaml":     {},
	"internal/rootfs":        {"internal/glob", "internal/unixonly", "internal/workspace/sandbox"},
	"internal/jobid":         {},
	"internal/exhaustion":    {},
	"internal/hostexec":      {"internal/unixonly"},
	"internal/permission":    {"internal/glob", "internal/rootfs", "pkg/permit"},
	"internal/requirement":   {"pkg/tools"},
	"internal/schema":        {},

	"internal/problem/probe": {"internal/unixonly"},
	"internal/phases":        {"internal/plainyaml"},
	"internal/failures":      {"internal/fulltext"},
	"internal/fulltext":      {},
	"internal/proposal":      {"internal/failures", "internal/pipeline"},

	"internal/failures/failurestest": {"internal/failures", "internal/fulltext"},

	"internal/coordinator": {"internal/stored", "internal/workspace/textfile", "internal/executor/oldresult", "internal/agentfile", "internal/executor/stepio", "internal/permission", "internal/definitions", "internal/failures", "internal/plainyaml", "pkg/agents", "pkg/event", "pkg/executor", "pkg/flow", "pkg/tools", "internal/problem/probe"},
	"internal/tools/shell": append([]string{"pkg/event", "internal/problem/probe", "internal/spelling"}, pack...),

	"configs": {"internal/rootfs"},
	"internal/jobdir": {"internal/filelock", "internal/executor/stepio", "internal/executor/handler", "internal/git/worktree", "internal/lsp", "internal/rootfs", "internal/workspace/", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm", "pkg/netguard",
		"pkg/tools", "pkg/workspace"},
	"pkg/adroit":            {"internal/", "pkg/"},
	"pkg/api":               {"pkg/adroit", "pkg/event", "pkg/executor", "pkg/jobs", "internal/memory", "internal/trust", "internal/git/worktree", "pkg/workspace", "internal/workspace/ledger", "internal/workspace/process"},
	"pkg/adroit/adroittest": {"internal/", "pkg/"},
	"pkg/cli":               {"internal/", "pkg/", "configs"},

	"internal/provider": {"internal/glob", "internal/rootfs", "internal/filelock", "internal/llm/", "internal/llm/cliagent", "internal/llm/route", "internal/executor/handler", "internal/executor/toolcall", "internal/llm/textcall", "pkg/adroit", "pkg/executor", "pkg/llm", "pkg/llm/", "internal/pipeline"},

	"internal/config": {"internal/plainyaml", "internal/workspace/textfile", "internal/agentfile", "internal/executor/compaction", "internal/llm/", "internal/llm/cliagent", "configs", "internal/coordinator", "internal/keyfile", "internal/mcp", "internal/toolserver", "internal/oplog", "internal/provider", "internal/rootfs", "internal/tools/", "internal/workspace/process", "pkg/adroit", "pkg/agents", "pkg/executor", "pkg/flow", "internal/executor/toolcall", "internal/hooks", "pkg/jobs", "pkg/llm", "pkg/llm/", "internal/lsp", "pkg/netguard", "pkg/permit", "internal/pipeline", "internal/sqlite", "pkg/tools", "pkg/tools/", "internal/trust", "internal/workflows", "pkg/workspace", "internal/workspace/sandbox"},

	"pkg/cli/internal/env":     {"internal/workspace/textfile", "pkg/adroit", "pkg/cli/internal/exit", "pkg/cli/internal/term", "internal/config", "pkg/llm", "pkg/tools", "pkg/cli/internal/format"},
	"pkg/cli/internal/attach":  {"internal/rootfs", "pkg/adroit", "pkg/event", "pkg/executor", "pkg/jobs", "pkg/cli/internal/env", "pkg/cli/internal/exit", "pkg/cli/internal/term", "pkg/cli/internal/format", "pkg/cli/internal/render", "pkg/cli/internal/viewer"},
	"pkg/cli/internal/request": append([]string{"internal/agentfile", "internal/attachment", "pkg/executor", "pkg/agents", "pkg/tools", "internal/trust"}, command...),
	"pkg/cli/internal/chat":    append([]string{"internal/rootfs", "internal/workspace/textfile", "pkg/cli/internal/viewer", "internal/executor/stepio", "pkg/executor", "pkg/flow", "internal/trust"}, command...),
	// A surface for other programs: over the client alone.
	"pkg/cli/internal/mcpserver": {"internal/memory", "internal/executor/stepio", "pkg/adroit", "pkg/agents", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/tools", "pkg/cli/internal/format", "pkg/cli/internal/render"},
	"pkg/cli/internal/listen":    {"pkg/adroit"},
	// The screen alone may import what decodes keys.
	"pkg/cli/internal/chatscreen": {"pkg/cli/internal/chat", "pkg/cli/internal/term", "pkg/cli/internal/format"},
	"pkg/cli/internal/contend":    append([]string{"internal/pipeline", "pkg/agents", "pkg/executor"}, command...),
	"pkg/cli/internal/sample":     {"internal/rootfs"},
	// Exceptions to what a command may import, which may only get fewer.
	"pkg/cli/internal/cmd/bench":          append([]string{"internal/executor/stepio", "configs", "pkg/cli/internal/contend", "pkg/cli/internal/sample"}, command...),
	"pkg/cli/internal/draft":              {"internal/rootfs", "pkg/adroit", "internal/trust"},
	"pkg/cli/internal/cmd/setup":          append([]string{"internal/rootfs", "pkg/cli/internal/draft"}, command...),
	"pkg/cli/internal/cmd/failures":       append([]string{"internal/proposal", "pkg/cli/internal/draft"}, command...),
	"pkg/cli/internal/cmd/demo":           append([]string{"configs", "pkg/cli/internal/sample"}, command...),
	"pkg/cli/internal/cmd/fix":            append([]string{"internal/phases", "internal/problem/probe"}, command...),
	"pkg/cli/internal/cmd/chat":           append([]string{"pkg/cli/internal/chat", "pkg/cli/internal/chatscreen"}, command...),
	"pkg/cli/internal/cmd/stats":          append([]string{"internal/coordinator"}, command...),
	"pkg/cli/internal/cmd/commit":         append([]string{"internal/git", "internal/hostexec", "internal/rootfs", "internal/trust", "internal/workspace/process", "pkg/workspace"}, command...),
	"pkg/cli/internal/cmd/compare":        append([]string{"pkg/cli/internal/contend", "internal/memory"}, command...),
	"pkg/cli/internal/cmd/backup":         append([]string{"internal/backup", "pkg/cli/internal/cmd/version", "internal/sqlite"}, command...),
	"pkg/cli/internal/cmd/acp":            append([]string{"internal/acp", "pkg/cli/internal/chat", "pkg/cli/internal/cmd/version"}, command...),
	"pkg/cli/internal/cmd/jobs":           append([]string{"pkg/cli/internal/graph", "pkg/cli/internal/viewer", "internal/git/worktree", "internal/workspace/ledger"}, command...),
	"pkg/cli/internal/cmd/agents":         append([]string{"internal/rootfs", "internal/agentfile"}, command...),
	"pkg/cli/internal/cmd/pipelines":      append([]string{"configs", "internal/pipeline"}, command...),
	"pkg/cli/internal/cmd/mcp":            append([]string{"internal/mcp", "pkg/cli/internal/cmd/serve", "pkg/executor"}, command...),
	"pkg/cli/internal/cmd/serve":          append([]string{"internal/keyfile", "pkg/api", "pkg/cli/internal/cmd/version", "pkg/cli/internal/listen", "pkg/cli/internal/mcpserver"}, command...),
	"pkg/cli/internal/cmd/memory":         append([]string{"internal/memory"}, command...),
	"pkg/cli/internal/cmd/config":         append([]string{"internal/rootfs"}, command...),
	"pkg/cli/internal/cmd/tools":          append([]string{"internal/requirement", "internal/rootfs", "pkg/executor", "pkg/tools"}, command...),
	"pkg/cli/internal/cmd/tools/skeleton": {"pkg/tools"}, // imported by nobody: the text of adroit tools new
	"pkg/cli/internal/cmd/talk":           append([]string{"pkg/executor"}, command...),

	"pkg/cli/internal/catalog": {"pkg/adroit", "pkg/agents", "pkg/cli/internal/env", "pkg/cli/internal/exit", "pkg/cli/internal/format"},
	"pkg/cli/internal/exit":    {"pkg/jobs"},
	"pkg/cli/internal/term":    {"internal/unixonly"},
	"internal/tools/todo":      {"pkg/event", "pkg/tools"},
	// What is shown: format knows no value of the program, render those of the client, viewer the events as they come.
	"pkg/cli/internal/format": {"pkg/cli/internal/term"},
	"pkg/cli/internal/render": {"internal/agentfile", "pkg/agents", "internal/mcp", "internal/project", "internal/executor/stepio", "internal/tools/todo", "pkg/adroit", "pkg/cli/internal/format", "pkg/cli/internal/term", "internal/secret", "internal/trust", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm", "internal/pipeline", "pkg/workspace", "internal/workspace/ledger"},
	"pkg/cli/internal/viewer": {"internal/executor/stepio", "internal/tools/todo", "internal/pipeline", "pkg/cli/internal/format", "pkg/cli/internal/render", "pkg/cli/internal/term", "pkg/event", "pkg/executor", "pkg/flow", "pkg/jobs", "pkg/llm"},
	"pkg/cli/internal/graph":  {"internal/executor/stepio", "pkg/cli/internal/format", "pkg/event", "pkg/jobs", "pkg/llm"},

	"cmd/adroit":  {"pkg/cli", "pkg/tools/std"},
	"cmd/flowvet": {"internal/flow/flowvet"},
}

// packs are the tool packages: one rule for all of them.
var pack = []string{"internal/executor/stepio", "internal/git", "pkg/tools", "pkg/workspace", "internal/workspace/process", "internal/workspace/textfile"}

// command is what a folder of pkg/cli/cmd may import: it parses flags, calls,
// and renders one value.
var command = []string{"pkg/adroit", "pkg/event", "pkg/jobs", "pkg/llm", "internal/config", "pkg/cli/internal/attach", "pkg/cli/internal/catalog", "pkg/cli/internal/env", "pkg/cli/internal/request", "pkg/cli/internal/exit", "pkg/cli/internal/format", "pkg/cli/internal/render", "pkg/cli/internal/term"}

// TestLayers prints every import that goes where it may not. Tests may import
// what they like: they are nobody's dependency.
func TestLayers(t *testing.T) {
	root, err := filepath.Abs("../..")
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
				t.Errorf("%s imports %s: the loop does no I/O; its handlers in internal/executor/handler do", name, imp)
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
	deterministic = []string{"pkg/executor", "internal/executor/compaction", "internal/executor/loopdetect", "internal/executor/stepio", "internal/executor/toolcall"}
	effects       = []string{"io/fs", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "syscall", module + "internal/hostexec"}
)

// tooling is what only tests and the Makefile use: it may import anything.
var tooling = []string{"internal/api/", "internal/bench/", "internal/dev/", "internal/dirtest/", "internal/dist/", "internal/docs/", "internal/e2e/", "internal/executor/criteriontest/", "internal/lint/", "internal/realrepo/", "internal/testenv/", "internal/workspacetest/"}

// leaves are packages of pure functions over text and JSON that every package may use, and
// the one way to start a program, and the one that knows what a host can run out of.
var leaves = []string{"internal/exhaustion", "internal/hostexec", "internal/apierr", "internal/artifactname", "internal/flow/stepid", "internal/flow/stepkind", "internal/hint", "internal/jsontext", "internal/llm/extagent", "internal/projectdir", "internal/memory", "internal/lazyregexp", "internal/problem", "internal/spelling", "internal/secret", "internal/schema"}

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
