package main

import (
	"os"
	"strings"
	"testing"
)

// A proposed pipeline is accepted or declined where it is shown; a file that somebody
// writes there meanwhile is kept.
func TestProposeAtTerminal(t *testing.T) {
	t.Parallel()
	const ask = "and trust it? [y]es, [n]o: "
	for _, c := range []struct {
		name, answer, want string
		code               int
		before             func(t *testing.T, p *place)
	}{
		{"yes", "y\n", "written  .adroit/pipelines/repaired.yaml", 0, nil},
		{"no", "n\n", "declined; nothing was written", 1, nil},
		{"nothing", "\n", "declined; nothing was written", 1, nil},
		{"changed meanwhile", "yes\n", "repaired.yaml has changed meanwhile, and is kept", 1, func(t *testing.T, p *place) {
			if err := os.MkdirAll(p.path("repo/.adroit/pipelines"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.path("repo/.adroit/pipelines/repaired.yaml"), []byte("mine\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"repo/a.txt": "wrong\n", "repo/build.sh": fixBuild, "turns.yaml": fixOnce})
			if code, out := p.run("fix", "-m", "script:../turns.yaml", "--", "sh", "build.sh"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			_, out := p.run("fix", "failures", "--json")
			_, sig, _ := strings.Cut(out, `"signature": "`)
			sig, _, _ = strings.Cut(sig, `"`)
			x, wait := p.terminal(120, []string{"TERM=xterm", "NO_COLOR=1"}, "fix", "failures", "propose", sig, "--name", "repaired")
			x.expect("write it to .adroit/pipelines/repaired.yaml", "")
			if c.before != nil {
				c.before(t, p)
			}
			x.expect(ask, c.answer)
			if code := wait(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, x.text())
			}
			if !strings.Contains(x.text(), c.want) {
				t.Errorf("the screen does not show %q:\n%s", c.want, x.text())
			}
			file := p.read("repo/.adroit/pipelines/repaired.yaml")
			_, trusted := p.run("config", "trust", "--show")
			switch {
			case c.name == "yes" && (!strings.Contains(file, "replay_fix") || !strings.Contains(trusted, "trusted")):
				t.Errorf("the file is %q; %s", file, trusted)
			case c.before != nil && file != "mine\n":
				t.Errorf("the file of somebody else is %q now", file)
			case c.name != "yes" && c.before == nil && file != "":
				t.Errorf("it was written: %q", file)
			}
		})
	}
}
