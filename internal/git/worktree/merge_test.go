package worktree

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
)

// needGit are the cases of TestJoin that mean nothing outside of a repository.
var needGit = []string{"committed", "renamed", "renamed and changed", "ignored", "tracked although ignored", "made to be ignored", "the work tree's own lost", "the index spoiled", "marked unchanged", "a link to the repository",
	"deleted, but ignored", "a file for a full directory", "a repository made", "a repository added", "a repository made inside", "a file, then a directory"}

func TestJoin(t *testing.T) {
	put := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { dirtest.Write(t, filepath.Join(dir, name), text) }
	}
	swap := func(name, old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			text := dirtest.Content(t, filepath.Join(dir, name))
			if !strings.Contains(text, old) {
				t.Fatalf("%s has no %q", name, old)
			}
			dirtest.Write(t, filepath.Join(dir, name), strings.Replace(text, old, new, 1))
		}
	}
	sh := func(script string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			r := process.New(dir, "", nil)
			defer r.Close()
			if o, err := r.Run(t.Context(), process.Cmd{Shell: script}); err != nil || o.Code != 0 {
				t.Fatalf("%s: %+v, %v", script, o, err)
			}
		}
	}
	nothing := func(*testing.T, string) {}
	for name, c := range map[string]struct {
		here, there func(*testing.T, string)
		want        map[string]string // content here afterwards; "-": nothing is there
		paths, no   []string
		why         string // part of the reason of the first conflict
	}{
		"nothing":               {here: put("long.txt", "here\n"), there: nothing},
		"a file":                {here: nothing, there: put("long.txt", "there\n"), want: map[string]string{"long.txt": "there\n"}, paths: []string{"long.txt"}},
		"different files":       {here: put("b", "here\n"), there: put("long.txt", "there\n"), want: map[string]string{"long.txt": "there\n", "b": "here\n"}, paths: []string{"long.txt"}},
		"the same change":       {here: put("long.txt", "same\n"), there: put("long.txt", "same\n"), want: map[string]string{"long.txt": "same\n"}},
		"different places":      {here: swap("long.txt", "l2\n", "here\n"), there: swap("long.txt", "l18\n", "there\nand more\n"), want: map[string]string{"long.txt": strings.NewReplacer("l2\n", "here\n", "l18\n", "there\nand more\n").Replace(dirtest.Twenty)}, paths: []string{"long.txt"}},
		"the same line":         {here: swap("long.txt", "l9\n", "here\n"), there: swap("long.txt", "l9\n", "there\n"), want: map[string]string{"long.txt": strings.Replace(dirtest.Twenty, "l9\n", "here\n", 1)}, no: []string{"long.txt"}, why: "same lines"},
		"different line ends":   {here: swap("crlf", "b\r\n", "here\r\n"), there: swap("crlf", "h\r\n", "there\r\n"), want: map[string]string{"crlf": "a\r\nhere\r\nc\r\nd\r\ne\r\nf\r\ng\r\nthere\r\n"}, paths: []string{"crlf"}},
		"line ends converted":   {here: swap("crlf", "b\r\n", "here\r\n"), there: put("crlf", "a\nb\nc\nd\ne\nf\ng\nh\n"), want: map[string]string{"crlf": "a\r\nhere\r\nc\r\nd\r\ne\r\nf\r\ng\r\nh\r\n"}, no: []string{"crlf"}},
		"binary":                {here: put("bin", "\x00here"), there: put("bin", "\x00there"), want: map[string]string{"bin": "\x00here"}, no: []string{"bin"}, why: "no text"},
		"binary there":          {here: nothing, there: put("bin", "\x00there"), want: map[string]string{"bin": "\x00there"}, paths: []string{"bin"}},
		"new on both sides":     {here: put("n", "here\n"), there: put("n", "there\n"), want: map[string]string{"n": "here\n"}, no: []string{"n"}, why: "new on both sides"},
		"new in a directory":    {here: nothing, there: put("x/y/z.txt", "there\n"), want: map[string]string{"x/y/z.txt": "there\n"}, paths: []string{"x/y/z.txt"}},
		"deleted there":         {here: nothing, there: sh("rm d0/f0.txt"), want: map[string]string{"d0/f0.txt": "-"}, paths: []string{"d0/f0.txt"}},
		"a directory deleted":   {here: nothing, there: sh("rm -r d0"), want: map[string]string{"d0": "-"}, paths: []string{"d0/f0.txt", "d0/f12.txt", "d0/f16.txt", "d0/f4.txt", "d0/f8.txt"}},
		"deleted, but ignored":  {here: put("d0/x.log", "log\n"), there: sh("rm -r d0"), want: map[string]string{"d0/x.log": "log\n", "d0/f0.txt": "-"}, paths: []string{"d0/f0.txt", "d0/f12.txt", "d0/f16.txt", "d0/f4.txt", "d0/f8.txt"}},
		"deleted and changed":   {here: put("d0/f0.txt", "here\n"), there: sh("rm d0/f0.txt"), want: map[string]string{"d0/f0.txt": "here\n"}, no: []string{"d0/f0.txt"}, why: "deleted in the copy"},
		"changed and deleted":   {here: sh("rm d0/f0.txt"), there: put("d0/f0.txt", "there\n"), want: map[string]string{"d0/f0.txt": "-"}, no: []string{"d0/f0.txt"}, why: "deleted here"},
		"deleted on both sides": {here: sh("rm d0/f0.txt"), there: sh("rm d0/f0.txt"), want: map[string]string{"d0/f0.txt": "-"}},
		"renamed":               {here: nothing, there: sh("git mv d0/f0.txt moved.txt"), want: map[string]string{"d0/f0.txt": "-", "moved.txt": "file 0\nline\n"}, paths: []string{"d0/f0.txt", "moved.txt"}},
		"renamed and changed":   {here: put("d0/f0.txt", "here\n"), there: sh("git mv d0/f0.txt moved.txt"), want: map[string]string{"d0/f0.txt": "here\n", "moved.txt": "file 0\nline\n"}, paths: []string{"moved.txt"}, no: []string{"d0/f0.txt"}},
		"mode":                  {here: nothing, there: sh("chmod 755 long.txt"), want: map[string]string{"long.txt": dirtest.Twenty}, paths: []string{"long.txt"}},
		"mode and content":      {here: swap("long.txt", "l9\n", "here\n"), there: sh("chmod 755 long.txt"), want: map[string]string{"long.txt": strings.Replace(dirtest.Twenty, "l9\n", "here\n", 1)}, paths: []string{"long.txt"}},
		"two modes":             {here: sh("chmod 600 long.txt"), there: sh("chmod 755 long.txt"), want: map[string]string{"long.txt": dirtest.Twenty}, no: []string{"long.txt"}, why: "its mode"},
		"a file for a directory": {here: nothing, there: sh("rm -r d0 && echo there > d0"), want: map[string]string{"d0": "there\n"},
			paths: []string{"d0", "d0/f0.txt", "d0/f12.txt", "d0/f16.txt", "d0/f4.txt", "d0/f8.txt"}},
		"a file for a full directory": {here: put("d0/x.log", "log\n"), there: sh("rm -r d0 && echo there > d0"), want: map[string]string{"d0/f0.txt": "file 0\nline\n", "d0/x.log": "log\n"},
			no: []string{"d0", "d0/f0.txt", "d0/f12.txt", "d0/f16.txt", "d0/f4.txt", "d0/f8.txt"}, why: "is a directory here"},
		"a directory for a file":          {here: nothing, there: sh("rm long.txt && mkdir long.txt && echo there > long.txt/x"), want: map[string]string{"long.txt/x": "there\n"}, paths: []string{"long.txt", "long.txt/x"}},
		"a directory for a changed file":  {here: put("long.txt", "here\n"), there: sh("rm long.txt && mkdir long.txt && echo there > long.txt/x"), want: map[string]string{"long.txt": "here\n"}, no: []string{"long.txt", "long.txt/x"}},
		"a directory and a file":          {here: put("n/x", "here\n"), there: put("n", "there\n"), want: map[string]string{"n/x": "here\n"}, no: []string{"n"}},
		"a file and a directory":          {here: put("n", "here\n"), there: put("n/x", "there\n"), want: map[string]string{"n": "here\n"}, no: []string{"n/x"}, why: "n is a file here"},
		"a directory here, nothing there": {here: sh("rm long.txt && mkdir long.txt && echo here > long.txt/x"), there: sh("rm long.txt"), want: map[string]string{"long.txt/x": "here\n"}},
		"a directory here, changed there": {here: sh("rm long.txt && mkdir long.txt && echo here > long.txt/x"), there: put("long.txt", "there\n"), want: map[string]string{"long.txt/x": "here\n"}, no: []string{"long.txt"}},
		"a link":                          {here: nothing, there: sh("ln -s long.txt l"), want: map[string]string{"l": dirtest.Twenty}, paths: []string{"l"}},
		"a link elsewhere":                {here: nothing, there: sh("ln -sfn long.txt ln"), want: map[string]string{"ln": dirtest.Twenty}, paths: []string{"ln"}},
		"a link out":                      {here: nothing, there: sh("ln -s ../../secret l"), want: map[string]string{"l": "-"}, no: []string{"l"}, why: "leads outside"},
		"an absolute link":                {here: nothing, there: sh("ln -s /etc/passwd l"), want: map[string]string{"l": "-"}, no: []string{"l"}, why: "absolute"},
		"a link round a corner":           {here: nothing, there: sh("ln -s d0/../long.txt l"), want: map[string]string{"l": "-"}, no: []string{"l"}},
		"a link to a secret":              {here: put(".env", "T=1\n"), there: sh("ln -s .env l"), want: map[string]string{"l": "-"}, no: []string{"l"}},
		"a link to the repository":        {here: nothing, there: sh("ln -s .git/config l"), want: map[string]string{"l": "-"}, no: []string{"l"}},
		"a directory made a link": {here: nothing, there: sh("rm -r d0 && ln -s /etc d0"), want: map[string]string{"d0/f0.txt": "file 0\nline\n"},
			no: []string{"d0", "d0/f0.txt", "d0/f12.txt", "d0/f16.txt", "d0/f4.txt", "d0/f8.txt"}},
		"a directory made a link here": {here: sh("mv d0 moved && ln -s moved d0"), there: put("d0/f0.txt", "there\n"), want: map[string]string{"moved/f0.txt": "file 0\nline\n"}, no: []string{"d0/f0.txt"}},
		"a pipe":                       {here: nothing, there: sh("rm long.txt && mkfifo long.txt"), want: map[string]string{"long.txt": dirtest.Twenty}, no: []string{"long.txt"}, why: "no file"},
		"a secret":                     {here: nothing, there: put(".env", "T=1\n"), want: map[string]string{".env": "-"}, no: []string{".env"}, why: "list of secrets"},
		"what configures agents":       {here: nothing, there: put(".claude/settings.json", "{}"), want: map[string]string{".claude": "-"}, no: []string{".claude/settings.json"}},
		"ignored":                      {here: nothing, there: put("x.log", "there\n"), want: map[string]string{"x.log": "-"}},
		"tracked although ignored":     {here: nothing, there: put("forced.log", "there\n"), want: map[string]string{"forced.log": "there\n"}, paths: []string{"forced.log"}},
		"made to be ignored":           {here: nothing, there: sh("echo long.txt >> .gitignore; echo there > long.txt"), want: map[string]string{"long.txt": "there\n"}, paths: []string{".gitignore", "long.txt"}},
		"committed": {here: nothing, there: sh("echo one > c1; git add c1; git commit -qm one; echo two > c2; git add c2; git commit -qm two; echo three > c3; echo x > f.log; git add -f f.log; git commit -qm log f.log"),
			want: map[string]string{"c1": "one\n", "c2": "two\n", "c3": "three\n", "f.log": "x\n"}, paths: []string{"c1", "c2", "c3", "f.log"}},
		"a repository made":        {here: nothing, there: sh("git init -q in && echo x > in/x"), want: map[string]string{"in": "-"}, no: []string{"in"}, why: "repository of its own"},
		"a repository added":       {here: nothing, there: sh("git init -q in && cd in && echo x > x && git add x && git commit -qm x && cd .. && git add in 2>/dev/null"), want: map[string]string{"in": "-"}, no: []string{"in"}, why: "repository of its own"},
		"a repository made inside": {here: nothing, there: sh("cd d0 && git init -q && echo new > n && echo there > f0.txt"), want: map[string]string{"d0/n": "new\n", "d0/f0.txt": "there\n"}, paths: []string{"d0/f0.txt", "d0/n"}},
		"a file, then a directory": {here: nothing, there: sh("echo x > n && git add n && rm n && mkdir n && echo new > n/x"), want: map[string]string{"n/x": "new\n"}, paths: []string{"n/x"}},
		"the work tree's own lost": {here: nothing, there: sh("rm .git && git init -q && echo there > long.txt"), want: map[string]string{"long.txt": "there\n"}, paths: []string{"long.txt"}},
		"the index spoiled":        {here: nothing, there: sh(`echo bad > "$(git rev-parse --git-dir)/index"; echo there > long.txt; echo new > n`), want: map[string]string{"long.txt": "there\n", "n": "new\n"}, paths: []string{"long.txt", "n"}},
		"marked unchanged":         {here: nothing, there: sh("git update-index --assume-unchanged long.txt && git update-index --skip-worktree d0/f0.txt && echo there > long.txt && echo there > d0/f0.txt"), want: map[string]string{"long.txt": "there\n", "d0/f0.txt": "there\n"}, paths: []string{"d0/f0.txt", "long.txt"}},
		"touched as before":        {here: nothing, there: sh("touch -r long.txt stamp; tr l k < long.txt > x; cat x > long.txt; touch -r stamp long.txt; rm stamp x"), want: map[string]string{"long.txt": strings.ReplaceAll(dirtest.Twenty, "l", "k")}, paths: []string{"long.txt"}},
		"odd names":                {here: nothing, there: sh("echo a > '-n'; echo b > 'a b\tc'; printf d > \"$(printf 'caf\\303\\251')\"; echo e > \"$(printf '\\377')\""), want: map[string]string{"-n": "a\n", "a b\tc": "b\n", "café": "d", "\xff": "e\n"}, paths: []string{"-n", "a b\tc", "café", "\xff"}},
	} {
		for _, kind := range []string{"git", "plain"} {
			if kind == "plain" && slices.Contains(needGit, name) {
				continue
			}
			if !testenv.Chosen(t, 3, name+kind) {
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				f, led, dir := workspacetest.Open(t)
				if kind == "git" {
					t.Setenv("HOME", t.TempDir())
					dirtest.Write(t, filepath.Join(os.Getenv("HOME"), ".gitconfig"), "[user]\n\tname = A\n\temail = a@example.org\n")
					f, led, dir = workspacetest.Repository(t)
				} else {
					for _, n := range []string{"0", "4", "8", "12", "16"} {
						dirtest.Write(t, filepath.Join(dir, "d0/f"+n+".txt"), "file "+n+"\nline\n")
					}
					dirtest.Write(t, filepath.Join(dir, "bin"), "\x00\x01\x02")
					dirtest.Must(t, os.Symlink("bin", filepath.Join(dir, "ln")))
				}
				dirtest.Write(t, filepath.Join(dir, "long.txt"), dirtest.Twenty)
				dirtest.Write(t, filepath.Join(dir, "crlf"), "a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng\r\nh\r\n")
				if kind == "git" {
					dirtest.Write(t, filepath.Join(dir, "forced.log"), "x\n")
					dirtest.Git(t, dir, "add", "-f", "forced.log")
				}
				cp := twinned(t, dir, "adroit/J1/w1")
				if cp.Plain != (kind == "plain") {
					t.Fatalf("%+v", cp)
				}
				child, err := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
				dirtest.Must(t, err)
				// What is done there is done by commands that are noted.
				s, err := child.Snapshot(t.Context(), cp.Dir())
				dirtest.Must(t, err)
				c.there(t, cp.Dir())
				if _, err := s.Record(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.here(t, dir)
				before := dirtest.WorkTree(t, dir)
				j, err := cp.Merge(t.Context(), f.At("7"), child)
				if err != nil {
					t.Fatal(err)
				}
				var no []string
				for _, s := range j.Conflicts {
					no = append(no, s.Path)
				}
				if !slices.Equal(j.Paths, c.paths) || !slices.Equal(no, c.no) || len(no) > 0 && !strings.Contains(j.Conflicts[0].Reason, c.why) {
					t.Errorf("brought %q, in conflict %q", j.Paths, j.Conflicts)
				}
				for _, name := range slices.Sorted(maps.Keys(c.want)) {
					b, err := os.ReadFile(filepath.Join(dir, name))
					if want := c.want[name]; want == "-" && err == nil || want != "-" && string(b) != want {
						t.Errorf("%s is %q, %v; want %q", name, b, err, want)
					}
				}
				_, gone := os.Lstat(cp.Tree.Top)
				if (len(no) == 0) != os.IsNotExist(gone) || (len(no) > 0) != (j.Kept == cp.Dir()) {
					t.Errorf("%+v is kept: %v", j, gone)
				}
				again, err := cp.Merge(t.Context(), f.At("7"), child)
				if err != nil || !slices.Equal(again.Paths, j.Paths) {
					t.Errorf("the second time: %+v, %v", again, err)
				}
				steps, err := led.Steps(t.Context())
				if err != nil || (len(j.Paths) > 0) != (len(steps) == 1 && steps[0].Step == "7") {
					t.Errorf("in the ledger: %+v, %v", steps, err)
				}
				if u, err := led.Undo(t.Context(), dir); err != nil || len(u.Skipped) > 0 {
					t.Errorf("undo: %+v, %v", u, err)
				}
				if after := dirtest.WorkTree(t, dir); !slices.Equal(after, before) {
					t.Errorf("undo did not bring everything back:\n%s", dirtest.Diff(before, after))
				}
				if kind == "git" {
					if j.Branch != "" {
						dirtest.Git(t, dir, "cat-file", "-e", j.Branch+"^{tree}")
					}
					if err := cp.Remove(t.Context()); err != nil {
						t.Error(err)
					}
					if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*"); out != "" && name != "the work tree's own lost" {
						t.Errorf("left over: %s", out)
					}
				}
			})
		}
	}
}
