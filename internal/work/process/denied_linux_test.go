package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

var denials = []Denied{{Path: "private/**", Rule: "the rule: deny private/**"}, {Path: "*.lock", Rule: "the rule: deny *.lock, it is made by a program"}}

// deniedTree makes the denied files of a workspace, and one that is not denied.
func deniedTree(t *testing.T, dir string) (state func() []string) {
	for _, p := range []string{"private/key", "private/sub/p", "lib/a.lock", "lib/free"} {
		dirtest.Write(t, filepath.Join(dir, p), "text of "+p+"\n")
	}
	dirtest.Must(t, os.Symlink("private", filepath.Join(dir, "x")))
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Git(t, dir, "add", "-A")
	dirtest.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e@x.org", "commit", "-qm", "i")
	return func() (out []string) {
		for _, f := range facts(t, dir) {
			if strings.HasPrefix(f, `"private`) || strings.Contains(f, ".lock") {
				out = append(out, f)
			}
		}
		if len(out) < 5 {
			t.Errorf("these are there: %q", out)
		}
		return out
	}
}

// changesDenied are commands that change denied files without naming them, each in another way.
var changesDenied = []string{
	`find . -name p -delete; find . -name free -delete`,
	`echo n >x/key; rm lib/free`,
	`rm -rf x/sub; rm lib/free`,
	`find . -name '*.lo*' | xargs rm; rm lib/free`,
	`for f in $(git ls-files); do [ -L $f ] || echo changed >$f; done`,
	`git rm -rqf . || true; rm -f lib/free`,
	`echo n >x/key; git add -A; git stash -q; rm lib/free`,
	`git clean -fdxq; git read-tree --empty; git clean -fdq; rm -f lib/free`,
	`sed -n 's/^+//p' >/tmp/d <<'E'
+diff --git a/private/key b/private/key
+--- a/private/key
++++ b/private/key
+@@ -1 +1 @@
+-text of private/key
++patched
E
git apply </tmp/d; rm lib/free`,
	`mv lib other; rm -f lib/free; rm -f other/free`,
	`mv lib/a* lib/b; rm lib/free`,
	`chmod -R u+w,g-r .; rm lib/free`,
	`rm -rf ./* || true`,
	`cp -r x/. copy; rm -rf private; mv copy private; rm lib/free`,
	`rm -rf lib; echo file >lib`,
	`echo new >x/new; echo new >lib/b.lock; rm lib/free`,
}

// No command changes a denied file, however it names it, and the note gives the path and the rule;
// other files are changed as usual.
func TestDenied(t *testing.T) {
	t.Parallel()
	for i, script := range changesDenied {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r, led, dir := overlaid(t)
			denied := deniedTree(t, dir)
			before := denied()
			o := ranDenied(t, r, script, denials)
			if now := denied(); !slices.Equal(now, before) {
				t.Errorf("%s changed what is denied:\n%s", script, dirtest.Diff(before, now))
			}
			same := strings.Contains(script, "stash") || strings.Contains(script, "mv copy") // they end with what was there
			if o.Uncertain || !same && !strings.Contains(o.Note, "since a rule keeps it: ") || !same && !strings.Contains(o.Note, "(the rule: deny ") {
				t.Errorf("%s: %+v", script, o)
			}
			if _, err := os.Stat(filepath.Join(dir, "lib/free")); !strings.Contains(script, ">lib") && err == nil && dirtest.Content(t, filepath.Join(dir, "lib/free")) != "changed\n" {
				t.Errorf("%s changed nothing at all: %s", script, o.Text)
			}
			if left, _ := filepath.Glob(filepath.Join(led.Dir, "overlays", "*")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

// Where a command's changes are not collected, denied files are read-only to it.
func TestDeniedWithoutOverlay(t *testing.T) {
	t.Parallel()
	for i, script := range changesDenied {
		if strings.Contains(script, "b.lock") || strings.Contains(script, "copy") || strings.Contains(script, "mv lib other") {
			continue // names that are new: said, see below
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r, _, dir := overlaid(t)
			denied := deniedTree(t, dir)
			dirtest.Write(t, filepath.Join(dir, "one"), "x")
			dirtest.Must(t, os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "two"))) // no overlay
			before := denied()
			o := ranDenied(t, r, script, denials)
			if now := denied(); !slices.Equal(now, before) {
				t.Errorf("%s changed what is denied:\n%s", script, dirtest.Diff(before, now))
			}
			if !o.Uncertain {
				t.Errorf("%s had an overlay, or changed nothing: %+v", script, o)
			}
		})
	}
	r, _, dir := overlaid(t)
	deniedTree(t, dir)
	dirtest.Write(t, filepath.Join(dir, "one"), "x")
	dirtest.Must(t, os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "two")))
	if o := ranDenied(t, r, "echo new >lib/b.lock", denials); !strings.Contains(o.Note, "although a rule is about it: lib/b.lock (the rule: deny *.lock, it is made by a program)") {
		t.Errorf("%+v", o)
	}
}

// What a killed process left to be joined is judged by the same rules.
func TestDeniedAfterKill(t *testing.T) {
	t.Parallel()
	_, _, _ = overlaid(t) // or skip
	base := t.TempDir()
	e := overlayKillJob{Dir: filepath.Join(base, "ws"), Ledger: filepath.Join(base, "ledger"), Private: filepath.Join(base, "private"), Notes: filepath.Join(base, "notes"), Points: filepath.Join(base, "points"), Script: "echo n >x/key; rm -r x/sub; rm lib/free", Kill: 1, Denied: denials}
	dirtest.Must(t, os.MkdirAll(e.Dir, 0o755))
	denied := deniedTree(t, e.Dir)
	before := denied()
	if !e.run(t) {
		t.Fatal("it was not killed")
	}
	e.Script, e.Kill = "", 0
	e.run(t)
	if now := denied(); !slices.Equal(now, before) {
		t.Errorf("%s", dirtest.Diff(before, now))
	}
	if _, err := os.Stat(filepath.Join(e.Dir, "lib/free")); err == nil {
		t.Error("nothing was joined")
	}
}
