package rootfs

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"

	"golang.org/x/text/unicode/norm"
)

// A name on an operator's list protects that name, in any directory, and everything below it, for
// file tools and for commands, whatever characters it has; a name that would protect nothing is
// refused.
func TestDeniedNamesMeanThemselves(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 27))
	for range 5000 {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			for range 1 + r.IntN(5) {
				parts[i] += string([]rune("abB[]{}{},,**?!^-.\\( ~$:'éÉńß한日\u0301")[r.IntN(32)])
			}
		}
		p := strings.Join(parts, "/")
		if CheckPattern(p) != nil {
			continue
		}
		n := &DenyList{Deny: []string{p}}
		c := NewClassifier(n)
		p = path.Clean(p)
		// As it is written: a name that path.Match accepts is denied, too.
		name := string([]rune("abz_[éÉ한\u0301]^~$")[r.IntN(12)])
		for _, whole := range []string{name, name + "b", "a" + name + "/b"} {
			if ok, _ := path.Match(p, whole); ok && strings.Count(p, "/") == strings.Count(whole, "/") && (!n.Denies(whole) || !c.Maybe(Fold(path.Base(whole))) || !c.Class(whole).Secret()) {
				t.Fatalf("seed %d: %q, a pattern, does not deny %q", seed, p, whole)
			}
		}
		for _, name := range []string{p, "z/" + p, "z/y/" + p, norm.NFD.String(p), norm.NFC.String(p), strings.ToUpper(norm.NFD.String(p))} {
			if !n.Denies(name) || !n.Denies(name+"/x") || n.Check(name, name, false) == nil {
				t.Fatalf("seed %d: %q does not deny %q", seed, p, name)
			}
			if !c.Maybe(Fold(name[strings.LastIndexByte(name, '/')+1:])) || !c.Class(name).Secret() {
				t.Fatalf("seed %d: %q is not covered in commands by %q", seed, name, p)
			}
		}
	}
	for _, p := range []string{"", ".", "..", "/a", "a/../b", "../a", "./", strings.Repeat("{a,b}", 8), `*\/b`, "a[/]b", "a/[^b/c]"} {
		if CheckPattern(p) == nil {
			t.Errorf("%q is taken", p)
		}
	}
	for _, p := range []string{"./a", "a/", "a//b", "**/a", "a/**"} {
		if CheckPattern(p) != nil || CheckAllowed(p) == nil {
			t.Errorf("%q: %v, allowed %v", p, CheckPattern(p), CheckAllowed(p))
		}
	}
	for _, p := range []string{"*.{a,b}", "é"} {
		if CheckPattern(p) != nil || CheckAllowed(p) == nil {
			t.Errorf("%q: %v, allowed %v", p, CheckPattern(p), CheckAllowed(p))
		}
	}
	if CheckPattern("k[z-a]") != nil || CheckAllowed("k[z-a]") == nil {
		t.Error("a name with a backward range may be denied, and not allowed")
	}
	for p, names := range map[string][2]string{ // denied and not, between spaces
		"k[9-0].dat":   {"k5.dat K9.dat k[9-0].dat", "kx.dat"},
		"*.{a,b}":      {"x.a x.B x.{a,b}", "x.c x.{a}"},
		"{a/b,c}/d":    {"a/b/d x/c/d {a/b,c}/d", "b/d a/d"},
		"x{1,{2,3}y}":  {"x1 x2y x3Y x{1,{2,3}y}", "x2 xy"},
		"{a}":          {"{a}", "a"},
		`\{a,b}`:       {"{a,b}", "a b"},
		"{,x}.k":       {"x.k {,x}.k", "y.k"},
		"geheim-ä.txt": {"geheim-ä.txt geheim-a\u0308.txt GEHEIM-Ä.TXT", "geheim.txt"},
		"한?.[éa]":      {"한국.é 한국.E\u0301 \u1112\u1161\u11ab국.a", "한국.b 한.a"},
		"a**b":         {"ab axb a**b", "ac"},
		"[ä-z]":        {"[ä-z] [a\u0308-z] [Ä-Z] [ä-z]/x ß {", "5"},
		"[à-ü]x":       {"àx çx òx [à-ü]x", "ýx"},
		"[^é]x":        {"ex zx E\u0300x [^é]x", "éx e\u0301x"},
		"[A-z]":        {"a Z _ ^", "1"},
		"??":           {"ab e\u0301 éa", "é abc"},
		"x?/[^é]x":     {"xy/ex xé/zx", "x/ax xy/éx"},
		"**/x/*.k":     {"x/a.k y/z/x/a.k", "x/a.j a.k x/y/a.k"},
		"gen/**/*.go":  {"gen/a.go gen/x/y/a.go z/gen/a.go", "gen/a.c a.go"},
		"gen/**":       {"gen gen/a z/gen/a/b", "agen"},
		"./keys/":      {"keys keys/a z/keys", "akeys"},
		"~":            {"~ ~/x", "a~"},
		"$HOME":        {"$HOME $home/x", "HOME"},
		"!x":           {"!x !X/y", "x"},
		`a\b`:          {`a\b ab`, "a"},
	} {
		n := &DenyList{Deny: []string{p}}
		for i, list := range names {
			for _, name := range strings.Fields(list) {
				c := NewClassifier(n)
				top := name // what of it is denied by itself
				for n.Denies(path.Dir(top)) {
					top = path.Dir(top)
				}
				if CheckPattern(p) != nil || n.Denies(name) != (i == 0) || c.Class(name).Secret() != (i == 0) || i == 0 && !c.Maybe(Fold(path.Base(top))) {
					t.Errorf("%q, %q: %v", p, name, n.Denies(name))
				}
			}
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
