package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// Another program that may write in the workspace exchanges a directory for a link while a
// command's changes are joined. The join works on the files that it opened: it links, changes and
// reads nothing outside.
func TestOverlayJoinStaysInside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		flip, point  string // which directory becomes a link, and when
	}{
		{"a hard link to a file of the workspace", "ln a/f newlink", "a", "noted"},
		{"a hard link, after the first name was joined", "ln a/f newlink", "a", "did a/f"},
		{"the mode of a directory", "chmod 0777 a", "a", "noted"},
		{"the mode of a directory that is new", "mkdir n && chmod 0770 n && echo x >n/x && mv .vscode n/", "n", "did n"},
		{"a file in place", "echo more >>a/log", "a", "noted"},
		{"a file replaced", "echo more >>a/f", "a", "noted"},
		{"a file removed", "rm a/f a/log", "a", "noted"},
		{"a directory removed", "rm -r a", "a", "noted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, led, dir := overlaid(t)
			dirtest.Git(t, dir, "init", "-q")
			outside := filepath.Join(filepath.Dir(dir), "outside")
			for _, d := range []string{filepath.Join(dir, "a"), outside} {
				dirtest.Write(t, filepath.Join(d, "f"), "text\n")
				dirtest.Write(t, filepath.Join(d, "log"), "log\n")
				dirtest.Write(t, filepath.Join(d, "x"), "x\n")
			}
			dirtest.Write(t, filepath.Join(dir, ".gitignore"), "log\n")
			dirtest.Must(t, os.Chmod(outside, 0o700))
			dirtest.Must(t, os.Symlink(outside, filepath.Join(dir, "l")))
			want := treeOf(t, outside)
			var links unix.Stat_t
			dirtest.Must(t, unix.Stat(filepath.Join(outside, "f"), &links))
			flipped := false
			led.JoinPoint = func(point string) {
				if point == c.point && !flipped {
					flipped = true
					dirtest.Must(t, unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, c.flip), unix.AT_FDCWD, filepath.Join(dir, "l"), unix.RENAME_EXCHANGE))
				}
			}
			o := ran(t, r, strings.ReplaceAll(c.script, ".vscode", ".gitignore"))
			if o.Uncertain || !flipped {
				t.Fatalf("uncertain %v, flipped %v: this shows nothing", o.Uncertain, flipped)
			}
			if got := treeOf(t, outside); got != want {
				t.Errorf("outside is\n%s\nand was\n%s", got, want)
			}
			var now unix.Stat_t
			dirtest.Must(t, unix.Stat(filepath.Join(outside, "f"), &now))
			if now.Nlink != links.Nlink || now.Mode != links.Mode {
				t.Errorf("outside/f has %d names, mode %o", now.Nlink, now.Mode)
			}
		})
	}
}
