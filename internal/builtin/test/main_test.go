package test

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// TestMain makes the tests independent of who runs them. With -trimpath in GOFLAGS
// go test prints other paths, and with another HOME than the account's rustup finds
// no tool chain.
func TestMain(m *testing.M) {
	os.Setenv("GOFLAGS", "")
	if u, err := user.Current(); err == nil && os.Getenv("RUSTUP_HOME") == "" {
		if dir := filepath.Join(u.HomeDir, ".rustup"); rootfs.Exists(dir) {
			os.Setenv("RUSTUP_HOME", dir)
		}
	}
	os.Exit(m.Run())
}
