package adroit_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/test"
	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/tools"
)

// hostileRepositories have what makes go run programs, or fetch them. evil.sh
// leaves a mark beside itself and, if it can, one outside of the workspace.
var hostileRepositories = []struct {
	name  string
	files map[string]string
	plant string // a command that ran before
	runs  bool   // in the sandbox, where it may
}{
	{name: "cgo flags", files: map[string]string{
		"go.mod": "module x\n\ngo 1.24\n",
		"x.go":   "package x\n\n// #cgo CFLAGS: -wrapper ./evil.sh\n// #cgo LDFLAGS: -fuse-ld=./evil.sh -B.\n// int f(void) { return 1; }\nimport \"C\"\n\nfunc F() int { return int(C.f()) }\n"}},
	{name: "go:generate", files: map[string]string{
		"go.mod": "module x\n\ngo 1.24\n",
		"x.go":   "package x\n\n//go:generate sh evil.sh true\nfunc F() int { return 1 }\n"}},
	{name: "toolchain line", files: map[string]string{
		"go.mod": "module x\n\ngo 1.24\n\ntoolchain go1.99.0\n",
		"x.go":   "package x\n\nfunc F() int { return 1 }\n"}},
	{name: "go.env of the repository", files: map[string]string{
		"go.mod": "module x\n\ngo 1.24\n", "go.env": "GOFLAGS=-toolexec=WS/evil.sh\n", ".config/go/env": "GOFLAGS=-toolexec=WS/evil.sh\n",
		"x.go": "package x\n\nfunc F() int { return 1 }\n"}},
	{name: "go.env that a command wrote", runs: true, plant: "go env -w GOFLAGS=-toolexec=WS/evil.sh", files: map[string]string{
		"go.mod": "module x\n\ngo 1.24\n",
		"x.go":   "package x\n\nfunc F() int { return 1 }\n"}},
}

// Conformance 45: whatever of it runs runs in the sandbox, whoever asked go:
// run_tests, diagnostics by go vet, or the language server as it starts.
func TestHostileRepositories(t *testing.T) {
	level := sandbox.Choose(sandbox.Auto)
	if level.Err() != nil || level.Level == sandbox.Off {
		t.Skip("there is no sandbox here")
	}
	t.Setenv("GOFLAGS", "") // what a command writes to go.env counts only where the user has set none
	if bin := os.Getenv("GOPLS_BIN"); bin != "" {
		t.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	for _, c := range hostileRepositories {
		t.Run(c.name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			put := func(name, text string, mode os.FileMode) {
				at := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, "WS", dir)), mode); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range c.files {
				put(name, text, 0o644)
			}
			put("x_test.go", "package x\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif F() != 1 {\n\t\tt.Fatal()\n\t}\n}\n", 0o644)
			put("evil.sh", "#!/bin/sh\necho x >>WS/ran\necho x 2>/dev/null >>"+out+"/canary\nexec \"$@\"\n", 0o755)
			ran, canary := filepath.Join(dir, "ran"), filepath.Join(out, "canary")
			there := func(name string) bool { _, err := os.Stat(name); return err == nil }
			if err := exec.Command(filepath.Join(dir, "evil.sh"), "true").Run(); err != nil || !there(ran) || !there(canary) {
				t.Fatalf("the trap does not work: %v", err)
			}

			home := t.TempDir()
			b, err := jobdir.OpenWorkspace(dir, home, process.WithSandbox(process.SandboxOptions{Level: level.Level, Private: filepath.Join(home, "sandbox")}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			b.StartServers(lsp.Known())
			env, err := b.Env(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			if c.plant != "" {
				if o, err := env.Exec.Run(t.Context(), process.Cmd{Shell: strings.ReplaceAll(c.plant, "WS", dir)}); err != nil || o.Code != 0 {
					t.Fatalf("%+v, %v", o, err)
				}
			}
			bare := *env
			bare.Code = nil
			for _, by := range []struct {
				name string
				tool tools.Tool
				env  *tools.Env
				args string
			}{
				{"run_tests", test.Run, env, `{}`}, {"go vet", partstest.Tool("diagnostics"), &bare, `{"path":"x.go"}`}, {"gopls", partstest.Tool("diagnostics"), env, `{"path":"x.go"}`},
			} {
				if _, err := exec.LookPath("gopls"); err != nil && by.name == "gopls" {
					t.Log("gopls is not installed; set GOPLS_BIN to what internal/dev/e2e/build.sh gopls prints")
					continue
				}
				_ = os.Remove(ran)
				_ = os.Remove(canary)
				r, err := by.tool.Run(t.Context(), by.env, json.RawMessage(by.args))
				if err != nil || strings.Contains(r.Text, "was not called") {
					t.Errorf("%s: %s, %v", by.name, r.Text, err)
				}
				t.Logf("%s: %.200q", by.name, r.Text)
				if there(canary) {
					t.Errorf("%s: it ran outside of the sandbox", by.name)
				}
				if there(ran) && !c.runs {
					t.Errorf("%s: it ran", by.name)
				}
				if by.name == "run_tests" && there(ran) != c.runs {
					t.Errorf("%s: ran is %v, want %v", by.name, there(ran), c.runs)
				}
			}
		})
	}
}
