package realrepo

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A project is something real to work on.
type project struct {
	name  string
	fetch func(t *testing.T) (dir string, err error) // its files, read-only to us
	sub   string                                     // the part of it that is taken
	least int                                        // files it has at least: is it what we think it is?
}

var (
	small  = project{name: "uuid", fetch: module("github.com/google/uuid", "v1.6.0"), least: 30}
	middle = project{name: "cobra", fetch: module("github.com/spf13/cobra", "v1.8.1"), least: 50}
	large  = project{name: "x-tools", fetch: module("golang.org/x/tools", "v0.30.0"), least: 1000}
	script = project{name: "fastify-error", fetch: npm("@fastify/error", "4.2.0"), least: 10}
	python = project{name: "gyp", fetch: npm("node-gyp", "10.2.0"), sub: "gyp/pylib", least: 20}
)

// module fetches a Go module; Go's own cache keeps it.
func module(path, version string) func(*testing.T) (string, error) {
	return func(t *testing.T) (string, error) {
		cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		var got struct{ Dir, Error string }
		if e := json.Unmarshal(out, &got); e != nil || got.Error != "" || err != nil {
			return "", fmt.Errorf("go mod download %s: %s %v", path, got.Error, err)
		}
		// What its tests need is fetched now: the job's commands have no network.
		cmd = exec.Command("go", "mod", "download")
		cmd.Dir = copied(t, got.Dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("what %s needs: %w: %s", path, err, out)
		}
		return got.Dir, nil
	}
}

// npm fetches a package; npm's own cache keeps it. Nothing of it is run.
func npm(name, version string) func(*testing.T) (string, error) {
	return func(t *testing.T) (string, error) {
		dir := t.TempDir()
		cmd := exec.Command("npm", "pack", "--silent", "--prefer-offline", "--ignore-scripts", name+"@"+version)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm pack %s: %w: %s", name, err, out)
		}
		cmd = exec.Command("tar", "-xzf", fmt.Sprintf("%s-%s.tgz", strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-"), version))
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("unpacking %s: %w: %s", name, err, out)
		}
		return filepath.Join(dir, "package"), nil
	}
}

// repository makes a fresh copy of the project with one commit.
func (p project) repository(t *testing.T) string {
	t.Helper()
	src, err := p.fetch(t)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s cannot be fetched: %v", p.name, err)
		}
		t.Skipf("%s cannot be fetched here, so nothing is proved with it: %v", p.name, err)
	}
	dir := copied(t, filepath.Join(src, p.sub))
	n := 0
	for name := range tree(t, dir) {
		if !strings.HasSuffix(name, "/") {
			n++
		}
	}
	if n < p.least {
		t.Fatalf("%s has %d files, at least %d were expected", p.name, n, p.least)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-qm", "As published")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// copied copies a tree to a directory of the test. A module cache is
// read-only; here everything may be written, and each seventh file may be run,
// so that modes differ.
func copied(t *testing.T, src string) string {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "repo")
	n := 0
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if n++; n%7 == 0 {
			mode = 0o755
		}
		return os.WriteFile(to, b, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

// tree returns everything below dir but .git: mode and content by name.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if rel == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[rel+"/"] = info.Mode().String()
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			out[rel] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(path)
			out[rel] = info.Mode().String() + " " + string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same fails for each name that is not in both trees as it is.
func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	wrong := 0
	for name, w := range want {
		if g, ok := got[name]; !ok || g != w {
			if wrong++; wrong < 10 {
				t.Errorf("%s is not as it was (there: %v)", name, ok)
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is left over", name)
		}
	}
}
