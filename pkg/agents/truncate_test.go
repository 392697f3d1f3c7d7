package agents

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func fileDiff(name string, lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex 1..2 100644\n--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n", name, name, name, name, lines, lines)
	for i := range lines {
		fmt.Fprintf(&b, "-%s old %d\n+%s new %d\n", name, i, name, i)
	}
	return b.String()
}

func TestBriefDiff(t *testing.T) {
	small, large, sums := fileDiff("small.go", 3), fileDiff("large.go", 4000), fileDiff("go.sum", 50)
	bin := "diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 10\nzcmZ\n\n"
	got := truncate("a note above\n"+large+sums+bin+small, 8000)
	if len(got) > 8000 {
		t.Errorf("it has %d bytes", len(got))
	}
	for _, want := range []string{
		"a note above\n", small, // what is small is whole, wherever it stands
		"+large.go new 0\n", "+large.go new 3999\n", "bytes left out]",
		"[+50 -50 lines, written by a program, left out]", "[a binary file]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	for _, no := range []string{"large.go new 2000\n", "go.sum new", "zcmZ"} {
		if strings.Contains(got, no) {
			t.Errorf("it has %q", no)
		}
	}
	if whole := small + fileDiff("b.go", 5); truncate(whole, 8000) != whole {
		t.Error("a diff that fits is not whole")
	}
}

// A change of a thousand files names those that it does not show.
func TestBriefMany(t *testing.T) {
	var all strings.Builder
	for i := range 1000 {
		all.WriteString(fileDiff(fmt.Sprintf("f%d.go", i), 40))
	}
	got := truncate(all.String(), 6000)
	if len(got) > 6000 || !strings.Contains(got, "f0.go new 0") || !strings.Contains(got, "975 more files changed: f25.go +40 -40;") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
}

func TestBriefText(t *testing.T) {
	long := strings.Repeat("äöü line\n", 1000)
	got := truncate("first\n"+long+"last\n", 500)
	switch {
	case len(got) > 500:
		t.Errorf("len(got) > 500: %q", got)
	case !utf8.ValidString(got):
		t.Errorf("utf8.ValidString(got) is false: %q", got)
	case !strings.HasPrefix(got, "first\n"):
		t.Errorf(`strings.HasPrefix(got, "first\n") is false: %q`, got)
	case !strings.HasSuffix(got, "last\n"):
		t.Errorf(`strings.HasSuffix(got, "last\n") is false: %q`, got)
	}
	if got := truncate("ab\xffc", 100); got != "ab\uFFFDc" {
		t.Errorf("%q", got)
	}
}

// Whatever it is given, it is short enough and valid text.
func TestBriefAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"diff --git a/x b/x\n", "\ndiff --git ", "@@ -1 +1 @@\n", "+a\n", "-b", "\n", "ä", "\xff", "GIT binary patch\n", "go.sum", strings.Repeat("x", 300)}
	for range 3000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		most := r.IntN(2000)
		if got := truncate(b.String(), most); len(got) > most || !utf8.ValidString(got) {
			t.Fatalf("%q in %d bytes gives %d: %q", b.String(), most, len(got), got)
		}
	}
}
