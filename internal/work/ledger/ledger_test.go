package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// TestMain doubles as the subprocess that tests kill.
func TestMain(m *testing.M) {
	switch os.Getenv("ADROIT_TEST_CHILD") {
	case "writer":
		childWriter(os.Args[1])
	default:
		// Built with -race, a program sleeps for a second before it exits.
		os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
		os.Exit(m.Run())
	}
}

// child starts this test binary as the above.
func child(t *testing.T, what, dir string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	var out bytes.Buffer
	cmd.Env = append(os.Environ(), "ADROIT_TEST_CHILD="+what)
	cmd.Stderr = &out
	return cmd, &out
}

// Conformance 15. The tree includes .git, so index and refs are compared too.
func TestUndoMixedEdits(t *testing.T) {
	for seed := range uint64(4) {
		f, led, dir := workspacetest.Repository(t)
		before := dirtest.Tree(t, dir)
		rnd := rand.New(rand.NewPCG(seed, 1))
		edits := 0
		for i := 0; edits < 50; i++ {
			es, _, err := f.List(t.Context(), workspace.ListOptions{})
			if err != nil || len(es) == 0 {
				t.Fatal(err)
			}
			name := es[rnd.IntN(len(es))].Name
			info, _ := os.Lstat(filepath.Join(dir, name))
			switch rnd.IntN(6) {
			case 0:
				err = f.WriteFile(fmt.Sprintf("new%d/deep/n%d", i%3, i), []byte("new\n"))
			case 1:
				_, _ = f.ReadFile(name) // a command may have changed it since
				err = f.Remove(name)
			case 2:
				err = f.Rename(name, fmt.Sprintf("moved/m%d", i))
			case 3:
				if info.Mode()&fs.ModeSymlink != 0 {
					continue // its target may be gone
				}
				if _, err = f.ReadFile(name); err == nil {
					err = f.WriteFile(name, fmt.Appendf(nil, "edit %d\n", i))
				}
			case 4:
				if i%2 == 0 {
					continue
				}
				if _, lerr := os.Lstat(filepath.Join(dir, "d1")); lerr == nil {
					err = f.Rename("d1", fmt.Sprintf("e%d", i))
				}
			case 5:
				script := fmt.Sprintf("chmod 600 %q; echo more >> %q; mkdir -p x/%d; echo y > x/%d/y; rm -f d2/f2.txt", name, name, i, i)
				snap, serr := led.Snapshot(t.Context(), dir)
				if serr != nil {
					t.Fatal(serr)
				}
				cmd := exec.Command("sh", "-c", script)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				_, err = snap.Record(t.Context())
			}
			if err != nil {
				t.Fatalf("edit %d: %v", i, err)
			}
			edits++
		}
		diff, err := led.Diff(t.Context(), dir)
		if err != nil || !strings.Contains(diff, "diff --git a/") {
			t.Fatalf("Diff = %q, %v", diff, err)
		}
		report, err := led.All().IncludeUncertain().Undo(t.Context(), dir)
		if err != nil || len(report.Skipped) > 0 {
			t.Fatalf("seed %d: Undo = %+v, %v", seed, report, err)
		}
		if after := dirtest.Tree(t, dir); !slices.Equal(before, after) {
			t.Fatalf("seed %d: not as before:\n%s", seed, dirtest.Diff(before, after))
		}
		again, err := led.All().IncludeUncertain().Undo(t.Context(), dir)
		if err != nil || len(again.Restored)+len(again.Removed)+len(again.Skipped) > 0 {
			t.Errorf("the second Undo did %+v, %v", again, err)
		}
		if cs, _ := led.All().IncludeUncertain().Changes(t.Context()); len(cs) > 0 {
			t.Errorf("changes after Undo: %+v", cs)
		}
	}
}

// Conformance 16, and a file the user has changed in the meantime.
func TestUndoSkipsWhatIsNotOurs(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	outside := filepath.Join(filepath.Dir(dir), "outside")
	dirtest.Write(t, filepath.Join(outside, "f"), "mine")
	for _, name := range []string{"linked", "hard", "edited", "d/f", "removed", "chmodded", "fine"} {
		dirtest.Write(t, filepath.Join(dir, name), "original")
		if err := f.WriteFile(name, []byte("job")); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.WriteFile("created", []byte("job")); err != nil {
		t.Fatal(err)
	}
	swap := func(name string, with func(path string) error) {
		p := filepath.Join(dir, name)
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
		if err := with(p); err != nil {
			t.Fatal(err)
		}
	}
	swap("linked", func(p string) error { return os.Symlink(filepath.Join(outside, "f"), p) })
	dirtest.Write(t, filepath.Join(outside, "job"), "job")
	swap("hard", func(p string) error { return os.Link(filepath.Join(outside, "job"), p) })
	swap("d", func(p string) error { return os.Symlink(outside, p) })
	swap("removed", func(string) error { return nil })
	dirtest.Write(t, filepath.Join(dir, "edited"), "user's")
	dirtest.Write(t, filepath.Join(dir, "created"), "user's")
	if err := os.Chmod(filepath.Join(dir, "chmodded"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := dirtest.Tree(t, outside)
	report, err := led.Undo(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, s := range report.Skipped {
		skipped = append(skipped, s.Path)
		if s.Reason == "" {
			t.Errorf("%s was skipped without a reason", s.Path)
		}
	}
	if want := []string{"chmodded", "created", "d/f", "edited", "hard", "linked", "removed"}; !slices.Equal(skipped, want) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
	if !slices.Equal(report.Restored, []string{"fine"}) || dirtest.Content(t, filepath.Join(dir, "fine")) != "original" {
		t.Errorf("restored %q", report.Restored)
	}
	if after := dirtest.Tree(t, outside); !slices.Equal(before, after) {
		t.Errorf("outside changed:\n%s", dirtest.Diff(before, after))
	}
	for _, name := range []string{"edited", "created"} {
		if got := dirtest.Content(t, filepath.Join(dir, name)); got != "user's" {
			t.Errorf("%s has %q", name, got)
		}
	}
}

func TestChangesAndDiff(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	for _, name := range []string{"mod", "del", "old name", "same", "bin"} {
		dirtest.Write(t, filepath.Join(dir, name), "one\ntwo\n")
	}
	at := f.At("3.1")
	for _, err := range []error{
		at.WriteFile("mod", []byte("one\n2\n")), f.Remove("del"), f.Rename("old name", "new name"),
		f.WriteFile("new\tfile", []byte("hello")), f.WriteFile("same", []byte("x")), f.WriteFile("same", []byte("one\ntwo\n")),
		f.WriteFile("tmp", nil), f.Remove("tmp"), f.WriteFile("bin", []byte("\x00")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cs, err := led.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cs {
		got = append(got, fmt.Sprintf("%s %s %s", c.Kind, c.Path, c.From))
		if c.Path == "mod" && c.Step != "3.1" {
			t.Errorf("the step of mod is %q", c.Step)
		}
	}
	if want := []string{"modified bin ", "deleted del ", "modified mod ", "created new\tfile ", "renamed new name old name"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	diff, err := led.Diff(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = `diff --git a/bin b/bin
Binary files a/bin and b/bin differ
diff --git a/del b/del
deleted file mode 100644
--- a/del
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-two
diff --git a/mod b/mod
--- a/mod
+++ b/mod
@@ -1,2 +1,2 @@
 one
-two
+2
diff --git "a/new\tfile" "b/new\tfile"
new file mode 100644
--- /dev/null
+++ "b/new\tfile"
@@ -0,0 +1 @@
+hello
\ No newline at end of file
diff --git a/old name b/new name
rename from old name
rename to new name
`
	if diff != want {
		t.Errorf("diff:\n%s\nwant:\n%s", diff, want)
	}
}

func TestSnapshotRecordsCommands(t *testing.T) {
	f, led, dir := workspacetest.Repository(t)
	dirtest.Write(t, filepath.Join(dir, "build.log"), "ignored")
	snap, err := led.At("5").Snapshot(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "echo x >> d0/f0.txt; git mv d1/f1.txt d1/g1.txt; rm run.sh; ln -sf bin ln; echo y > n; echo z >> build.log; chmod 700 bin")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// What a file tool does meanwhile is noted once.
	if err := f.WriteFile("mine", []byte("tool")); err != nil {
		t.Fatal(err)
	}
	changed, err := snap.Record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bin", "d0/f0.txt", "d1/f1.txt", "d1/g1.txt", "ln", "n", "run.sh"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	cs, _ := led.Changes(t.Context())
	found := false
	for _, c := range cs {
		found = found || c.Kind == ledger.Renamed && c.Path == "d1/g1.txt" && c.From == "d1/f1.txt" && c.Step == "5"
	}
	if !found {
		t.Errorf("no rename in %+v", cs)
	}
}

// A runner that is killed while a command runs leaves the data for undoing the command.
func TestInterruptedCommandIsRecorded(t *testing.T) {
	_, led, dir := workspacetest.Repository(t)
	if _, err := led.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	before := dirtest.Tree(t, dir)
	led.Close() // the kill: nothing is recorded
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "half done")
	again, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	cs, err := again.Changes(t.Context())
	if err != nil || len(cs) != 1 || cs[0].Path != "d0/f0.txt" {
		t.Fatalf("Changes = %+v, %v", cs, err)
	}
	if report, err := again.All().IncludeUncertain().Undo(t.Context(), dir); err != nil || len(report.Restored) != 1 {
		t.Errorf("Undo = %+v, %v", report, err)
	}
	if after := dirtest.Tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("not as before:\n%s", dirtest.Diff(before, after))
	}
}

// TestDamagedSnapshot: the changes of one command are unknown, and all others are undone, also
// after the next start.
func TestDamagedSnapshot(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"cut short": func(file string) error { return os.Truncate(file, 20) },
		"empty":     func(file string) error { return os.Truncate(file, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			f, led, dir := workspacetest.Repository(t)
			before := dirtest.Tree(t, dir)
			if _, err := f.ReadFile("d1/f1.txt"); err != nil {
				t.Fatal(err)
			}
			dirtest.Must(t, f.WriteFile("d1/f1.txt", []byte("by a tool\n")))
			snapshot, err := led.Snapshot(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			led.Close() // the kill: nothing is recorded
			dirtest.Must(t, damage(snapshot.File))
			dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "by the command")

			for range 2 { // the second finds what the first has noted
				again, err := ledger.Open(led.Dir, nil)
				if err != nil {
					t.Fatal(err)
				}
				report, err := again.Undo(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if len(report.Restored) > 1 || len(report.Restored) == 1 && report.Restored[0] != "d1/f1.txt" {
					t.Errorf("Undo restored %q", report.Restored)
				}
				if why := again.Incomplete(t.Context()); len(why) != 1 || !strings.Contains(why[0], "cut short") {
					t.Errorf("Incomplete = %q", why)
				}
				again.Close()
			}
			dirtest.Must(t, os.WriteFile(filepath.Join(dir, "d0/f0.txt"), []byte("file 0\nline\n"), 0o644)) // the person's part
			if after := dirtest.Tree(t, dir); !slices.Equal(before, after) {
				t.Errorf("not as before:\n%s", dirtest.Diff(before, after))
			}
			if kept, _ := filepath.Glob(filepath.Join(led.Dir, "damaged-pending-*")); len(kept) != 1 {
				t.Errorf("the snapshot was put aside as %q", kept)
			}
		})
	}
}

func TestTornJournal(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	dirtest.Write(t, filepath.Join(dir, "f"), "old")
	if err := f.WriteFile("f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	led.Close()
	journal := filepath.Join(led.Dir, "journal")
	whole := dirtest.Content(t, journal)
	dirtest.Write(t, journal, whole+`{"changes":[{"path":"g","af`)
	again, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if cs, err := again.Changes(t.Context()); err != nil || len(cs) != 1 {
		t.Errorf("Changes = %+v, %v", cs, err)
	}
	if err := again.Seen("f", "x"); err != nil {
		t.Fatal(err)
	}
	third, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatalf("the journal was not repaired: %v", err)
	}
	if d, ok := third.LastSeen("f"); !ok || d != "x" {
		t.Errorf("saw = %q, %v", d, ok)
	}
	lines := strings.SplitAfter(whole, "\n")
	dirtest.Write(t, journal, "nonsense\n"+lines[0])
	cut, err := ledger.Open(led.Dir, nil)
	dirtest.Must(t, err)
	if why := cut.Incomplete(t.Context()); len(why) != 1 || !strings.Contains(why[0], "byte 0") {
		t.Errorf("damage in the middle was not noticed: %q", why)
	}
}

// A job may be killed when its first content is kept and nothing is recorded: that is no damage, as
// long as the note of the length is there.
func TestContentBeforeRecords(t *testing.T) {
	led, err := ledger.Open(t.TempDir(), nil)
	dirtest.Must(t, err)
	dirtest.Must(t, led.Store([]byte("former")))
	for _, noted := range []bool{true, false} {
		if !noted {
			dirtest.Must(t, os.Remove(filepath.Join(led.Dir, ledger.SyncedFile)))
		}
		again, err := ledger.Open(led.Dir, nil)
		dirtest.Must(t, err)
		if why := again.Incomplete(t.Context()); (len(why) == 0) != noted || ledger.Recorded(led.Dir) == noted {
			t.Errorf("with the note %t: incomplete %q, recorded %t", noted, why, ledger.Recorded(led.Dir))
		}
	}
	led.Close()
}

// A journal that ends behind a whole record may have lost others: without the note of its length
// it is not called whole, unless it is of an earlier version, which had no note.
func TestJournalCutBetweenRecords(t *testing.T) {
	f, led, _ := workspacetest.Open(t)
	for _, name := range []string{"a", "b", "c"} {
		dirtest.Must(t, f.WriteFile(name, []byte(name)))
	}
	led.Close()
	journal, note := filepath.Join(led.Dir, "journal"), filepath.Join(led.Dir, ledger.SyncedFile)
	whole, length := dirtest.Content(t, journal), dirtest.Content(t, note)
	incomplete := func() int {
		l, err := ledger.Open(led.Dir, nil)
		dirtest.Must(t, err)
		defer l.Close()
		return len(l.Incomplete(t.Context()))
	}
	synced, err := strconv.Atoi(strings.TrimSpace(length))
	dirtest.Must(t, err)
	lines := slices.Collect(strings.Lines(whole))
	for n := 1; n <= len(lines); n++ {
		cut := strings.Join(lines[:n], "")
		dirtest.Write(t, journal, cut)
		for _, text := range []string{"", length[:9], "x" + length, length} {
			dirtest.Write(t, note, text)
			if got, want := incomplete(), len(cut) < synced || text != length; (got > 0) != want {
				t.Errorf("%d of %d records and the note %q: incomplete %v", n, len(lines), text, got)
			}
		}
	}
	dirtest.Must(t, os.Remove(note))
	if incomplete() != 1 {
		t.Error("without its note, the journal is called whole")
	}
	dirtest.Write(t, journal, strings.Replace(whole, `,"noted":true`, "", 1))
	if strings.Contains(dirtest.Content(t, journal), "noted") || incomplete() != 0 {
		t.Error("a ledger of an earlier version is called damaged")
	}
}

// Two processes: the second may read, and add only when the first has let go.
// What the first added in between is not lost.
func TestOneWriterAtATime(t *testing.T) {
	_, led, _ := workspacetest.Open(t)
	other, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := led.Seen("a", "1"); err != nil {
		t.Fatal(err)
	}
	if err := other.Seen("b", "2"); err == nil {
		t.Error("two processes add at once")
	}
	led.Close()
	if err := other.Seen("b", "2"); err != nil {
		t.Fatal(err)
	}
	third, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"a", "b"} {
		if _, ok := third.LastSeen(p); !ok {
			t.Errorf("the note of %s is lost", p)
		}
	}
}

func TestLedgerIsPrivate(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	dirtest.Write(t, filepath.Join(dir, "f"), "old")
	if err := f.WriteFile("f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := led.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(led.Dir, func(p string, d fs.DirEntry, _ error) error {
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", p, info.Mode(), err)
		}
		return nil
	})
}

func TestOddNamesSurvive(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	name := "latin\xe9\nname"
	dirtest.Write(t, filepath.Join(dir, name), "old")
	if err := f.WriteFile(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	led.Close()
	again, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if report, err := again.Undo(t.Context(), dir); err != nil || len(report.Restored) != 1 || dirtest.Content(t, filepath.Join(dir, name)) != "old" {
		t.Errorf("Undo = %+v, %v", report, err)
	}
}

// childWriter writes one of two contents over and over until it is killed.
func childWriter(base string) {
	led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
	if err == nil {
		var f *workspace.Files
		if f, err = workspace.Open(filepath.Join(base, "ws"), led); err == nil {
			fmt.Println("ready")
			for i := 0; err == nil; i++ {
				err = f.WriteFile("f", versions[i%2])
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var versions = [][]byte{bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("b"), 1<<19)}

// A kill in the middle of a write leaves old or new content, no litter after
// the next start, and a ledger that undoes it.
func TestKillDuringWrite(t *testing.T) {
	for round := range 12 {
		base := t.TempDir()
		dir := filepath.Join(base, "ws")
		dirtest.Write(t, filepath.Join(dir, "f"), "original")
		cmd, stderr := child(t, "writer", base)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 16)); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		// A moment that differs from round to round: so many turns of reading.
		for range round * 7 {
			if _, err := os.ReadFile(filepath.Join(dir, "f")); err != nil {
				t.Errorf("while it writes: %v", err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if got := []byte(dirtest.Content(t, filepath.Join(dir, "f"))); string(got) != "original" && !bytes.Equal(got, versions[0]) && !bytes.Equal(got, versions[1]) {
			t.Fatalf("round %d: the file has %d bytes of neither", round, len(got))
		}
		led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := workspace.Open(dir, led)
		if err != nil {
			t.Fatal(err)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 {
			t.Errorf("round %d: left behind %v", round, names)
		}
		if report, err := led.Undo(t.Context(), dir); err != nil || len(report.Skipped) > 0 {
			t.Errorf("round %d: Undo = %+v, %v", round, report, err)
		}
		if got := dirtest.Content(t, filepath.Join(dir, "f")); got != "original" {
			t.Errorf("round %d: after Undo the file has %d bytes", round, len(got))
		}
		f.Close()
		led.Close()
	}
}

func TestSnapshotStopsWhenAsked(t *testing.T) {
	_, led, dir := workspacetest.Repository(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := led.Snapshot(ctx, dir); err == nil {
		t.Error("Snapshot went on after its context ended")
	}
}

func TestListInRepository(t *testing.T) {
	f, _, dir := workspacetest.Repository(t)
	dirtest.Write(t, filepath.Join(dir, "x.log"), "ignored")
	dirtest.Write(t, filepath.Join(dir, "untracked.txt"), "x")
	marker := filepath.Join(filepath.Dir(dir), "ran")
	dirtest.Git(t, dir, "config", "core.fsmonitor", "touch "+marker+"; false")
	es, _, err := f.List(t.Context(), workspace.ListOptions{Glob: "*.{log,txt}", Depth: 1})
	var names []string
	for _, e := range es {
		names = append(names, e.Name)
	}
	if err != nil || !slices.Equal(names, []string{"staged.txt", "untracked.txt"}) {
		t.Errorf("List = %q, %v", names, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("listing ran the repository's monitor")
	}
}

// TestReadingStops: the comparison after an interrupted command ends with its context, and the
// next reader still finds the changes.
func TestReadingStops(t *testing.T) {
	_, led, dir := workspacetest.Repository(t)
	if _, err := led.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	led.Close() // the kill
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "half done")
	again, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := again.Steps(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("Steps without time: %v", err)
	}
	if cs, err := again.Changes(t.Context()); err != nil || len(cs) != 1 {
		t.Errorf("Changes = %+v, %v; want that of the command", cs, err)
	}
	if _, err := again.All().IncludeUncertain().Undo(gone, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("Undo without time: %v", err)
	}
	if got := dirtest.Content(t, filepath.Join(dir, "d0/f0.txt")); got != "half done" {
		t.Errorf("an undo without time left %q", got)
	}
}

// A ledger that was closed can be written to at once, even while this process is starting
// programs: until they are executed they have its files open.
func TestReopenedAmongStarts(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var starts sync.WaitGroup
	defer starts.Wait()
	defer stop()
	for range 4 {
		starts.Go(func() {
			for ctx.Err() == nil {
				_ = exec.Command("true").Run()
			}
		})
	}
	for i := range 200 {
		led, err := ledger.Open(dir, nil)
		dirtest.Must(t, err)
		if err := led.Seen(fmt.Sprint(i), "x"); err != nil {
			t.Fatal(err)
		}
		dirtest.Must(t, led.Close())
	}
}

// What a secret is called elsewhere is not copied into the ledger either.
func TestHardLinkToSecretIsNotKept(t *testing.T) {
	const secret, plain = "PASSWORD=correct-horse\n", "words\n"
	for _, repository := range []bool{false, true} {
		dir, data := t.TempDir(), t.TempDir()
		if repository {
			dirtest.Must(t, exec.Command("git", "init", "-q", dir).Run())
		}
		for name, text := range map[string]string{"config/.env": secret, "a": plain, "other/x/b": plain, "other/c": plain, ".gitignore": ".env\n"} {
			dirtest.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
			dirtest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		dirtest.Must(t, os.Link(filepath.Join(dir, "config/.env"), filepath.Join(dir, "other/x/notes.txt")))
		dirtest.Must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "other/a2")))
		led, err := ledger.Open(data, nil)
		dirtest.Must(t, err)
		snap, err := led.Snapshot(t.Context(), dir)
		dirtest.Must(t, err)
		for _, name := range []string{"other/x/notes.txt", "other/a2"} {
			dirtest.Must(t, os.Remove(filepath.Join(dir, name)))
		}
		_, err = snap.Record(t.Context())
		dirtest.Must(t, err)
		changes, err := led.Changes(t.Context())
		if err != nil || len(changes) != 2 {
			t.Errorf("%v, %v", changes, err)
		}
		if kept := kept(t, data); !slices.Contains(kept, plain) || slices.Contains(kept, secret) {
			t.Errorf("in a repository: %v; kept %q", repository, kept)
		}
		dirtest.Must(t, led.Close())
	}
}

// kept returns the contents in a ledger.
func kept(t *testing.T, data string) (texts []string) {
	files, err := filepath.Glob(filepath.Join(data, "blobs", "*"))
	dirtest.Must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		dirtest.Must(t, err)
		texts = append(texts, string(b))
	}
	return texts
}

// Changes of a command without an overlay in repositories inside, at any depth, are recorded,
// ignored files included; the second time using names that were listed before.
func TestRepositoriesInside(t *testing.T) {
	f, led, dir := workspacetest.Repository(t)
	for _, d := range []string{"sub", "sub/in", "clone"} {
		dirtest.Write(t, filepath.Join(dir, d, "x"), "one\n")
		dirtest.Write(t, filepath.Join(dir, d, ".gitignore"), "*.log\n")
		dirtest.Git(t, filepath.Join(dir, d), "init", "-q")
		dirtest.Git(t, filepath.Join(dir, d), "add", "x", ".gitignore")
		dirtest.Git(t, filepath.Join(dir, d), "commit", "-qm", "x")
		dirtest.Write(t, filepath.Join(dir, d, "own.log"), "ignored\n")
	}
	dirtest.Git(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "sub") // no .gitmodules has it
	before := dirtest.WorkTree(t, dir)
	for round := range 2 {
		s, err := f.Ledger.Snapshot(t.Context(), dir)
		dirtest.Must(t, err)
		dirtest.Must(t, s.KeepIgnored(t.Context()))
		var want []string
		for _, d := range []string{"clone", "sub", "sub/in"} {
			dirtest.Write(t, filepath.Join(dir, d, "x"), fmt.Sprintf("round %d\n", round))
			dirtest.Write(t, filepath.Join(dir, d, fmt.Sprint("new", round)), "new\n")
			dirtest.Must(t, os.Remove(filepath.Join(dir, d, "own.log")))
			want = append(want, fmt.Sprint(d, "/new", round), d+"/x")
		}
		slices.Sort(want)
		if changed, err := s.Record(t.Context()); err != nil || !slices.Equal(changed, want) {
			t.Errorf("round %d: recorded %q, %v; want %q", round, changed, err, want)
		}
		for _, d := range []string{"clone", "sub", "sub/in"} {
			dirtest.Write(t, filepath.Join(dir, d, "own.log"), "ignored\n")
		}
	}
	if _, err := led.All().IncludeUncertain().Undo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if after := dirtest.WorkTree(t, dir); !slices.Equal(after, before) {
		t.Errorf("undo left:\n%s", dirtest.Diff(before, after))
	}
}
