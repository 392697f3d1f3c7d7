package rootfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

const key = "sk-test-0123456789"

func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config", "adroit")
	f := rootfs.In(dir)
	if keys, err := f.Keys(); err != nil || len(keys) != 0 {
		t.Fatalf("without a file: %v, %v", keys, err)
	}
	if was, err := f.Remove("openai"); was || err != nil {
		t.Errorf("removing nothing: %v, %v", was, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("reading made the directory")
	}
	for _, name := range []string{"openai", "work"} {
		if err := f.Set(name, key+name); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := f.Keys(); err != nil || keys["openai"] != key+"openai" || keys["work"] != key+"work" {
		t.Errorf("%v, %v", keys, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, f.Path(): 0o600, f.Path() + ".lock": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
	if was, err := f.Remove("openai"); !was || err != nil {
		t.Errorf("removing: %v, %v", was, err)
	}
	if keys, _ := f.Keys(); len(keys) != 1 || keys["work"] == "" {
		t.Errorf("left are %v", keys)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

func TestUnsafeFiles(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, f rootfs.File){
		"others can read": func(t *testing.T, f rootfs.File) { ok(t, os.Chmod(f.Path(), 0o640)) },
		"is a link": func(t *testing.T, f rootfs.File) {
			ok(t, os.Rename(f.Path(), f.Path()+".real"))
			ok(t, os.Symlink(f.Path()+".real", f.Path()))
		},
		"not a file of this user": func(t *testing.T, f rootfs.File) {
			ok(t, os.Remove(f.Path()))
			ok(t, os.Mkdir(f.Path(), 0o700))
		},
		"not a JSON object": func(t *testing.T, f rootfs.File) { ok(t, os.WriteFile(f.Path(), []byte(key), 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := rootfs.In(t.TempDir())
			ok(t, f.Set("openai", key))
			spoil(t, f)
			before, _ := os.Readlink(f.Path())
			_, err := f.Keys()
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), key) {
				t.Errorf("reading: %v", err)
			}
			if err := f.Set("openai", "another"); err == nil {
				t.Error("it was written to")
			}
			if after, _ := os.Readlink(f.Path()); after != before {
				t.Error("the link was replaced")
			}
		})
	}
}

// A directory that is in a repository, also by a link, keeps no key.
func TestRepository(t *testing.T) {
	repo := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(repo, ".git"), 0o755))
	ok(t, os.WriteFile(filepath.Join(repo, ".git", "HEAD"), nil, 0o644))
	link := filepath.Join(t.TempDir(), "adroit")
	ok(t, os.MkdirAll(filepath.Join(repo, "dotfiles", "adroit"), 0o755))
	ok(t, os.Symlink(filepath.Join(repo, "dotfiles", "adroit"), link))
	for _, dir := range []string{filepath.Join(repo, "a", "b"), link} {
		if err := rootfs.In(dir).Set("openai", key); !errors.Is(err, rootfs.ErrInRepository) {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Lstat(rootfs.In(dir).Path()); err == nil {
			t.Errorf("%s has a key", dir)
		}
	}
}

func TestConcurrentSet(t *testing.T) {
	f := rootfs.In(t.TempDir())
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if err := f.Set(fmt.Sprint("p", i), key); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if keys, err := f.Keys(); err != nil || len(keys) != 20 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// No tool may touch the file, wherever the configuration is.
func TestNoToolReadsIt(t *testing.T) {
	for _, dir := range []string{"cfg/adroit", ".config/adroit"} {
		if new(rootfs.DenyList).NameError(filepath.Join(dir, filepath.Base(rootfs.In(dir).Path()))) == nil {
			t.Errorf("tools may read the keys in %s", dir)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
