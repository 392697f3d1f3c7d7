package realrepo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/pkg/tools"
)

func do(ctx context.Context, t *testing.T, tool tools.Tool, env *tools.Env, in any) tools.Result {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Run(ctx, env, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUndoFifty makes fifty edits of every kind with the tools of every form
// and takes them back. Conformance 15, on a real tree.
func TestUndoFifty(t *testing.T) {
	dir := middle.repository(t)
	before := tree(t, dir)
	env, led := open(t, dir)
	var sources []string
	for name := range before {
		if strings.HasSuffix(name, ".go") {
			sources = append(sources, name)
		}
	}
	slices.Sort(sources)
	next := func() string {
		name := sources[0]
		sources = sources[1:]
		return name
	}
	done := 0
	for i := 0; done < 50 && len(sources) > 2; i++ {
		var r tools.Result
		switch i % 7 {
		case 0:
			r = do(t.Context(), t, edit.File, env, edit.Input{Path: sources[0], Old: "// limitations under the License.\n", New: fmt.Sprintf("// limitations under the License. Edit %d.\n", i)})
		case 1:
			r = do(t.Context(), t, partstest.Tool("write_file"), env, map[string]string{"path": fmt.Sprintf("new/d%d/f%d.txt", i%3, i), "content": "new\n"})
		case 2:
			r = do(t.Context(), t, edit.Patch, env, edit.PatchInput{Patch: fmt.Sprintf("*** Begin Patch\n*** Add File: p%d.txt\n+x\n*** Delete File: %s\n*** End Patch", i, next())})
		case 3:
			r = do(t.Context(), t, edit.Patch, env, edit.PatchInput{Patch: fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n*** Move to: moved/m%d.go\n@@\n-// limitations under the License.\n+// Moved.\n*** End Patch", next(), i)})
		case 4:
			r = do(t.Context(), t, edit.Blocks, env, edit.BlocksInput{Blocks: sources[1] + "\n<<<<<<< SEARCH\n// See the License for the specific language governing permissions and\n=======\n// See it.\n>>>>>>> REPLACE\n" +
				fmt.Sprintf("b%d.txt\n<<<<<<< SEARCH\n=======\nhi\n>>>>>>> REPLACE\n", i)})
		case 5:
			r = do(t.Context(), t, partstest.Tool("write_file"), env, map[string]string{"path": next(), "content": "package cobra\n"})
		case 6:
			r = do(t.Context(), t, partstest.Tool("write_file"), env, map[string]string{"path": fmt.Sprintf("p%d.txt", i-4), "content": "twice\n"})
		}
		if !r.Failed {
			done++
		}
	}
	if done < 50 {
		// The Go files ran out: the remaining changes are to one file.
		for i := 0; done < 50; i++ {
			r := do(t.Context(), t, partstest.Tool("write_file"), env, map[string]string{"path": "README.md", "content": fmt.Sprintf("# %d\n", i)})
			if r.Failed {
				t.Fatal(r.Text)
			}
			done++
		}
	}
	now := tree(t, dir)
	differ := 0
	for name, text := range now {
		if before[name] != text {
			differ++
		}
	}
	if differ < 20 {
		t.Fatalf("only %d files differ after %d edits", differ, done)
	}
	report, err := led.Undo(t.Context(), dir)
	if err != nil || len(report.Skipped) > 0 {
		t.Fatalf("undo: %+v, %v", report, err)
	}
	same(t, tree(t, dir), before)
	git(t, dir, "diff", "--exit-code", "HEAD")
}

// TestMain doubles as the process that TestKillAmidPatches kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ADROIT_TEST_PATCHES"); dir != "" {
		os.Exit(patches(dir))
	}
	os.Exit(m.Run())
}

const (
	killFiles = 3
	killLines = 4000 // so many that writing takes a moment
)

func page(version, n int) string {
	return strings.Repeat(fmt.Sprintf("version %d of file %d\n", version, n), killLines)
}

func pageName(n int) string { return filepath.Join("pages", fmt.Sprintf("f%d.txt", n)) }
