package process

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// The name of a directory is not evidence that its content can be made again.
func TestDataInDirectoriesNamedLikeDependencies(t *testing.T) {
	t.Parallel()
	names := slices.DeleteFunc(slices.Clone(rootfs.DependencyDirs), func(d string) bool { return d == ".git" })
	all := strings.Join(names, " ")
	const made = "tool/node_modules"
	for _, c := range []struct {
		name, command string
		ws            func(t *testing.T, dir string)
		lost          []string // named, and not as before
	}{
		{name: "removed", command: "rm -rf " + all},
		{name: "nested", command: "rm -rf data"},
		{name: "overwritten", command: "for d in " + all + " data/.cache; do echo evil >$d/report.txt; rm -r $d/sub; done"},
		{name: "replaced", command: "rm -rf " + all + "; for d in " + all + "; do mkdir $d; echo x >$d/other; done"},
		{name: "made by a tool and removed", command: "rm -rf " + made, lost: []string{made}},
		{name: "made by a tool and emptied", command: "rm -rf tool", lost: []string{made}},
		{name: "made by a tool, again", command: "rm -rf " + made + "; mkdir " + made + "; echo 2 >" + made + "/.package-lock.json"},
		{name: "more than is kept", command: "rm -rf target", lost: []string{"target"}, ws: func(t *testing.T, dir string) {
			for i := range 1001 {
				dirtest.Write(t, filepath.Join(dir, "target", fmt.Sprint(i)), "")
			}
		}},
	} {
		for _, git := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/git=%v", c.name, git), func(t *testing.T) {
				t.Parallel()
				levels(t, func(t *testing.T, level sandbox.Level) {
					if level == sandbox.Bubblewrap {
						return // compares, as landlock does
					}
					base := t.TempDir()
					dir := filepath.Join(base, "ws")
					for _, d := range append([]string{"data/.cache"}, names...) {
						dirtest.Write(t, filepath.Join(dir, d, "report.txt"), "text of "+d+"\n")
						dirtest.Write(t, filepath.Join(dir, d, "sub", "d"), "more of "+d+"\n")
					}
					dirtest.Write(t, filepath.Join(dir, made, ".package-lock.json"), "1\n")
					if c.ws != nil {
						c.ws(t, dir)
					}
					dirtest.Write(t, filepath.Join(dir, ".gitignore"), strings.Join(names, "\n")+"\ndata\n")
					if git {
						dirtest.Git(t, dir, "init", "-q")
						dirtest.Git(t, dir, "add", ".gitignore")
						dirtest.Git(t, dir, "commit", "-qm", "x")
					}
					want := workOf(t, dir)
					led, err := ledger.Open(filepath.Join(base, "ledger"), overlay.Recover)
					dirtest.Must(t, err)
					defer led.Close()
					r := New(dir, "", led, WithSandbox(SandboxOptions{Level: level, Private: filepath.Join(base, "private"), Limits: sandbox.Limits{FreeMB: -1}}))
					defer r.Close()
					_, err = r.Run(ledger.AtStep(t.Context(), "1"), Cmd{Shell: c.command, Snapshot: true, Timeout: time.Minute})
					dirtest.Must(t, err)
					incomplete := led.Incomplete(t.Context())
					if named := len(incomplete) > 0; named != (c.lost != nil) {
						t.Errorf("incomplete: %q", incomplete)
					}
					for _, d := range c.lost {
						if !slices.ContainsFunc(incomplete, func(s string) bool { return strings.Contains(s, d+"/") }) {
							t.Errorf("%s is not named: %q", d, incomplete)
						}
					}
					_, err = led.All().IncludeUncertain().Undo(t.Context(), dir)
					dirtest.Must(t, err)
					got := workOf(t, dir)
					for _, p := range slices.Sorted(keys(want)) {
						lost := slices.ContainsFunc(append(c.lost, made), func(d string) bool { return p == d || strings.HasPrefix(p, d+"/") })
						if got[p] != want[p] && !lost {
							t.Errorf("%s was %q and is %q after undo", p, want[p], got[p])
						}
					}
				})
			})
		}
	}
}
