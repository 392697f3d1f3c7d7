package edit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

const cartDiff = "diff --git a/cart.go b/cart.go\n--- a/cart.go\n+++ b/cart.go\n@@ -1,3 +1,3 @@\n package cart\n \n-var total = c\n+var total = b\n" +
	"diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n" +
	"diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"

// A recorded change is made whole, also where lines above it were added since, or
// not at all; Fits knows it before and changes nothing.
func TestReplay(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		diff  string
		fault string // empty: it is made
	}{
		"as it was":               {files: map[string]string{}},
		"further down":            {files: map[string]string{"cart.go": "// new\n// lines\npackage cart\n\nvar total = c\n"}},
		"other blanks":            {files: map[string]string{"cart.go": "package cart\n\nvar  total = c\n"}, fault: "cart.go"},
		"other indentation":       {files: map[string]string{"cart.go": "package cart\n\n\tvar total = c\n"}, fault: "cart.go"},
		"the place is gone":       {files: map[string]string{"cart.go": "package cart\n"}, fault: "cart.go"},
		"made already":            {files: map[string]string{"cart.go": "package cart\n\nvar total = b\n"}, fault: "cart.go"},
		"two places":              {files: map[string]string{"cart.go": "//\npackage cart\n\nvar total = c\npackage cart\n\nvar total = c\n"}, fault: "cart.go"},
		"the new file is there":   {files: map[string]string{"new.txt": "mine\n"}, fault: "new.txt"},
		"the old file is other":   {files: map[string]string{"old.txt": "mine\n"}, fault: "old.txt"},
		"the old file is gone":    {files: map[string]string{"old.txt": ""}, fault: "old.txt"},
		"out of the workspace":    {files: map[string]string{}, diff: strings.ReplaceAll(cartDiff, "new.txt", "../new.txt"), fault: "new.txt"},
		"not shown by the ledger": {files: map[string]string{}, diff: "diff --git a/.env b/.env\n# not shown: on the list of secrets and repository internals\n", fault: "not shown"},
		"binary":                  {files: map[string]string{}, diff: "diff --git a/x b/x\nBinary files a/x and b/x differ\n", fault: "Binary"},
		"no diff":                 {files: map[string]string{}, diff: "words", fault: "***"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			all := map[string]string{"cart.go": "package cart\n\nvar total = c\n", "old.txt": "old\n"}
			for f, text := range tt.files {
				all[f] = text
			}
			for f, text := range all {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if tt.diff == "" {
				tt.diff = cartDiff
			}
			files, err := workspace.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			fits := edit.Fits(files, tt.diff)
			if (fits == nil) != (tt.fault == "") {
				t.Errorf("Fits: %v", fits)
			}
			for f, text := range all {
				if b, _ := os.ReadFile(filepath.Join(dir, f)); string(b) != text {
					t.Errorf("Fits made %s %q", f, b)
				}
			}
			args, _ := json.Marshal(edit.ReplayInput{Diff: tt.diff})
			res, err := edit.Replay.Run(t.Context(), &tools.Env{Files: files}, args)
			if tt.fault != "" {
				if err == nil && !res.Failed || !strings.Contains(res.Text, tt.fault) {
					t.Errorf("made it: %+v, %v; want a fault with %q", res, err, tt.fault)
				}
				for f, text := range all {
					if b, _ := os.ReadFile(filepath.Join(dir, f)); string(b) != text {
						t.Errorf("a refused change made %s %q", f, b)
					}
				}
				return
			}
			cart, _ := os.ReadFile(filepath.Join(dir, "cart.go"))
			created, _ := os.ReadFile(filepath.Join(dir, "new.txt"))
			_, gone := os.Stat(filepath.Join(dir, "old.txt"))
			if err != nil || res.Failed || !strings.HasSuffix(string(cart), "var total = b\n") || string(created) != "new\n" || gone == nil {
				t.Errorf("%+v, %v: cart.go is %q, new.txt %q, old.txt %v", res, err, cart, created, gone)
			}
		})
	}
}
