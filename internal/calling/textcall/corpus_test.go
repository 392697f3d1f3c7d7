package textcall_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
)

// Texts of all sorts, taken for answers: none is a call of a tool that ships, and few raise a
// doubt. The corpus is at hand on a machine that builds Go: the project's own documents, which
// describe tools and calls, and the documents, code and data of Go's standard library, of which
// each run takes another eighth. Of all 17,893 none raised a doubt when this was written.
func TestOrdinaryText(t *testing.T) {
	var offered []llm.ToolSpec
	for _, tool := range parts.Tools() {
		offered = append(offered, llm.ToolSpec{Name: tool.Name, Input: tool.Input.JSON()})
	}
	root, err := exec.Command("go", "env", "GOROOT").Output() // the binary does not know it with -trimpath
	if err != nil {
		t.Skip(err)
	}
	part := rand.IntN(8)
	t.Logf("part %d", part)
	for _, c := range []struct {
		label, root string
		parts, most int // most is the number of doubts
	}{
		{"documents", "../../../docs", 1, 5},
		{"go", filepath.Join(strings.TrimSpace(string(root)), "src"), 8, 2},
	} {
		texts, doubts := 0, 0
		check := func(path, text string) {
			texts++
			f := textcall.Read(text, textcall.Options{Offered: offered})
			if len(f.Calls) > 0 {
				t.Errorf("%s: call of %s", path, f.Calls[0].Name)
			}
			if f.UnreadCall != "" {
				doubts++
				t.Logf("%s: %s", path, f.UnreadCall)
			}
		}
		err := filepath.WalkDir(c.root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch filepath.Ext(path) {
			case ".go", ".md", ".json", ".html", ".xml", ".js", ".yaml", ".txt", ".py", ".sh":
			default:
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil || len(b) > 64<<10 || c.parts > 1 && len(b)%c.parts != part {
				return err
			}
			text := string(b)
			check(path, text)
			if lang := strings.TrimPrefix(filepath.Ext(path), "."); lang != "md" {
				check(path+" in a fence", "Here is the file:\n\n```"+lang+"\n"+text+"\n```\n\nThat is all.")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d texts, %d doubts", c.label, texts, doubts)
		if texts < 40 || doubts > c.most {
			t.Errorf("%s: %d doubts in %d texts, want %d at most", c.label, doubts, texts, c.most)
		}
	}
}
