package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestReproducible makes the archive of this platform in the repository and in a
// copy of it elsewhere. It only links: packages are compiled as for all tests, with
// cgo if that is the machine's default, and packs fast: the two archives would be the same at any level.
func TestReproducible(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "a", "much longer path")
	checkout(t, root, elsewhere)
	var sums [2]string
	d := dist{version: "v9.8.7", time: time.Unix(1763798400, 0).UTC(), level: gzip.BestSpeed}
	for i, tree := range []string{root, elsewhere} {
		d.tree, d.out = tree, t.TempDir()
		if err := d.run([]string{here}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(d.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(b)
	}
	name := "adroit-v9.8.7-" + strings.ReplaceAll(here, "/", "-")
	if sums[0] != sums[1] || !strings.HasSuffix(sums[0], "  "+name+".tar.gz\n") {
		t.Errorf("two trees make\n%s%s", sums[0], sums[1])
	}
	files := unpack(t, filepath.Join(d.out, name+".tar.gz"), name+"/")
	inspect(t, files["adroit"], root, elsewhere)
	components(t, files["adroit.cdx.json"])
	for name, want := range map[string]string{
		"man/man1/adroit.1": "adroit", "man/man1/adroit-jobs-resume.1": "SYNOPSIS", "completions/adroit.bash": "__start_adroit",
		"completions/_adroit": "#compdef adroit", "completions/adroit.fish": "complete", "LICENSE": "License", "README.md": "adroit",
	} {
		if !strings.Contains(string(files[name]), want) {
			t.Errorf("%s has no %q, in %d bytes", name, want, len(files[name]))
		}
	}
}

// checkout copies the files that git knows, as they are now.
func checkout(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.Command("git", "-C", from, "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			continue // deleted, or a link to nowhere of a test
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func unpack(t *testing.T, path, dir string) map[string][]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uname != "" || h.Uid != 0 || h.ModTime.Unix() != 1763798400 {
			t.Errorf("%s is %+v", h.Name, h)
		}
		if files[strings.TrimPrefix(h.Name, dir)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// inspect runs the program, and searches it for forbidden content.
func inspect(t *testing.T, program []byte, trees ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "adroit")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "adroit v9.8.7 go") {
		t.Errorf("version is %q, %v", out, err)
	}
	for _, tree := range trees {
		for _, room := range []string{"cmd", "pkg", "internal"} { // a tree may be /check, which is a route's name too
			if bytes.Contains(program, []byte(filepath.Join(tree, room)+"/")) {
				t.Errorf("the program contains the path %s/%s", tree, room)
			}
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Error("the program is not stripped")
	}
}

// components compares the list with the packages that the tests are linked with, most of which are
// in the program.
func components(t *testing.T, list []byte) {
	t.Helper()
	var b bom
	if err := json.Unmarshal(list, &b); err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, c := range b.Components {
		if c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("component %+v", c)
		}
		has[c.Name] = true
	}
	for _, name := range []string{"std", "modernc.org/sqlite", "github.com/spf13/cobra", "golang.org/x/sys"} {
		if !has[name] {
			t.Errorf("no %s among %d components", name, len(b.Components))
		}
	}
	if has["github.com/cpuguy83/go-md2man/v2"] {
		t.Error("what makes the man pages is not in the program")
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.Version != "v9.8.7" {
		t.Errorf("%+v", b.Metadata)
	}
}
