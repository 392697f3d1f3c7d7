package ledger_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// TestStale: changes by others to a file that the job has read or written are found, and untouched
// files are not reported.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	led, err := ledger.Open(t.TempDir(), nil)
	must(t, err)
	defer led.Close()
	files, err := workspace.Open(dir, led)
	must(t, err)
	defer files.Close()
	job := files.At("1")
	for _, name := range []string{"read.txt", "readsame.txt", "readgone.txt", "never.txt"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("old "+name), 0o600))
	}
	for _, name := range []string{"read.txt", "readsame.txt", "readgone.txt"} {
		_, err := job.ReadFile(name)
		must(t, err)
	}
	for _, name := range []string{"d/wrote.txt", "wrotesame.txt", "wrotegone.txt", "undone.txt"} {
		must(t, job.WriteFile(name, []byte("new")))
	}
	if s, err := led.Stale(t.Context(), dir); err != nil || !reflect.DeepEqual(s, ledger.Stale{}) {
		t.Errorf("nobody touched anything: %+v, %v", s, err)
	}
	for _, name := range []string{"read.txt", "d/wrote.txt", "never.txt"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("somebody's"), 0o600))
	}
	for _, name := range []string{"readgone.txt", "wrotegone.txt"} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	want := ledger.Stale{Changed: []string{"d/wrote.txt", "read.txt"}, Deleted: []string{"readgone.txt", "wrotegone.txt"}}
	s, err := led.Stale(t.Context(), dir)
	first := s.Digest
	if s.Digest = ""; err != nil || first == "" || !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, %v; want %+v", s, err, want)
	}
	must(t, os.WriteFile(filepath.Join(dir, "read.txt"), []byte("something else"), 0o600))
	if s, err := led.Stale(t.Context(), dir); err != nil || s.Digest == first {
		t.Errorf("a file that is changed again makes no difference: %v", err)
	}
	_, err = led.Undo(t.Context(), dir)
	must(t, err)
	want.Deleted, want.Undone = []string{"readgone.txt"}, []string{"undone.txt", "wrotegone.txt", "wrotesame.txt"}
	s, err = led.Stale(t.Context(), dir)
	if s.Digest = ""; err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("after an undo: %+v, %v; want %+v", s, err, want)
	}
	lost, err := led.Lost(t.Context(), dir, func(string) bool { return true })
	if err != nil || len(lost.Undone) > 0 || !slices.Contains(lost.Changed, "d/wrote.txt") {
		t.Errorf("after an undo these are lost: %+v, %v", lost, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLost: changes of an interrupted command are not lost, though nobody has recorded them yet,
// and a file that was replaced by something else is.
func TestLost(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	led, err := ledger.Open(home, nil)
	must(t, err)
	files, err := workspace.Open(dir, led)
	must(t, err)
	defer files.Close()
	for _, name := range []string{"command.txt", "gone.txt", "fifo", "folder", "same.txt"} {
		must(t, files.At("1").WriteFile(name, []byte("new")))
	}
	for _, name := range []string{"gone.txt", "fifo", "folder"} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	_, err = led.At("2").Snapshot(t.Context(), dir)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "command.txt"), []byte("the command's"), 0o600))
	must(t, led.Close())

	led, err = ledger.Open(home, nil)
	must(t, err)
	defer led.Close()
	s, err := led.Lost(t.Context(), dir, func(step string) bool { return step == "1" })
	s.Digest = ""
	if want := (ledger.Stale{Changed: []string{"fifo", "folder"}, Deleted: []string{"gone.txt"}}); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, %v; want %+v", s, err, want)
	}
}

// TestBarred: what was created under a denied name is taken back when the snapshot is recorded,
// also after a kill between the record and that. What only a comparison after the kill finds, and
// what was there before, is named and left: a person may have written it.
func TestBarred(t *testing.T) {
	for _, tt := range []struct {
		name       string
		run        func(t *testing.T, s *ledger.Snapshot)
		gone, kept string // of new.law, in the notes
	}{
		{"recorded", func(t *testing.T, s *ledger.Snapshot) {
			changed, err := s.Record(t.Context(), ".")
			must(t, err)
			if want := []string{"free.txt", "old.law"}; !reflect.DeepEqual(changed, want) {
				t.Errorf("the changes that stay are %q, want %q", changed, want)
			}
		}, "taken back, since a rule is about it: new.law (no laws)", "left as it is, since a person may have changed it: old.law (no laws)"},
		{"killed before it is taken back", func(t *testing.T, s *ledger.Snapshot) { must(t, s.RecordOnly(t.Context())) },
			"taken back, since a rule is about it: new.law (no laws)", "left as it is, since a person may have changed it: old.law (no laws)"},
		{"killed in the call", func(*testing.T, *ledger.Snapshot) {}, "", "left as it is, since a person may have changed it: new.law (no laws), old.law (no laws)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			write := func(name, text string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
			write("old.law", "old")
			led, err := ledger.Open(home, nil)
			must(t, err)
			s, err := led.At("1").Snapshot(ledger.Barring(t.Context(), []ledger.Denied{{Path: "*.law", Rule: "no laws"}}), dir)
			must(t, err)
			write("old.law", "changed")
			write("new.law", "new")
			write("free.txt", "free")
			tt.run(t, s)
			notes := s.Barred()
			must(t, led.Close())
			if notes == "" {
				led, err = ledger.Open(home, nil)
				must(t, err)
				defer led.Close()
				must(t, led.Recover(t.Context()))
				notes = strings.Join(led.TakeNotes(), "\n")
			}
			if !strings.Contains(notes, tt.gone) || !strings.Contains(notes, tt.kept) {
				t.Errorf("the notes are %q", notes)
			}
			_, err = os.Stat(filepath.Join(dir, "new.law"))
			if old, _ := os.ReadFile(filepath.Join(dir, "old.law")); (err == nil) != (tt.gone == "") || string(old) != "changed" {
				t.Errorf("new.law: %v, old.law: %q", err, old)
			}
			if left, _ := filepath.Glob(filepath.Join(home, "pending-*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// TestFollow: what changes between Follow and Settle, and is in no other record, is uncertain and
// no evidence; also after a kill.
func TestFollow(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir, home := t.TempDir(), t.TempDir()
		led, err := ledger.Open(home, nil)
		must(t, err)
		must(t, led.At("1").Follow(t.Context(), dir))
		files, err := workspace.Open(dir, led)
		must(t, err)
		must(t, files.At("2").WriteFile("ours.txt", []byte("ours")))
		must(t, os.WriteFile(filepath.Join(dir, "late.txt"), []byte("late"), 0o600))
		if killed {
			must(t, files.Close())
			must(t, led.Close())
			led, err = ledger.Open(home, nil)
			must(t, err)
			must(t, led.Recover(t.Context()))
		} else if s, changed, err := led.Settle(t.Context()); err != nil || s == nil || !reflect.DeepEqual(changed, []string{"late.txt"}) {
			t.Errorf("settled with %v, %q, %v", s, changed, err)
		}
		got, err := led.Changes(t.Context())
		must(t, err)
		var all []string
		for _, c := range got {
			all = append(all, fmt.Sprintf("%s of step %s, uncertain: %v, reported: %v", c.Path, c.Step, c.Uncertain, c.Reported))
		}
		if want := []string{"late.txt of step 1, uncertain: true, reported: false", "ours.txt of step 2, uncertain: false, reported: false"}; !reflect.DeepEqual(all, want) {
			t.Errorf("killed %v: the changes are\n%q\nwant\n%q", killed, all, want)
		}
		must(t, led.Close())
	}
}

// TestFollowReferences: references that move between Follow and Settle are named and not moved back,
// except those that a command moved in the meantime, which are in its record; also after a kill.
func TestFollowReferences(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir, home := t.TempDir(), t.TempDir()
		git := func(args ...string) string { return dirtest.Git(t, dir, args...) }
		git("init", "-q", "-b", "main")
		git("commit", "-qm", "x", "--allow-empty")
		git("tag", "gone")
		led, err := ledger.Open(home, nil)
		must(t, err)
		must(t, led.At("1").Follow(t.Context(), dir))
		s, err := led.At("2").Snapshot(t.Context(), dir)
		must(t, err)
		git("branch", "command")
		if _, err := s.Record(t.Context(), "."); err != nil {
			t.Fatal(err)
		}
		git("tag", "-d", "gone")
		git("branch", "late")
		git("commit", "-qm", "y", "--allow-empty")
		after := git("for-each-ref")
		if killed {
			must(t, led.Close())
			led, err = ledger.Open(home, nil)
			must(t, err)
			must(t, led.Recover(t.Context()))
		} else if _, changed, err := led.Settle(t.Context()); err != nil || len(changed) > 0 {
			t.Errorf("settled with %q, %v", changed, err)
		}
		why := strings.Join(led.Incomplete(t.Context()), "\n")
		if want := "may have moved them: refs/heads/late, refs/heads/main, refs/tags/gone"; !strings.HasSuffix(why, want) {
			t.Errorf("killed %v: what is incomplete is %q, which does not end with %q", killed, why, want)
		}
		if _, err := led.All().IncludeUncertain().Undo(t.Context(), dir); err != nil {
			t.Error(err)
		}
		git("branch", "command", "HEAD~1") // which the undo has removed
		if now := git("for-each-ref"); now != after {
			t.Errorf("killed %v: after an undo the references are\n%s\nwant\n%s", killed, now, after)
		}
		must(t, led.Close())
	}
}

// Where each snapshot begins before the one before it ends, what a program writes at any time is in
// exactly one record: that of a call, or that of the time between two calls.
func TestSnapshotsThatOverlap(t *testing.T) {
	_, led, dir := workspacetest.Repository(t)
	whole := dirtest.Tree(t, dir)
	n := 0
	write := func() {
		n++
		dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("w%d", n)), "text\n")
		dirtest.Write(t, filepath.Join(dir, "each"), fmt.Sprintf("%d\n", n))
	}
	var seen []string
	for range 3 {
		call, err := led.Snapshot(t.Context(), dir)
		dirtest.Must(t, err)
		write()
		_, between, err := led.Settle(t.Context())
		dirtest.Must(t, err)
		write()
		dirtest.Must(t, led.Follow(t.Context(), dir))
		write()
		during, err := call.Record(t.Context())
		dirtest.Must(t, err)
		write()
		seen = slices.Concat(seen, between, during)
	}
	_, between, err := led.Settle(t.Context())
	dirtest.Must(t, err)
	seen = append(seen, between...)
	seen = slices.DeleteFunc(seen, func(name string) bool { return name == "each" })
	slices.Sort(seen)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("w%d", i+1))
	}
	slices.Sort(want)
	if !slices.Equal(seen, want) {
		t.Errorf("recorded %q, want each once: %q", seen, want)
	}
	report, err := led.All().IncludeUncertain().Undo(t.Context(), dir)
	if err != nil || len(report.Skipped) > 0 || !slices.Equal(dirtest.Tree(t, dir), whole) {
		t.Errorf("Undo = %+v, %v; then %q, want %q", report, err, dirtest.Tree(t, dir), whole)
	}
}

// An archive may be anybody's: the names in its list of what a killed command removed lead nowhere else.
func TestMarksOfStrangers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ledger.MarksFile)
	for name, ok := range map[string]bool{"a": true, "a/b": true, "..a/b": true, "..": false, "../a": false, "a/..": false, "a/../../b": false, ".": false, "": false, "/etc": false, "a//b": false, "a/./b": false} {
		for _, list := range []string{"removed", "opaque", "copied", "missing"} {
			dirtest.Write(t, file, `{"`+list+`": ["`+name+`"]}`)
			if _, err := ledger.ReadMarks(dir); (err == nil) != ok {
				t.Errorf("%s %q: %v", list, name, err)
			}
		}
	}
}
