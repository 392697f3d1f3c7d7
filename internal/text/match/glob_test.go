package match

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/bmatcuk/doublestar/v4"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"app/[id]/**", "app/[id]/page.tsx", true},
		{"app/[id]/**", "app/i/page.tsx", true},
		{"app/[id]/**", "app/x/page.tsx", false},
		{"app/[...slug]/*.ts", "app/[...slug]/key.ts", true},
		{"app/[[...all]]", "app/[[...all]]", true},
		{"app/[[...all]]/*", "app/[[...all]]/x", true},
		{"{a,b}/x", "{a,b}/x", true},
		{"{a,b}/x", "b/x", true},
		{"a*b", "a*b", true},
		{"**/[id].ts", "a/b/[id].ts", true},
		{"**/[id]/**/x", "a/[id]/b/c/x", true},
		{"**/[id]/**/x", "a/[id]/b/c/y", false},
		{"broken[", "broken[", true},
		{"broken[/*", "broken[/x", true},
		{"**", "a/[b]", true},
		{`\[id\]`, "[id]", true},
		{`\[id\]`, "i", false},
		{"what?", "what?", true},
		{"a..b", "a..b", true},
	} {
		if got := Path(c.pattern, c.name); got != c.want {
			t.Errorf("%s of %s: %v", c.pattern, c.name, got)
		}
	}
}

// TestNames: a path matches itself, whatever characters it has, and a pattern matches at least the
// names that doublestar matches.
func TestNames(t *testing.T) {
	seed := int64(testenv.Seed(t))
	r := rand.New(rand.NewSource(seed))
	word := func() string {
		b := make([]byte, 1+r.Intn(5))
		for i := range b {
			b[i] = `ab[]{}*?!^-,.\(`[r.Intn(15)]
		}
		return string(b)
	}
	for range 20000 {
		parts := make([]string, 1+r.Intn(4))
		for i := range parts {
			parts[i] = word()
		}
		p := strings.Join(parts, "/")
		if !Path(p, p) || !Path(p+"/**", p+"/x/y") || !Path("**/"+p, "z/"+p) {
			t.Fatalf("seed %d: %s does not mean itself", seed, p)
		}
		name := strings.Map(func(c rune) rune {
			if strings.ContainsRune(special, c) {
				return 'a'
			}
			return c
		}, p)
		if ok, err := doublestar.Match(p, name); ok && err == nil && !Path(p, name) {
			t.Fatalf("seed %d: %s is not for %s", seed, p, name)
		}
	}
}

// The work for a pattern is bounded, whatever a stranger writes.
func TestCheck(t *testing.T) {
	for _, p := range []string{strings.Repeat("{a,b}", 30), strings.Repeat("{a,", 2000), strings.Repeat("{{a,b},{c,d}}", 10), strings.Repeat("a", 5000)} {
		if CheckPattern(p) == nil || Path(p, strings.Repeat("a", 30)) {
			t.Errorf("%.20s is tried", p)
		}
	}
	for _, p := range []string{"{a,b}/{c,d}", "**/*.{ts,tsx,js}", "[a,b]"} {
		if err := CheckPattern(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// A range whose ends are the wrong way round takes no right away less than its author meant.
func TestBackwardRanges(t *testing.T) {
	for p, want := range map[string]string{
		"[z-a]": "[a-z]", "x[a9-0_]y[c-a]": "x[a0-9_]y[a-c]", "[^z-a]": "[^a-z]", "[!z-a]": "[!a-z]", `[\z-\a]`: `[\a-\z]`, "[é-a]": "[a-é]",
		"[a-z]": "[a-z]", "[-a]": "[-a]", "[a-]": "[a-]", "[z-a": "[z-a", `\[z-a]`: `\[z-a]`, "[]": "[]", "[]z-a]": "[]a-z]", "z-a": "z-a", "[": "[", "[^]": "[^]", `[\`: `[\`, "[c-b-a]": "[b-c-a]",
	} {
		if got := Forward(p); got != want {
			t.Errorf("%s is read as %s, want %s", p, got, want)
		}
	}
	for _, name := range []string{"k.pem", "Z.pem", "[z-a].pem", "sub/k.pem"} {
		if !Covers("[z-a].pem", name, true) {
			t.Errorf("a rule for [z-a].pem does not ask about %s", name)
		}
	}
	if Covers("[z-a].pem", "k.pem", false) || Covers("[z-a].pem", "1.pem", true) || !Covers("app/[post-id]/**", "app/[post-id]/page.tsx", false) {
		t.Error("it allows what nobody wrote, or not what is spelled so")
	}
}

func TestList(t *testing.T) {
	names := []string{"a.go", "src/a.js", "src/a.test.js", "src/in/b.ts", "docs/src/c.js", "app/[id]/d.js", "x,y.js", " b/e.c", "q,r/f/g.c"}
	for text, want := range map[string]string{
		"":                  "a.go src/a.js src/a.test.js src/in/b.ts docs/src/c.js app/[id]/d.js x,y.js  b/e.c q,r/f/g.c",
		" b/*":              " b/e.c",
		"!src/*, !docs/**":  "a.go src/in/b.ts app/[id]/d.js x,y.js  b/e.c q,r/f/g.c",
		"./src/*.js":        "src/a.js src/a.test.js",
		"/src/*.js":         "src/a.js src/a.test.js",
		"./a.go":            "a.go",
		"src/":              "src/a.js src/a.test.js src/in/b.ts",
		"src":               "src/a.js src/a.test.js src/in/b.ts docs/src/c.js", // case s09
		"./src":             "src/a.js src/a.test.js src/in/b.ts",
		"src/*":             "src/a.js src/a.test.js",
		"{src,app}/[id]":    "app/[id]/d.js",
		"*.js,!src":         "app/[id]/d.js x,y.js",
		"*.go, *.ts":        "a.go src/in/b.ts",
		"*.js,!*.test.js":   "src/a.js docs/src/c.js app/[id]/d.js x,y.js",
		"!*.js":             "a.go src/in/b.ts  b/e.c q,r/f/g.c",
		"*.{go,ts}":         "a.go src/in/b.ts",
		"app/[id]/**":       "app/[id]/d.js",
		"x,y.js":            "x,y.js",
		"q,r/**":            "q,r/f/g.c",
		"q,r/*/g.c":         "q,r/f/g.c",
		"src/**,!src/in/**": "src/a.js src/a.test.js",
	} {
		l, err := ParseList(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var got []string
		for _, n := range names {
			if l.Match(n) {
				got = append(got, n)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q chooses %q", text, got)
		}
	}
	for _, text := range []string{"!", ",", "./", strings.Repeat("{a,b}", 20)} {
		if _, err := ParseList(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
