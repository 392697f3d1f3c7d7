package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// A barrier holds for every way to a file, also through a link with a harmless
// name, and only for the files that were put under it.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"plans/q3.txt": "x", "open.txt": "y"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("plans/q3.txt", filepath.Join(dir, "innocent.txt")); err != nil {
		t.Fatal(err)
	}
	all, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	f := all.At("1").WithGuard(func(name string, _ bool) string {
		if name == "plans" || strings.HasPrefix(name, "plans/") {
			return "is not for agents"
		}
		return ""
	}).At("2")
	for _, name := range []string{"plans/q3.txt", "innocent.txt", "./plans/q3.txt", filepath.Join(dir, "plans/q3.txt")} {
		if _, err := f.ReadFile(name); err == nil || !strings.Contains(err.Error(), "not for agents") {
			t.Errorf("read %s: %v", name, err)
		}
		if err := f.WriteFile(name, nil); err == nil {
			t.Errorf("wrote %s", name)
		}
		if _, err := f.Stat(name); err == nil {
			t.Errorf("looked at %s", name)
		}
	}
	if err := f.Rename("plans/q3.txt", "b.txt"); err == nil {
		t.Error("moved it out")
	}
	if _, err := fs.ReadFile(f.FS(), "plans/q3.txt"); err == nil {
		t.Error("read it through FS")
	}
	got, _, err := f.List(t.Context(), workspace.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got {
		if strings.HasPrefix(e.Name, "plans") {
			t.Errorf("listed %s", e.Name)
		}
	}
	if b, err := f.ReadFile("open.txt"); err != nil || string(b) != "y" {
		t.Errorf("open.txt: %q, %v", b, err)
	}
	if _, err := all.ReadFile("plans/q3.txt"); err != nil {
		t.Errorf("without the barrier: %v", err)
	}
}
