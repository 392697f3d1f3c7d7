package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// platforms lists the platforms that CI builds and vets; see docs/sandbox.md.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

// A dist builds the release files of one version.
type dist struct {
	tree    string // the repository
	out     string
	version string
	time    time.Time // of every file
	env     []string  // of builds
	level   int       // of compression
}

// build builds the program, without symbols, paths of this machine, or anything
// that the next build would have otherwise.
func (d *dist) build(goos, goarch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "adroit-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "adroit")
	env := append([]string{"GOOS=" + goos, "GOARCH=" + goarch, "GOFLAGS=", "GOWORK=off"}, d.env...)
	if _, err := d.command(env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X "+stamp+"="+d.version, "-o", out, "./cmd/adroit"); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func (d *dist) command(env []string, name string, args ...string) ([]byte, error) {
	var failed bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = d.tree, append(os.Environ(), env...), &failed
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, failed.Bytes())
	}
	return b, nil
}

// stamp is the variable for the version.
const stamp = "github.com/adroit-run/adroit/pkg/cli/internal/kit.stamped"
