package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goBlock is a block of Go on a page.
var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestGoPage: each snippet of docs/go.md is a part of an example of a package,
// which is compiled.
func TestGoPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "\n"); n > 130 {
		t.Errorf("docs/go.md has %d lines, at most 130 fit", n)
	}
	names, err := filepath.Glob("../../../pkg/*/example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples.WriteString("\n" + string(b))
	}
	blocks := goBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 8 {
		t.Fatalf("docs/go.md has %d snippets", len(blocks))
	}
	for _, m := range blocks {
		if !strings.Contains(examples.String(), "\n"+m[1]) {
			t.Errorf("no example has this snippet of docs/go.md:\n%s", m[1])
		}
	}
}
