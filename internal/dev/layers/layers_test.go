// Package layers tests that the tree is as docs/dev/architecture.md describes it.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/adroit-run/adroit/"

// rooms are the folders at depth two, from the top: a room imports those below it.
var rooms = strings.Fields(`
	cmd/adroit
	pkg/temporal
	pkg/cli
	pkg/parts
	pkg/config
	internal/mcp
	pkg/api
	internal/triggers
	pkg/adroit
	internal/hooks
	internal/host
	pkg/workflows
	internal/builtin
	internal/lsp
	pkg/agents
	pkg/executor
	internal/turn
	pkg/models
	internal/git
	pkg/tools
	pkg/workspace
	internal/problem
	internal/work
	pkg/jobs
	internal/stored
	internal/calling
	internal/memory
	pkg/flow
	pkg/guard
	pkg/llm
	pkg/event
	configs
	internal/system
	internal/text
`)

// tooling lists packages that only developers run: they may import anything. Test kits (…test)
// may, too.
var tooling = []string{"internal/dev", "cmd/flowvet"}

// deterministic packages are replayed: their behaviour must follow from their arguments, so they
// may not import packages with effects.
var (
	deterministic = []string{"pkg/executor", "internal/turn"}
	effects       = []string{"io/fs", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "syscall", module + "internal/system/hostexec"}
)

// TestLayers prints every forbidden import. Tests may import anything: nobody depends on them.
func TestLayers(t *testing.T) {
	used := map[string]bool{}
	each(t, func(name string) {
		pkg := path.Dir(name)
		from := room(pkg)
		if slices.Contains(tooling, from) || isKit(pkg) {
			return
		}
		if !slices.Contains(rooms, from) {
			t.Errorf("%s lies in no room: put it into one of those in layers_test.go", name)
			return
		}
		used[from] = true
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(deterministic, pkg) && slices.Contains(effects, imp) {
				t.Errorf("%s imports %s: the loop does no I/O; its handlers in internal/host do", name, imp)
			}
			if strings.HasPrefix(imp, "github.com/charmbracelet/") && path.Base(pkg) != "chatscreen" {
				t.Errorf("%s imports %s: only chatscreen may", name, imp)
			}
			ours, own := strings.CutPrefix(imp, module)
			if part(pkg) != "" && part(ours) != "" && part(ours) != shared && part(pkg) != part(ours) {
				t.Errorf("%s imports %s: a part knows no other, and what they share knows none", name, ours)
			}
			if to := room(ours); own && to != from && slices.Index(rooms, to) <= slices.Index(rooms, from) {
				t.Errorf("%s imports %s: that room does not lie below %s", name, ours, from)
			}
		}
	})
	for _, r := range rooms {
		if !used[r] {
			t.Errorf("the room %s is empty", r)
		}
	}
}

// TestNames fails if two packages of the product have one name, or if a public and a private
// folder of the product do.
func TestNames(t *testing.T) {
	dirs := map[string]map[string]bool{}
	each(t, func(name string) {
		if dir := path.Dir(name); !slices.Contains(tooling, room(dir)) && !strings.HasPrefix(dir, "cmd/") {
			base := path.Base(dir)
			if dirs[base] == nil {
				dirs[base] = map[string]bool{}
			}
			dirs[base][dir] = true
		}
	})
	for _, base := range slices.Sorted(maps.Keys(dirs)) {
		if len(dirs[base]) > 1 {
			t.Errorf("%s are called the same", strings.Join(slices.Sorted(maps.Keys(dirs[base])), " and "))
		}
	}
}

const root = "../../.."

// each calls f with each file outside tests, by its path from the root.
func each(t *testing.T, f func(name string)) {
	seen := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		seen++
		f(name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 500 {
		t.Fatalf("looked at %d files only: is this the repository?", seen)
	}
}

func room(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// shared is the folder beside the parts with what several of them use.
const shared = "shared"

// part returns the part that a package belongs to, or "".
func part(dir string) string {
	below, _ := strings.CutPrefix(dir, "pkg/parts/internal/")
	name, _, _ := strings.Cut(below, "/")
	if below == dir {
		return ""
	}
	return name
}

// isKit reports whether a package supports tests of the package beside it.
func isKit(dir string) bool {
	return strings.HasSuffix(dir, "test") && path.Base(dir) != "test"
}
