package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// The page in a browser: a job is started from the form, watched, answered by keyboard, looked at and undone; the
// server is killed and comes back; a pipeline is built by keyboard, saved and run; axe finds nothing at two widths, in
// dark and light.
func TestPage(t *testing.T) {
	t.Parallel()
	installed := testenv.NeedsVariable(t, "WEB", "install.sh ../../../web")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		testenv.Missing(t, "chromium is not installed; .ci/run installs it")
	}
	turns := `turns:
  - text: "I write the greeting, and then wait until it **may go**: <img src=x onerror=alert(1)> [here](javascript:alert(1)) \u202Ehidden\n\n#### How\n\n- one file\n- one command"
    calls: [{name: write_file, args: {path: a.txt, content: "Good day\n"}}]
  - calls: [{name: shell, args: {command: "./greet.sh"}}]
  - calls: [{name: finish, args: {summary: "The file greets in another way."}}]
`
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "home/.config/adroit/agents/broken.md": "---\ndescription: Has a tool that is not there.\ntools: [no_such_tool]\n---\nYou work.\n", "repo/a.txt": "Hello\n", "repo/gate": "shut\n", "repo/greet.sh": "#!/bin/sh\nuntil grep -q go gate; do sleep 0.05; done\nprintf '\\033[32mready\\033[0m\\n'\nprintf '\\000\\001' > sound.bin\nseq 3000 > long.txt\n", "turns.yaml": turns,
		"home/.config/adroit/pipelines/tidy.yaml": "name: tidy\ndescription: Look twice, ask, and end.\ninputs: {level: {description: a" + strings.Repeat("_word", 30) + ", default: usual}}\nsteps:\n  - id: look\n    parallel:\n      - {id: left, run: echo left}\n      - {id: right, run: echo right}\n  - id: ask\n    await: {signal: go, question: \"Go on?\"}\n  - id: last\n    run: echo last\n"})
	if err := os.Chmod(p.path("repo/greet.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	served := startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	address := strings.TrimPrefix(served.url, "http://")
	cmd := exec.CommandContext(t.Context(), "node", "../../web/walk.js", installed, <-served.link, p.path("repo"), p.path("turns.yaml"))
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "HOME="+p.path("home"))
	cmd.Stderr = os.Stderr
	in, out := piped(t, cmd)
	defer cmd.Wait() // what it came to is its last line
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, of, _ := strings.Cut(lines.Text(), " ")
		reply := ""
		switch what {
		case "gate": // in place: a command in the sandbox need not see a file that is made meanwhile
			if err := os.WriteFile(p.path("repo/gate"), []byte(of+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		case "read":
			reply = strings.TrimSpace(p.read("repo/" + of))
		case "write": // behind the back of the page
			if err := os.WriteFile(p.path("repo/"+of), []byte("name: made # by others\nsteps:\n  - {id: theirs, run: echo theirs}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		case "token":
			reply = strings.TrimSpace(p.ok(0, "serve", "token", "add", "phone", "--scope", of))
		case "kill":
			_ = served.Process.Kill()
			_ = served.Wait()
		case "serve":
			served = startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", address)
		case "done":
			t.Logf("%s looks", of)
			return
		case "failed":
			var why string
			if err := json.Unmarshal([]byte(of), &why); err != nil {
				why = of
			}
			t.Fatal(why)
		}
		line, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(in, "%s\n", line)
	}
	t.Fatal("the walk ended without a word")
}

// Random edits by the form of the builder lose no comment, keep the order, and give what the form shows.
func TestBuilderDocument(t *testing.T) {
	t.Parallel()
	installed := testenv.NeedsVariable(t, "WEB", "install.sh ../../../web")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../web/src/document.ts")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "document.ts"), source, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{filepath.Join(dir, "node_modules/typescript/bin/tsc"), "--ignoreConfig", "--outDir", dir, "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2023", "--skipLibCheck", filepath.Join(dir, "document.ts")},
		{"../../web/document.test.js", filepath.Join(dir, "document.js"), "1", "15"},
		{"../../web/document.test.js", filepath.Join(dir, "document.js"), fmt.Sprint(os.Getpid()), "15"},
	} {
		if b, err := exec.CommandContext(t.Context(), "node", args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, b)
		}
	}
}

// unpacked has the files of a built page by name.
func unpacked(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		b, err := io.ReadAll(r)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is embedded is what web/ is built to.
func TestPageIsBuilt(t *testing.T) {
	t.Parallel()
	installed := testenv.NeedsVariable(t, "WEB", "install.sh ../../../web")
	dir := t.TempDir()
	for _, name := range []string{".", "public", "src"} {
		files, err := os.ReadDir(filepath.Join("../../web", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "web", name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !f.Type().IsRegular() {
				continue
			}
			b, err := os.ReadFile(filepath.Join("../../web", name, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "web", name, f.Name()), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "web/node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"node_modules/typescript/bin/tsc"}, {"node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"}} {
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = filepath.Join(dir, "web")
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, b)
		}
	}
	built, there := unpacked(t, filepath.Join(dir, "pkg/api/page")), unpacked(t, "../../pkg/api/page")
	if len(built) < 10 || !maps.Equal(built, there) {
		t.Errorf("pkg/api/page is not what web/ is built to; npm run build in web/ builds it: %v, not %v", slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(built)))
	}
}
