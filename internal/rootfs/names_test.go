package rootfs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/testenv"
)

// A name on an operator's list protects that name, wherever it is, and what is below it, for file
// tools and for commands, whatever is in the name; one that would protect nothing is refused.
func TestDeniedNamesMeanThemselves(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 27))
	for range 20000 {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			for range 1 + r.IntN(5) {
				parts[i] += string("abB[]{}*?!^-,.\\( "[r.IntN(17)])
			}
		}
		p := strings.Join(parts, "/")
		if CheckPattern(p) != nil {
			continue
		}
		n := &DenyList{Deny: []string{p}}
		c := NewClassifier(n)
		for _, name := range []string{p, "z/" + p, "z/y/" + p} {
			if !n.Denies(name) || !n.Denies(name+"/x") || n.Check(name, name, false) == nil {
				t.Fatalf("seed %d: %q does not deny %q", seed, p, name)
			}
			if !c.Maybe(Fold(parts[len(parts)-1])) || !c.Class(name).Secret() {
				t.Fatalf("seed %d: %q is not covered in commands by %q", seed, name, p)
			}
		}
	}
	for _, p := range []string{"", ".", "..", "./a", "a/", "/a", "a//b", "a/../b", "../a", "**/a", "*.{a,b}"} {
		if CheckPattern(p) == nil {
			t.Errorf("%q is taken", p)
		}
	}
	if n := (&DenyList{Deny: []string{".env.example"}}); !n.Denies(".env.example") || CheckName(".env.example", ".env.example", false) != nil {
		t.Error(".env.example is open, and denied where the operator says so")
	}
}

// Each section of names.txt is one that is used, each pattern is one that can match,
// and no name is on two lists that contradict each other.
func TestNames(t *testing.T) {
	sections, kinds := parseNames(namesText)
	for _, s := range []string{"secret", "open", "start", "guarded", "asked"} {
		if len(sections[s]) == 0 {
			t.Errorf("no names in %s", s)
		}
		for _, p := range sections[s] {
			if err := CheckPattern(p); err != nil || Fold(p) != p && p != "git~1" {
				t.Errorf("%s in %s: folded %q, %v", p, s, Fold(p), err)
			}
			if s == "guarded" && slices.Contains(sections["asked"], p) {
				t.Errorf("%s is guarded and asked for", p)
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(sections[s])))) != len(sections[s]) {
			t.Errorf("a name is in %s twice", s)
		}
	}
	of := 0
	for _, k := range kinds {
		of += len(k.patterns)
	}
	if n := len(sections["guarded"]) + len(sections["asked"]); of != n {
		t.Errorf("%d of %d names that programs obey have a kind", of, n)
	}
	if len(sections) != 5 {
		t.Errorf("%d sections", len(sections))
	}
	for _, p := range []string{"crush.json", "opencode.jsonc", "a/.roo/rules.md", ".qwen/settings.json", ".amazonq/mcp.json", ".helix/languages.toml", "x.code-workspace", ".dir-locals.el", ".aider.conf.yml"} {
		if CheckName(p, p, true) == nil || CheckName(p, p, false) != nil {
			t.Errorf("%s may be written, or not read", p)
		}
		if what, _, guarded := Obeyed(p); what == "" || !guarded {
			t.Errorf("%s: %q, %t", p, what, guarded)
		}
	}
	for _, p := range []string{".devcontainer.json", "mise.toml", ".github/workflows/ci.yml"} {
		if !NeedsApproval(p) || CheckName(p, p, true) != nil {
			t.Errorf("%s is written unasked, or never", p)
		}
		if what, _, guarded := Obeyed(p); what == "" || guarded {
			t.Errorf("%s: %q, %t", p, what, guarded)
		}
	}
	if what, _, _ := Obeyed("src/main.go"); what != "" {
		t.Errorf("main.go %s", what)
	}
}
