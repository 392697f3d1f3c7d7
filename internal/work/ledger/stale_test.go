package ledger_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

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
