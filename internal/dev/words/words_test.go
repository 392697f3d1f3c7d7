// Package words contains the test that keeps private words out of the tree: words.txt lists them
// with the field's terms.
package words

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "lower the counts in allowed.txt to what is there")

// skipped are quotations: decisions and history use the old names, and recordings are other
// people's bytes.
var skipped = []string{"docs/adr/", "CHANGELOG.md", "internal/dev/words/", "docs/dev/glossary.md"}

// TestWords fails where a directory has more of a private word than allowed.txt
// grants it. The counts there may only fall.
func TestWords(t *testing.T) {
	replace := list(t, "words.txt")
	allowed := list(t, "allowed.txt")
	counts, where := count(t, "../../..", replace)
	over := 0
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		limit := 0
		fmt.Sscan(allowed[k], &limit)
		if counts[k] <= limit {
			continue
		}
		over++
		dir, word, _ := strings.Cut(k, ":")
		if !*update {
			t.Errorf("%s has %q %d times, %d allowed; write %s: %s", dir, word, counts[k], limit, replace[word], strings.Join(where[k], " "))
		}
	}
	if !*update {
		return
	}
	var b bytes.Buffer
	b.WriteString("# How often a directory still has a private word. Written by -update; only ever lower it.\n")
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s %d\n", k, counts[k])
	}
	if err := os.WriteFile("allowed.txt", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d counts rose", over)
}

// TestCount: words are found in identifiers, names of files and prose, and only whole.
func TestCount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pkg/a/vigil.go": "package a\n\nvar theVigilPath, vigilant, VIGIL_2 = 1, 2, 3 // a vigil's end\n",
		"docs/x.md":      "Twins are told apart by `theTwin`.\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := count(t, dir, map[string]string{"vigil": "", "twin": "", "told": ""})
	want := map[string]int{"pkg/a:vigil": 4, "docs:twin": 1, "docs:told": 1}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// list reads lines of a key and the rest of the line.
func list(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	if os.IsNotExist(err) && *update {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if key, rest, _ := strings.Cut(sc.Text(), " "); key != "" && key != "#" {
			out[key] = strings.TrimSpace(rest)
		}
	}
	return out
}

var text = regexp.MustCompile(`[\pL\pN]+`)

// count returns how often each directory has each word, by "dir:word", and the
// first places.
func count(t *testing.T, root string, words map[string]string) (map[string]int, map[string][]string) {
	t.Helper()
	counts, where := map[string]int{}, map[string][]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == "node_modules" || name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		ours := slices.Contains([]string{".go", ".md", ".txt", ".yaml"}, path.Ext(name))
		if !ours || slices.ContainsFunc(skipped, func(s string) bool { return strings.HasPrefix(name, s) }) {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		lines := append([]string{path.Base(name)}, strings.Split(string(b), "\n")...)
		for i, line := range lines {
			for _, token := range text.FindAllString(line, -1) {
				for _, w := range parts(token) {
					if _, private := words[w]; !private {
						continue
					}
					k := path.Dir(name) + ":" + w
					counts[k]++
					if len(where[k]) < 5 {
						where[k] = append(where[k], fmt.Sprintf("%s:%d", path.Base(name), i))
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts, where
}

// parts cuts camel case into lower-case words.
func parts(token string) (out []string) {
	runes := []rune(token)
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
			out = append(out, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return out
}
