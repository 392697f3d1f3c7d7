package navigate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// old makes a file whose time of modification identifies its content.
func old(t *testing.T, dir, name, text string, age time.Duration) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func where(t *testing.T, env *tools.Env, word string) string {
	t.Helper()
	syms, err := code{env}.declarations(t.Context(), word)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, s := range syms {
		at = append(at, fmt.Sprintf("%s:%d", s.File, s.Line))
	}
	return strings.Join(at, " ")
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	env := &tools.Env{Files: files}
	expect := func(what, word, want string) {
		t.Helper()
		if got := where(t, env, word); got != want {
			t.Errorf("%s: %s is at %q, want %q", what, word, got, want)
		}
	}
	old(t, dir, "a.go", "package a\n\nfunc F() {}\n", time.Hour)
	old(t, dir, "b.go", "package a\n\ntype T struct {\n\tX int\n}\n", time.Hour)
	old(t, dir, "huge.go", "package a\n\nfunc Huge() {}\n"+strings.Repeat("//\n", maxFile/3+1), time.Hour)
	old(t, dir, "broken.go", "package a\n\nfunc Broken() {}\n\nfunc (", time.Hour)
	expect("a function", "F", "a.go:3")
	expect("a field", "X", "b.go:4")
	expect("a file that is too large", "Huge", "")
	expect("a file that cannot be parsed whole", "Broken", "broken.go:3")
	x := indexOf(files.Dir())
	if n := len(x.files); n != 3 {
		t.Errorf("%d files are indexed, want 3", n)
	}

	old(t, dir, "a.go", "package a\n\n\nfunc F() {}\n", time.Minute)
	expect("a file that changed", "F", "a.go:4")
	old(t, dir, "a.go", "package a\n\n\nfunc G() {}\n", time.Second/2)
	old(t, dir, "a.go", "package a\n\nfunc G() {} \n", time.Second/2)
	expect("a file that changed just now", "G", "a.go:3")
	if _, ok := x.files["a.go"]; ok {
		t.Error("a file that changed just now is indexed")
	}

	if err := os.Remove(filepath.Join(dir, "b.go")); err != nil {
		t.Fatal(err)
	}
	expect("a file that was deleted", "T", "")
	expect("a file that was deleted", "X", "")

	old(t, dir, "d.go", "package a\n\nfunc D() {}\n", time.Hour)
	expect("before it is denied", "D", "d.go:3")
	env = &tools.Env{Files: files.WithGuard(func(name string, _ bool) string {
		if name == "d.go" {
			return "it is denied"
		}
		return ""
	})}
	expect("a denied file that is indexed", "D", "")
}
