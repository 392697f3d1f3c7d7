package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oldDir holds the unpacked data directories. Jobs store the absolute path of
// their workspace, so it is the same on each machine.
const oldDir = "/tmp/adroit-old-data"

// oldFiles are the agents, pipelines and files that the old jobs ran with.
var oldFiles = map[string]string{
	"repo/b.txt":                          "old\n",
	"home/.config/adroit/agents/hand.md":  hand,
	"home/.config/adroit/agents/lead.md":  accounted["home/.config/adroit/agents/lead.md"],
	"home/.config/adroit/agents/mid.md":   accounted["home/.config/adroit/agents/mid.md"],
	"home/.config/adroit/agents/leaf.md":  accounted["home/.config/adroit/agents/leaf.md"],
	"home/.config/adroit/agents/named.md": "---\nname: named\ndescription: Answers.\n---\nYou answer.\n",
	"home/.config/adroit/pipelines/steps.yaml": `steps:
  - {id: one, run: echo x >>once}
  - {id: ask, agent: named, input: "{{input}}", output: seen}
  - id: group
    parallel:
      - {id: a, agent: named, input: again}
      - {id: b, run: echo x >>twice}
  - {id: die, run: "test -e died || { touch died; kill -9 $PPID; sleep 5; }", onFailure: continue}
  - {id: w, tool: write_file, args: {path: o.txt, content: "{{seen}} and done"}}
  - {id: show, run: cat o.txt}
`,
	"home/.config/adroit/pipelines/check.yaml": `steps:
  - {id: one, run: echo x >>once}
  - {id: two, agent: named, input: "{{input}}"}
  - {id: check, run: test -e fixed}
  - {id: three, run: echo x >>twice}
`,
}

const oldAnswer = "turns: [{text: seen}, {text: seen}, {text: seen}]\n"

// An oldCommand runs adroit and checks its exit code and a regular expression
// for each fact of its output.
type oldCommand struct {
	args  string
	code  int
	wants []string
}

// Each old job was stopped in a certain state by the release named in the path
// of its archive.
var oldJobs = []struct {
	name  string
	files map[string]string // besides oldFiles
	run   []string
	kill  int // the failpoint of that release that killed the job; 0 for none
	code  int // the exit code if not killed by a failpoint
	git   bool

	edit map[string]string // files changed before the job is resumed
	then []oldCommand
	tree map[string]string // files of the workspace at the end; "" for one that must not exist
	undo bool              // then undo the job, which leaves b.txt as it was
}{
	{
		name: "tool_call",
		files: map[string]string{"turns.yaml": `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "one\n"}}]
  - calls: [{name: shell, args: {command: "echo x >>log; test -e died || { touch died; kill -9 $PPID; sleep 5; }"}}]
  - {expect: {contains: may or may not have happened}, calls: [{name: finish, args: {summary: Checked it.}}]}
`},
		run:  []string{"run", "hand", "go", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off"},
		code: -int(syscall.SIGKILL),
		then: []oldCommand{{"continue last", 0, []string{"may or may not have happened", "Checked it", "(?m)^done"}}},
		tree: map[string]string{"log": "x\n", "a.txt": "one\n"},
	},
	{
		name:  "edit",
		files: map[string]string{"turns.yaml": ten, "home/.config/adroit/agents/editor.md": editor},
		run:   kinds,
		kill:  34,
		then:  []oldCommand{{"continue last", 0, []string{"Ten calls made", "(?m)^done"}}, {"jobs steps last", 0, []string{"write_file", "edit_file"}}},
		tree:  map[string]string{"a.txt": "one\nthree\n", "b.txt": "new\n", "d.txt": "e\n", "log": "x\n"},
		undo:  true,
	},
	{
		name: "approval",
		files: map[string]string{"turns.yaml": `turns:
  - calls: [{name: shell, args: {command: "echo x >>log"}}]
  - calls: [{name: finish, args: {summary: Made.}}]
`},
		run:  []string{"run", "hand", "go", "-m", "script:../turns.yaml"},
		code: 4,
		then: []oldCommand{
			{"jobs show last", 0, []string{"waiting", "echo x >>log"}},
			{"answer signal last approve", 0, []string{"echo x >>log"}},
			{"continue last", 0, []string{"Made", "(?m)^done"}},
		},
		tree: map[string]string{"log": "x\n"},
	},
	{
		name:  "pipeline",
		files: map[string]string{"turns.yaml": oldAnswer},
		run:   []string{"run", "steps", "the task", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off"},
		code:  -int(syscall.SIGKILL),
		then:  []oldCommand{{"continue last", 4, []string{"nobody can tell"}}, {"answer approve last", 0, []string{"seen and done", `one +done`, "(?m)^done"}}},
		tree:  map[string]string{"once": "x\n", "twice": "x\n", "o.txt": "seen and done"},
	},
	{
		name:  "validate",
		files: map[string]string{"turns.yaml": mends, "stages.json": stages, "repo/word": "wrong\n"},
		run:   []string{"run", "validate", "-m", "script:../turns.yaml", "-i", "stages=@../stages.json", "--approve", "all"},
		kill:  49,
		then:  []oldCommand{{"continue last", 0, []string{"first  passed", "word   fixed   after 1 attempt", "last   passed"}}},
		tree:  map[string]string{"word": "right\n"},
	},
	{
		name:  "subagent",
		files: map[string]string{"repo/a.txt": "a\n", "turns.yaml": accounted["turns.yaml"]},
		run:   []string{"run", "lead", "Look.", "-m", "script:../turns.yaml"},
		kill:  64,
		then:  []oldCommand{{"continue last", 0, []string{"Seen", "(?m)^done"}}, {"jobs show last", 0, []string{"mid", "leaf"}}},
	},
	{
		name:  "supervisor",
		files: map[string]string{"repo/a.txt": "a\n", "turns.yaml": led},
		run:   []string{"run", "supervisor", "Write both.", "-m", "script:../turns.yaml"},
		kill:  120,
		git:   true,
		then:  []oldCommand{{"continue last", 0, []string{"(?m)^done"}}, {"jobs artifacts last result", 0, []string{`"fixed": true`, `"reviewed": true`}}},
		tree:  map[string]string{"left.txt": "LEFT\n", "right.txt": "right\n"},
	},
	{
		name:  "failed",
		files: map[string]string{"turns.yaml": "turns:\n  - error: {kind: auth, message: bad key}\n"},
		run:   []string{"run", "check", "go", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off"},
		code:  1,
		edit:  map[string]string{"turns.yaml": oldAnswer, "repo/fixed": ""},
		then:  []oldCommand{{"jobs show last", 0, []string{"failed", "bad key"}}, {"continue last", 0, []string{"(?m)^done"}}},
		tree:  map[string]string{"once": "x\n", "twice": "x\n"},
	},
	{
		name:  "done",
		files: map[string]string{"turns.yaml": ten, "home/.config/adroit/agents/editor.md": editor},
		run:   kinds,
		code:  0,
		then:  []oldCommand{{"jobs show last", 0, []string{"done", "Ten calls made"}}, {"jobs diff last", 0, []string{`\+three`}}, {"continue last", 2, []string{"has ended"}}},
		undo:  true,
	},
	{
		name: "limit",
		files: map[string]string{"turns.yaml": `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "1\n"}}]
  - calls: [{name: write_file, args: {path: a.txt, content: "2\n"}}]
  - text: I wrote a lot.
  - {expect: {contains: You may go on now}, calls: [{name: finish, args: {summary: Written.}}]}
`},
		run:  []string{"run", "hand", "go", "-m", "script:../turns.yaml", "--approve", "all", "--max-turns", "2"},
		code: 3,
		then: []oldCommand{
			{"continue last", 2, []string{"the limit of 2 turns"}},
			{"continue last --max-turns 10", 0, []string{"resumed with other limits: 10 turns", "Written", "(?m)^done"}},
		},
		tree: map[string]string{"a.txt": "2\n"},
		undo: true,
	},
}

// TestOldDataDirectories unpacks data directories that an earlier release left
// behind, and has this program show, resume and undo their jobs.
//
// A release makes its archives with ADROIT_OLD_MAKE=FILE, which names a program
// of that release built with -tags failpoints.
func TestOldDataDirectories(t *testing.T) {
	t.Parallel()
	maker := os.Getenv("ADROIT_OLD_MAKE")
	lockOldDir(t)
	for _, c := range oldJobs {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(oldDir, c.name)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			archive := filepath.Join("testdata", "old", "2026-11-22", c.name+".tar.gz")
			files := map[string]string{}
			if maker != "" {
				for _, m := range []map[string]string{oldFiles, c.files} {
					for name, text := range m {
						files[name] = text
					}
				}
			} else {
				unpack(t, archive, dir)
			}
			p := newPlaceIn(t, dir, files)
			if c.git {
				p.env = append(p.env, "GIT_CONFIG_GLOBAL="+p.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=")
			}
			if maker != "" {
				p.bin = maker
				if c.git {
					p.git("init", "-q", "-b", "main")
					p.git("config", "user.name", "x")
					p.git("config", "user.email", "x@example.org")
					p.git("add", ".")
					p.git("commit", "-qm", "Begin")
				}
				want := c.code
				if c.kill > 0 {
					p.env = append(p.env, fmt.Sprintf("ADROIT_KILL_AT=%d", c.kill))
					want = -int(syscall.SIGKILL)
				}
				if code, out := p.run(c.run...); code != want {
					t.Fatalf("exit code %d, want %d\n%s", code, want, out)
				}
				pack(t, dir, archive)
				return
			}
			if code, out := p.run("jobs"); code != 0 || !strings.Contains(out, "J") {
				t.Errorf("jobs: exit code %d\n%s", code, out)
			}
			if code, out := p.run("jobs", "show", "last"); code != 0 {
				t.Errorf("jobs show: exit code %d\n%s", code, out)
			}
			for name, text := range c.edit {
				if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, cmd := range c.then {
				code, out := p.run(strings.Fields(cmd.args)...)
				if code != cmd.code {
					t.Errorf("%s: exit code %d, want %d\n%s", cmd.args, code, cmd.code, out)
				}
				for _, want := range cmd.wants {
					if !regexp.MustCompile(want).MatchString(out) {
						t.Errorf("%s: no match for %q\n%s", cmd.args, want, out)
					}
				}
			}
			tree := p.files()
			for name, want := range c.tree {
				if tree[name] != want {
					t.Errorf("%s holds %q, want %q", name, tree[name], want)
				}
			}
			if !c.undo {
				return
			}
			if code, out := p.run("jobs", "undo", "last"); code != 0 {
				t.Errorf("jobs undo: exit code %d\n%s", code, out)
			}
			if got := p.tree(); len(got) != 1 || got["b.txt"] != "old\n" {
				t.Errorf("after undo the tree is %v", got)
			}
		})
	}
}

// lockOldDir makes oldDir and keeps other test processes of this machine out
// of it until the test ends.
func lockOldDir(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(oldDir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.RemoveAll(oldDir)
		f.Close() // which unlocks it
	})
	if err := os.RemoveAll(oldDir); err != nil {
		t.Fatal(err)
	}
}

// pack writes what is below dir to a compressed archive, in the order of names.
func pack(t *testing.T, dir, archive string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() && !st.IsDir() {
			return err
		}
		h, err := tar.FileInfoHeader(st, "")
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		h.Name, h.Format = filepath.ToSlash(rel), tar.FormatPAX
		h.Uid, h.Gid, h.Uname, h.Gname, h.AccessTime, h.ChangeTime = 0, 0, "", "", time.Time{}, time.Time{}
		if err := w.WriteHeader(h); err != nil || st.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
	if err := errors.Join(err, w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// unpack is the reverse of pack.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []*tar.Header // a file written later would change their times
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
			err = os.MkdirAll(path, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.WriteFile(path, b, 0o600), os.Chmod(path, h.FileInfo().Mode().Perm()), os.Chtimes(path, h.ModTime, h.ModTime))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range slices.Backward(dirs) {
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(os.Chmod(path, h.FileInfo().Mode().Perm()), os.Chtimes(path, h.ModTime, h.ModTime)); err != nil {
			t.Fatal(err)
		}
	}
}
