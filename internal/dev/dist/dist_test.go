package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
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
	if sums[0] != sums[1] || !strings.Contains(sums[0], "  "+name+".tar.gz\n") {
		t.Errorf("two trees make\n%s%s", sums[0], sums[1])
	}
	files := unpack(t, filepath.Join(d.out, name+".tar.gz"), name+"/")
	inspect(t, files["adroit"], root, elsewhere)
	components(t, files["adroit.cdx.json"])
	for name, want := range map[string]string{
		"man/man1/adroit.1": "adroit", "man/man1/adroit-answer-approve.1": "SYNOPSIS", "completions/adroit.bash": "__start_adroit",
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
		of, in, _ := strings.Cut(strings.TrimPrefix(c.PURL, "pkg:"), "/")
		if c.Version == "" || of != "golang" && of != "npm" || in != strings.Replace(c.Name, "@", "%40", 1)+"@"+c.Version {
			t.Errorf("component %+v", c)
		}
		has[c.Name] = true
	}
	for _, name := range []string{"std", "modernc.org/sqlite", "github.com/spf13/cobra", "golang.org/x/sys", "react-dom", "@dagrejs/dagre"} {
		if !has[name] {
			t.Errorf("no %s among %d components", name, len(b.Components))
		}
	}
	if has["github.com/cpuguy83/go-md2man/v2"] || has["vite"] {
		t.Error("what makes the man pages and the page is not in the program")
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.Version != "v9.8.7" {
		t.Errorf("%+v", b.Metadata)
	}
}

// release makes what is released of programs that are scripts.
func release(t *testing.T) (d dist, out string) {
	t.Helper()
	d = dist{version: "v9.8.7", time: time.Unix(1763798400, 0).UTC(), level: gzip.BestSpeed, out: t.TempDir()}
	program := func(goos, goarch string) ([]file, error) {
		return []file{{"adroit", []byte("#!/bin/sh\necho adroit v9.8.7 " + goos + "/" + goarch + "\n"), 0o755}, {"LICENSE", []byte("License"), 0o644}, {"man/man1/adroit.1", []byte(".TH"), 0o644},
			{"completions/_adroit", []byte("#compdef"), 0o644}, {"completions/adroit.bash", []byte("x"), 0o644}, {"completions/adroit.fish", []byte("y"), 0o644}, {"README.md", []byte("odd"), 0o644}}, nil
	}
	if err := d.write(strings.Split(platforms, ","), program); err != nil {
		t.Fatal(err)
	}
	return d, d.out
}

// What is released has the files of the archive where each system looks for them, and is what the
// checksums state.
func TestPackages(t *testing.T) {
	d, out := release(t)
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil || strings.Count(string(sums), "\n") != 4+2*2+1+1+1 {
		t.Fatalf("%v\n%s", err, sums)
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = out
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", name, args, err, b)
		}
		return string(b)
	}
	has := func(program string) bool { _, err := exec.LookPath(program); return err == nil }
	if has("sha256sum") {
		run("sha256sum", "-c", "SHA256SUMS")
	}
	if has("dpkg-deb") {
		if got := run("dpkg-deb", "--info", "adroit-v9.8.7-linux-arm64.deb"); !strings.Contains(got, "Version: 9.8.7") || !strings.Contains(got, "Architecture: arm64") {
			t.Error(got)
		}
		if got := run("dpkg-deb", "--contents", "adroit-v9.8.7-linux-amd64.deb"); !strings.Contains(got, "-rwxr-xr-x 0/0") || !strings.Contains(got, "./usr/share/man/man1/adroit.1") {
			t.Error(got)
		}
		installDeb(t, filepath.Join(out, "adroit-v9.8.7-linux-"+runtime.GOARCH+".deb"))
	}
	if has("rpm") && has("rpmkeys") {
		if got := run("rpm", "-qp", "--nosignature", "--qf", "%{NVRA} %{LICENSE}", "adroit-v9.8.7-linux-amd64.rpm"); got != "adroit-9.8.7-1.x86_64 Apache-2.0" {
			t.Error(got)
		}
		run("rpmkeys", "-K", "--nosignature", "adroit-v9.8.7-linux-amd64.rpm")
	}
	if has("ruby") {
		if got := run("ruby", "-c", "adroit.rb"); !strings.Contains(got, "Syntax OK") {
			t.Error(got)
		}
	}
	if n := (&dist{version: "1c7299d-dirty"}).number(); n != "0.1c7299d.dirty" {
		t.Errorf("without a tag the version is %s", n)
	}
	image(t, filepath.Join(out, "adroit-v9.8.7-image.tar"), d)
}

// installDeb installs a package into an empty root, which has no directory that it does not bring,
// and removes it.
func installDeb(t *testing.T, deb string) {
	t.Helper()
	if os.Getuid() != 0 {
		return // dpkg sets owners
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(root, "usr/bin/adroit")
	for i, args := range [][]string{{"--install", deb}, {"--remove", "adroit"}} {
		b, err := exec.Command("dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-bad-path", "--force-script-chrootless", "--log=" + root + "/log"}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("dpkg %v: %v\n%s", args, err, b)
		}
		if _, err := os.Stat(program); (err == nil) != (i == 0) {
			t.Errorf("after dpkg %v the program: %v", args, err)
		}
	}
}

// image follows an image from its index to its programs, and compares each digest.
func image(t *testing.T, path string, d dist) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(of descriptor) []byte {
		b := files["blobs/"+strings.Replace(of.Digest, ":", "/", 1)]
		if sum := sha256.Sum256(b); of.Digest != "sha256:"+hex.EncodeToString(sum[:]) || of.Size != len(b) {
			t.Errorf("%+v is a blob of %d bytes", of, len(b))
		}
		return b
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil || len(index.Manifests) != 2 {
		t.Fatalf("%v: %s", err, files["index.json"])
	}
	for _, m := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		var config struct {
			Architecture string
			RootFS       struct {
				IDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(blob(m), &manifest); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(blob(manifest.Config), &config); err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0])))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(layer); config.RootFS.IDs[0] != "sha256:"+hex.EncodeToString(sum[:]) || config.Architecture != m.Platform["architecture"] || !bytes.Contains(layer, []byte("linux/"+config.Architecture)) {
			t.Errorf("%+v of %+v", config, m)
		}
	}
}

// The script installs what the checksums list, and nothing else.
func TestInstallScript(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		if _, err := exec.LookPath("shasum"); err != nil {
			testenv.Missing(t, "neither sha256sum nor shasum is installed")
		}
	}
	_, out := release(t)
	install := func(from string) (string, error) {
		home := t.TempDir()
		cmd := exec.Command("sh", filepath.Join(out, "install.sh"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ADROIT_FROM=" + from}
		b, err := cmd.CombinedOutput()
		if _, missing := os.Stat(filepath.Join(home, ".local/bin/adroit")); (missing == nil) != (err == nil) {
			t.Errorf("%v, and the program: %v", err, missing)
		}
		return string(b), err
	}
	if got, err := install("file://" + out); err != nil || !strings.Contains(got, "installed adroit v9.8.7 "+runtime.GOOS+"/"+runtime.GOARCH+" in ") {
		t.Errorf("%v\n%s", err, got)
	}
	name := "adroit-v9.8.7-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	b, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(filepath.Join(out, name), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := install("file://" + out); err == nil || !strings.Contains(got, "the checksum of "+name+" is wrong: nothing was installed") {
		t.Errorf("a changed archive: %v\n%s", err, got)
	}
	if got, err := install("http://127.0.0.1:9"); err == nil || !strings.Contains(got, "neither https:// nor file://") {
		t.Errorf("without encryption: %v\n%s", err, got)
	}
	if err := os.WriteFile(filepath.Join(out, "SHA256SUMS"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := install("file://" + out); err == nil || !strings.Contains(got, "does not list") {
		t.Errorf("without a checksum: %v\n%s", err, got)
	}
}
