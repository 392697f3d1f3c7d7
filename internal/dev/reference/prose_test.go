package reference

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A decision record is at most one page, and few enough are current to be read before a
// change of the core.
const (
	maxDecision = 600 // words
	maxCurrent  = 40
)

func TestDecisions(t *testing.T) {
	names := glob(t, "../../../docs/adr/*.md", "../../../docs/adr/archive/0*.md")
	index, err := os.ReadFile("../../../docs/adr/archive/README.md")
	if err != nil {
		t.Fatal(err)
	}
	current := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(string(b))); n > maxDecision {
			t.Errorf("%s has %d words, at most %d fit on a page", filepath.Base(name), n, maxDecision)
		}
		if filepath.Base(filepath.Dir(name)) != "archive" {
			current++
		} else if !strings.Contains(string(index), "]("+filepath.Base(name)+")") {
			t.Errorf("docs/adr/archive/README.md does not list %s", filepath.Base(name))
		}
	}
	if current < 20 || current > maxCurrent {
		t.Errorf("%d decisions are current, at most %d: move what only one part needs to docs/adr/archive", current, maxCurrent)
	}
}

// glob lists the files that match any of the patterns.
func glob(t *testing.T, patterns ...string) (names []string) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// TestLinks: a link to a file of the repository leads to one that exists.
func TestLinks(t *testing.T) {
	names := glob(t, "../../../*.md", "../../../docs/*.md", "../../../docs/*/*.md", "../../../docs/adr/archive/*.md")
	seen := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(b), ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.Scheme != "" || u.Path == "" || strings.ContainsAny(u.Path, "…{}") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), u.Path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", filepath.Base(name), m[1])
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d links seen", seen)
	}
}

// TestGlossary: terms are sorted, defined once, and their packages exist.
func TestGlossary(t *testing.T) {
	b, err := os.ReadFile("../../../docs/dev/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	term := regexp.MustCompile(`(?m)^\* \*\*(.+?)\*\*: .+$`)
	pkg := regexp.MustCompile("`((?:pkg|internal)/[a-z0-9/]+)`")
	last, seen := "", 0
	for _, m := range term.FindAllStringSubmatch(string(b), -1) {
		name := strings.ToLower(m[1])
		if name <= last {
			t.Errorf("%q is after %q", name, last)
		}
		last = name
		seen++
	}
	if seen < 60 || strings.Count(string(b), "\n**") > 0 {
		t.Errorf("%d terms; each is a line like * **term**: what it is. `pkg/name`.", seen)
	}
	for _, m := range pkg.FindAllStringSubmatch(string(b), -1) {
		if _, err := os.Stat(filepath.Join("../../..", m[1])); err != nil {
			t.Errorf("%s does not exist", m[1])
		}
	}
}
