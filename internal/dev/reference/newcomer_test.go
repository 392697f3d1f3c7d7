package reference

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNewcomer walks the newcomer's test again: the files, tests and names that
// docs/newcomer.md leads to are there, and the first search finds what it found.
func TestNewcomer(t *testing.T) {
	b, err := os.ReadFile("../../../docs/newcomer.md")
	if err != nil {
		t.Fatal(err)
	}
	spans := regexp.MustCompile("`[^`\n]+`").FindAllString(string(b), -1)
	files, tests := map[string]bool{}, map[string]bool{}
	for _, span := range spans {
		for _, name := range regexp.MustCompile(`\b(?:pkg|internal|docs|cmd)/[\w./]+\.(?:go|md)\b`).FindAllString(span, -1) {
			files[name] = true
		}
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(span, -1) {
			tests[name] = true
		}
	}
	if len(files) < 5 || len(tests) < 3 {
		t.Fatalf("%d files and %d tests are named: is this the page?", len(files), len(tests))
	}
	for name := range files {
		if _, err := os.Stat(filepath.Join("../../..", name)); err != nil {
			t.Errorf("%s is named and is not there", name)
		}
	}
	grep := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"grep", "-i"}, args...)...)
		cmd.Dir = "../../.."
		out, _ := cmd.Output() // nothing found is an error, too
		return string(out)
	}
	if _, err := os.Stat("../../../.git"); err != nil {
		t.Skip("not a git checkout")
	}
	for name := range tests {
		if grep("-l", "func "+name+"(", "--", "internal/turn", "pkg/executor", "cmd/adroit", "internal/dev/reference") == "" {
			t.Errorf("%s is named and is not there", name)
		}
	}
	if first, _, _ := strings.Cut(grep("-l", "loop detect", "--", "internal/turn", "pkg"), "\n"); !strings.Contains(first, "loopdetect.go") {
		t.Errorf("the first line of git grep -i 'loop detect' does not lead to the code: %s", first)
	}
	if grep("-l", "var loopRules", "--", "internal/turn/loopdetect.go") == "" {
		t.Error("loopRules is not there")
	}
}
