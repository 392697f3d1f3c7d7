package reference

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestNewcomer checks that the files and tests named in docs/dev/newcomer.md exist.
func TestNewcomer(t *testing.T) {
	b, err := os.ReadFile("../../../docs/dev/newcomer.md")
	if err != nil {
		t.Fatal(err)
	}
	files, tests := map[string]bool{}, map[string]bool{}
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(b), -1) {
		for _, name := range regexp.MustCompile(`\b(?:pkg|internal|docs|cmd|configs)/[\w./]*\w`).FindAllString(span, -1) {
			files[name] = true
		}
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(span, -1) {
			tests[name] = true
		}
	}
	if len(files) < 10 || len(tests) < 8 {
		t.Fatalf("%d files and %d tests are named: is this the page?", len(files), len(tests))
	}
	for name := range files {
		if _, err := os.Stat(filepath.Join("../../..", name)); err != nil {
			t.Errorf("%s is named and is not there", name)
		}
	}
	if _, err := os.Stat("../../../.git"); err != nil {
		t.Skip("not a git checkout")
	}
	for name := range tests {
		cmd := exec.Command("git", "grep", "-l", "func "+name+"(", "--", "*_test.go")
		cmd.Dir = "../../.."
		if out, _ := cmd.Output(); len(out) == 0 { // nothing found is an error, too
			t.Errorf("%s is named and is not there", name)
		}
	}
}
