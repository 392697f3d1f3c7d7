package reference

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxDecision is how many words a decision record may have: one page.
const maxDecision = 600

func TestDecisionsFitOnAPage(t *testing.T) {
	names, err := filepath.Glob("../../../docs/adr/*.md")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d decision records, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(string(b))); n > maxDecision {
			t.Errorf("%s has %d words, at most %d fit on a page", filepath.Base(name), n, maxDecision)
		}
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// TestLinks: a link to a file of the repository leads to one that exists.
func TestLinks(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../../../*.md", "../../../docs/*.md", "../../../docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
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
	b, err := os.ReadFile("../../../docs/glossary.md")
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
