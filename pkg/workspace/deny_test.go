package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
)

// TestNames: the list is one for every way to a file, and an operator may add
// to it and take from it.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		".env": "K=1", ".env.test": "K=2", "prod.tfvars": "k=3", "café.conf": "k", "sub/.netrc": "x", "plain.txt": "p", "deploy/prod.yaml": "k",
		"home/.config/gh/hosts.yml": "x", ".cargo/credentials.toml": "x", "service-account-1.json": "{}", "a.tfstate": "{}",
	}
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	changed := base.WithDenyList(&rootfs.DenyList{Deny: []string{"*.TFVARS", "caf?.conf", "deploy/prod.yaml"}, Allow: []string{".env.test"}})
	for name, want := range map[string][2]bool{ // readable without, with
		".env": {false, false}, ".env.test": {false, true}, "prod.tfvars": {true, false}, "café.conf": {true, false},
		"sub/.netrc": {false, false}, "plain.txt": {true, true}, "deploy/prod.yaml": {true, false},
		"home/.config/gh/hosts.yml": {false, false}, ".cargo/credentials.toml": {false, false}, "service-account-1.json": {false, false}, "a.tfstate": {false, false},
	} {
		for i, f := range []*Files{base, changed} {
			_, err := f.ReadFile(name)
			if got := err == nil; got != want[i] {
				t.Errorf("%s, with %d: read is %v (%v)", name, i, got, err)
			}
			list, _, err := f.List(context.Background(), ListOptions{Hidden: true})
			if err != nil {
				t.Fatal(err)
			}
			listed := false
			for _, e := range list {
				listed = listed || e.Name == name
			}
			if listed != want[i] {
				t.Errorf("%s, with %d: listed is %v", name, i, listed)
			}
			if _, err := f.Peek(name, nil, 10); (err == nil) != want[i] {
				t.Errorf("Peek(%s): %v", name, err)
			}
			if in, err := f.FS().Open(name); (err == nil) != want[i] {
				t.Errorf("%s, with %d: opened through FS: %v", name, i, err)
			} else if err == nil {
				in.Close()
			}
			if err := f.At("1").WriteFile(name, []byte(files[name])); (err == nil) != want[i] {
				t.Errorf("%s, with %d: written: %v", name, i, err)
			}
		}
	}
	// Spellings of one name come to one decision.
	for _, name := range []string{".ENV", ".env/", "./.env", ".env.", ".env ", ".e\u200bnv", "．env", ".env\u0301", "sub/../.env", ".env::$DATA", "SUB/.NETRC"} {
		if _, err := base.ReadFile(name); err == nil {
			t.Errorf("%q was read", name)
		}
		if err := base.WriteFile(name, []byte("x")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

func TestHardLinksToSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".env": "KEY=1", "one.txt": "1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{".env": "sub/innocent.txt", "one.txt": "two.txt"} {
		if err := os.Link(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Skip(err)
		}
	}
	f, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadFile("sub/innocent.txt"); err == nil || !strings.Contains(err.Error(), "another name of .env") {
		t.Errorf("a hard link to .env: %v", err)
	}
	if _, err := f.Peek("sub/innocent.txt", nil, 10); err == nil || !strings.Contains(err.Error(), "another name of .env") {
		t.Errorf("Peek of a hard link to .env: %v", err)
	}
	if b, err := f.ReadFile("two.txt"); err != nil || string(b) != "1" {
		t.Errorf("a hard link to a plain file: %q, %v", b, err)
	}
}

// TestSnapshotsCopyNoSecrets: the ledger notes that a denied file changed, and
// keeps and shows nothing of it.
func TestSnapshotsCopyNoSecrets(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("KEY=quokka-lattice\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	led, err := ledger.Open(home, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	ex := process.New(dir, "", led)
	defer ex.Close()
	o, err := ex.Run(t.Context(), process.Cmd{Shell: "echo MORE=2 >> .env", Snapshot: true})
	if err != nil || len(o.Changed) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	diff, err := led.All().IncludeUncertain().Diff(t.Context(), dir)
	if err != nil || !strings.Contains(diff, "a/.env") || strings.Contains(diff, "MORE") || strings.Contains(diff, "quokka") {
		t.Errorf("the diff: %v\n%s", err, diff)
	}
	err = filepath.WalkDir(home, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if strings.Contains(string(b), "quokka") {
			t.Errorf("%s has the secret", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{"*.tfvars": true, "a/b.yaml": true, "": false, "/etc/x": false, "x/": true, "**/x": true, "é": true, "[é-ü]": true, "[": true} {
		if err := rootfs.CheckPattern(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}

// TestToolchainStaysLocal: nothing a repository or a host says makes a command
// fetch another Go.
func TestToolchainStaysLocal(t *testing.T) {
	env := rootfs.Environ([]string{"GOTOOLCHAIN=go9.99.9", "GOENV=/repo/go.env", "DOTENV=x", "NODE_OPTIONS=--require=/repo/x.js", "RUSTC_WRAPPER=/repo/x", "PATH=/bin"}, nil)
	all := strings.Join(env, "\n")
	if !strings.Contains(all, "GOTOOLCHAIN=local") || strings.Contains(all, "/repo/") || strings.Contains(all, "9.99.9") {
		t.Errorf("the environment of a command:\n%s", all)
	}
}
