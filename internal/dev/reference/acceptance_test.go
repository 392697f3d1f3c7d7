package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProofsExist wants every test and script that a page names as the proof of a
// line.
func TestProofsExist(t *testing.T) {
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?((?:Test|Fuzz|Benchmark|Example|test)[A-Z]\w*)`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "adroittest") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(b, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*|test[A-Z]\\w*)")
	scripts := regexp.MustCompile("\\b[Ss]cripts? ((?:`[a-z_/]+`(?:, | and )?)+)")
	for page, least := range map[string]int{"acceptance": 100, "users-want": 40, "conformance": 200} {
		b, err := os.ReadFile("../../../docs/dev/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, m := range named.FindAllSubmatch(b, -1) {
			if found++; !there[string(m[1])] {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
		for _, m := range scripts.FindAllSubmatch(b, -1) {
			for _, name := range regexp.MustCompile("[a-z_/]+").FindAllString(strings.ReplaceAll(string(m[1]), " and ", ""), -1) {
				if _, err := os.Stat("../../../cmd/adroit/testdata/" + name + ".txt"); err != nil {
					t.Errorf("%s names the script %s, which is not there", page, name)
				}
				found++
			}
		}
		if found < least {
			t.Errorf("%s names %d proofs, want %d: is this the page?", page, found, least)
		}
	}
}
