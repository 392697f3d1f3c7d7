package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// What an interrupted step has changed is taken back, or nothing is.
func TestRevert(t *testing.T) {
	for _, c := range []struct {
		name   string
		step   func(f *Files) error
		person string // what somebody else writes to a.txt afterwards
		want   bool
		left   map[string]string
	}{
		{"nothing was done", func(*Files) error { return nil }, "", true, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}},
		{"a file was changed", func(f *Files) error { return f.WriteFile("a.txt", []byte("new\n")) }, "", true, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}},
		{"one was changed twice", func(f *Files) error {
			if err := f.WriteFile("a.txt", []byte("new\n")); err != nil {
				return err
			}
			return f.WriteFile("a.txt", []byte("newer\n"))
		}, "", true, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}},
		{"one was made", func(f *Files) error { return f.WriteFile("c.txt", []byte("c\n")) }, "", true, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}},
		{"one was deleted", func(f *Files) error { return f.Remove("b.txt") }, "", true, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}},
		{"two of a patch were done", func(f *Files) error {
			if err := f.WriteFile("a.txt", []byte("new\n")); err != nil {
				return err
			}
			return f.Remove("b.txt")
		}, "", true, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}},
		{"somebody changed one since", func(f *Files) error {
			if err := f.WriteFile("a.txt", []byte("new\n")); err != nil {
				return err
			}
			return f.Remove("b.txt")
		}, "mine\n", false, map[string]string{"a.txt": "mine\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			for _, name := range []string{"a", "b"} {
				if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(name+"\n"), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			led, err := ledger.Open(home, nil)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Open(dir, led)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.step(f.At("1.2")); err != nil {
				t.Fatal(err)
			}
			if c.person != "" {
				if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(c.person), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			// As after a kill: another process reads the ledger.
			if err := led.Close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if led, err = ledger.Open(home, nil); err != nil {
				t.Fatal(err)
			}
			defer led.Close()
			if f, err = Open(dir, led); err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if ok, err := f.At("1.2").Revert(); err != nil || ok != c.want {
				t.Errorf("Revert = %t, %v, want %t", ok, err, c.want)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != len(c.left) {
				t.Errorf("there are %v, %v, want %v", left, err, c.left)
			}
			for name, want := range c.left {
				file := filepath.Join(dir, name)
				if got := dirtest.Content(t, file); got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
				if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o640 {
					t.Errorf("%s has mode %v", name, info.Mode())
				}
			}
			if c.want {
				if changes, err := led.Changes(t.Context()); err != nil || len(changes) != 0 {
					t.Errorf("the ledger says %v, %v", changes, err)
				}
			}
		})
	}
}
