package rootfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// The first caller makes the token; concurrent callers get the same.
func TestToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := rootfs.Token(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is a token before it was made: %v", err)
	}
	got := make([]string, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			var err error
			if got[i], err = rootfs.MakeToken(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, token := range got {
		if len(token) < rootfs.MinToken || token != got[0] {
			t.Errorf("tokens %q", got)
		}
	}
	if again, err := rootfs.Token(dir); err != nil || again != got[0] {
		t.Errorf("%q, %v", again, err)
	}
	left, err := os.ReadDir(dir)
	if info, failed := os.Stat(rootfs.TokenPath(dir)); err != nil || failed != nil || len(left) != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("left %v %v, mode %v", left, err, info.Mode())
	}
}

// A token that others could have read or written, or that is none, is not used.
func TestUnsafeTokens(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"readable": {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 26)), 0o644) }, "chmod 600"},
		"a link":   {func(p string) error { return os.Symlink("/etc/hostname", p) }, "is a link"},
		"short":    {func(p string) error { return os.WriteFile(p, []byte("short\n"), 0o600) }, "holds no token"},
		"broken":   {func(p string) error { return os.WriteFile(p, []byte("aaaaaaaaaaaaaaaa\nbbbbbbbbbbb"), 0o600) }, "holds no token"},
		"a folder": {func(p string) error { return os.Mkdir(p, 0o700) }, "not a file of this user"},
	} {
		dir := t.TempDir()
		if err := tt.make(rootfs.TokenPath(dir)); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(string) (string, error){rootfs.Token, rootfs.MakeToken} {
			if token, err := read(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %q, %v", name, token, err)
			}
		}
	}
}
