package ledger_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// TestStale: what somebody else made of a file that the job has read or written is
// found, and what nobody touched is not.
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
