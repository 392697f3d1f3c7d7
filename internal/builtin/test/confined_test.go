package test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/tools"
)

// confined is project with the commands in the best sandbox there is, or skips.
func confined(t *testing.T, archive string) *tools.Env {
	t.Helper()
	r := sandbox.Choose(sandbox.Auto)
	if r.Err() != nil {
		t.Skip(r.Err())
	}
	if runtime.GOOS == "linux" && r.Level != sandbox.Full {
		t.Skipf("the best level here is %s: %v", r.Level, r.Tried)
	}
	env := newProject(t, archive)
	ex := process.New(env.Files.Dir(), t.TempDir(), nil, process.WithSandbox(process.SandboxOptions{Level: r.Level, Private: filepath.Join(t.TempDir(), "private")}))
	t.Cleanup(func() {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	})
	env.Exec = ex
	return env
}

// The runners of all languages do their work in the sandbox, offline.
func TestConfinedProjects(t *testing.T) {
	for _, c := range []struct{ name, program, files string }{
		{"go", "go", `
-- go.mod --
module x

go 1.24
-- x_test.go --
package x

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGood(t *testing.T) {
	if err := os.WriteFile(filepath.Join(t.TempDir(), "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBad(t *testing.T) { t.Error("on purpose") }
`},
		{"cargo", "cargo", `
-- Cargo.toml --
[package]
name = "x"
version = "0.1.0"
edition = "2021"
-- src/lib.rs --
#[cfg(test)]
mod tests {
    #[test]
    fn good() { std::fs::write(std::env::temp_dir().join("f"), "x").unwrap(); }
    #[test]
    fn bad() { panic!("on purpose"); }
}
`},
		{"pytest", "pytest", `
-- test_x.py --
import socket, subprocess, sys, threading

def test_good(tmp_path):
    (tmp_path / "f").write_text("x")
    assert subprocess.check_output([sys.executable, "-c", "print(1)"]) == b"1\n"
    with socket.create_server(("127.0.0.1", 0)) as s:
        threading.Thread(target=lambda: s.accept()[0].sendall(b"hi")).start()
        with socket.create_connection(s.getsockname()) as c:
            assert c.recv(2) == b"hi"

def test_bad():
    assert False, "on purpose"
`},
		{"node", "node", `
-- package.json --
{"scripts": {"test": "node --test"}}
-- x.test.js --
const test = require('node:test'); const fs = require('node:fs'); const os = require('node:os'); const path = require('node:path'); const http = require('node:http');
test('good', async () => {
  fs.writeFileSync(path.join(os.tmpdir(), 'f'), 'x');
  const s = http.createServer((q, r) => r.end('hi'));
  await new Promise(done => s.listen(0, '127.0.0.1', done));
  const text = await (await fetch('http://127.0.0.1:' + s.address().port)).text();
  s.close();
  if (text !== 'hi') throw new Error(text);
});
test('bad', () => { throw new Error('on purpose'); });
`},
		{"npm", "npm", `
-- package.json --
{"scripts": {"test": "node --test --test-reporter=tap ./x.test.js && true"}}
-- x.test.js --
const test = require('node:test');
test('good', () => {});
test('bad', () => { throw new Error('on purpose'); });
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.NeedsProgram(t, c.program)
			env := confined(t, c.files)
			r, tr := call(t, env, `{}`)
			switch {
			case tr.Passed != 1:
				t.Errorf("tr.Passed is %v, want 1: passed %d, failed %d: %s", tr.Passed, tr.Passed, tr.Failed, r.Text)
			case tr.Failed != 1:
				t.Errorf("tr.Failed is %v, want 1: passed %d, failed %d: %s", tr.Failed, tr.Passed, tr.Failed, r.Text)
			case !r.Failed:
				t.Errorf("r.Failed is false: passed %d, failed %d: %s", tr.Passed, tr.Failed, r.Text)
			case !strings.Contains(r.Text, "on purpose"):
				t.Errorf(`r.Text lacks "on purpose": passed %d, failed %d: %s`, tr.Passed, tr.Failed, r.Text)
			}
		})
	}
}

// Conformance 46: tests that attack are as confined as any command, and what
// they report is read all the same.
func TestConfinedHostileTests(t *testing.T) {
	outside := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	env := confined(t, `
-- go.mod --
module x

go 1.24
-- .env --
SECRET=1
-- target.json --
"to be replaced"
-- x_test.go --
package x

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

func attack(t *testing.T) (to struct{ Outside, TCP string }) {
	b, err := os.ReadFile("target.json")
	if err == nil {
		err = json.Unmarshal(b, &to)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestWriteOutside(t *testing.T) {
	if os.WriteFile(attack(t).Outside+"/f", nil, 0o600) == nil {
		t.Error("escaped")
	}
}

func TestConnect(t *testing.T) {
	if c, err := net.DialTimeout("tcp", attack(t).TCP, time.Second); err == nil {
		c.Close()
		t.Error("escaped")
	}
}

func TestSecret(t *testing.T) {
	if _, err := os.ReadFile(".env"); err == nil {
		t.Error("escaped")
	}
}

func TestDaemon(t *testing.T) {
	cmd := exec.Command("sh", "-c", "(setsid env -i sh -c 'sleep 300' &)")
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}
`)
	b, err := json.Marshal(map[string]string{"Outside": outside, "TCP": ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	dir := env.Files.Dir()
	if err := os.WriteFile(filepath.Join(dir, "target.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	r, tr := call(t, env, `{}`)
	if tr.Passed != 4 || tr.Failed != 0 || r.Failed {
		t.Errorf("passed %d, failed %d: %s", tr.Passed, tr.Failed, r.Text)
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("outside there are %v", left)
	}
	found, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, cwd := range found {
		if at, _ := os.Readlink(cwd); at == dir {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline"))
			t.Errorf("a daemon lives: %q", cmdline)
		}
	}
}
