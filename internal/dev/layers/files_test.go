package layers

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// unordered are packages with files that need each other in a circle. In all others no
// file uses a declaration of a file that uses one of its own, however far around. A
// package may only be taken away.
var unordered = []string{
	"pkg/cli/internal/acp",
	"pkg/config",
	"internal/dev/flowvet",
	"internal/git/worktree",
	"pkg/models/cliagent",
	"pkg/models/ollama",
	"pkg/models/openai",
	"internal/calling/schema",
	"pkg/models/script",
	"internal/calling/textcall",
	"internal/lsp",
	"internal/mcp",
	"pkg/guard/permit",
	"pkg/config/internal/provider",
	"internal/system/rootfs",
	"internal/calling/schema",
	"internal/tools/edit",
	"internal/tools/github",
	"internal/tools/podcast",
	"internal/tools/publish",
	"internal/tools/test",
	"internal/tools/web",
	"internal/work/overlay",
	"pkg/cli/internal/chat",
	"pkg/cli/internal/serve",
	"pkg/cli/internal/show",
	"pkg/llm/llmtest",
}

// TestFileOrder fails where files of a package need each other in a circle: nobody
// could read one of them before the others. It reads the files of Linux on all platforms.
func TestFileOrder(t *testing.T) {
	list, err := packages.Load(&packages.Config{Dir: "../../..", Env: append(os.Environ(), "GOOS=linux"), Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	arrows, left := 0, slices.Clone(unordered)
	for _, p := range list {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		uses := fileUses(p)
		for _, file := range slices.Sorted(maps.Keys(uses)) {
			arrows += len(uses[file])
			if around := circle(uses, file); around != nil {
				if at := slices.Index(left, strings.TrimPrefix(p.PkgPath, module)); at >= 0 {
					left = slices.Delete(left, at, at+1)
					break
				}
				t.Errorf("%s: %s: move what a lower file needs down to it", p.PkgPath, strings.Join(around, " uses "))
				break
			}
		}
	}
	for _, path := range left {
		t.Errorf("the files of %s have an order: take it off the list", path)
	}
	if len(list) < 190 || arrows < 1300 {
		t.Errorf("found %d packages and %d uses: are these the files?", len(list), arrows)
	}
}

// fileUses has the files whose declarations each file of a package uses, and one name
// of each.
func fileUses(p *packages.Package) map[string]map[string]string {
	uses := map[string]map[string]string{}
	file := func(n interface{ Pos() token.Pos }) string { return filepath.Base(p.Fset.Position(n.Pos()).Filename) }
	for _, tree := range p.Syntax {
		from := file(tree)
		uses[from] = map[string]string{}
		ast.Inspect(tree, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := p.TypesInfo.Uses[id]
			if o == nil || o.Pkg() != p.Types || file(o) == from {
				return true
			}
			uses[from][file(o)] = o.Name()
			return true
		})
	}
	return uses
}

// circle returns a way from a file through its uses back to it, nil if there is none.
func circle(uses map[string]map[string]string, file string) []string {
	seen := map[string]bool{}
	var follow func(way []string, last string) []string
	follow = func(way []string, last string) []string {
		for _, to := range slices.Sorted(maps.Keys(uses[last])) {
			way := append(slices.Clip(way), uses[last][to]+" of "+to)
			if to == file {
				return way
			}
			if seen[to] {
				continue
			}
			seen[to] = true
			if around := follow(way, to); around != nil {
				return around
			}
		}
		return nil
	}
	return follow([]string{file}, file)
}
