package sqlite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// smallDisk mounts a file system of 2 MB, for root alone.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("only root can mount a small disk: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestChild keeps a database open and dies without closing it.
func TestChild(t *testing.T) {
	path := os.Getenv("ADROIT_TEST_DB")
	if path == "" {
		return // TestReadsWhereNothingCanBeWritten starts it
	}
	d := open(t, path, Options{})
	fillJobs(t, d)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func fillJobs(t *testing.T, d *DB) {
	t.Helper()
	for i := range 20 {
		id := fmt.Sprint("J", i)
		add(t, d, id)
		if err := d.appendEvents(t.Context(), event.Event{Job: id, Kind: event.Note, Text: strings.Repeat("x", 500)}); err != nil {
			t.Fatal(err)
		}
	}
}

// What is kept can be read where nothing can be written: on a full disk and on
// one that is read-only, after a proper end and after a kill that left a log.
func TestReadsWhereNothingCanBeWritten(t *testing.T) {
	ends := map[string]func(t *testing.T, path string){
		"closed": func(t *testing.T, path string) {
			d := open(t, path, Options{})
			fillJobs(t, d)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"killed": func(t *testing.T, path string) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
			cmd.Env = append(os.Environ(), "ADROIT_TEST_DB="+path)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("the child was not killed: %s", out)
			}
			if st, err := os.Stat(path + "-wal"); err != nil || st.Size() == 0 {
				t.Fatalf("the child left no log: %v", err)
			}
		},
	}
	states := map[string]func(t *testing.T, dir string){
		"full": func(t *testing.T, dir string) {
			f, err := os.Create(filepath.Join(dir, "filler"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for {
				if _, err := f.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
			}
		},
		"read-only": func(t *testing.T, dir string) {
			if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
		},
	}
	for _, end := range []string{"closed", "killed"} {
		for _, shm := range []string{"with", "without"} {
			for state, make := range states {
				t.Run(fmt.Sprintf("%s, %s, %s shm", state, end, shm), func(t *testing.T) {
					dir := smallDisk(t)
					path := filepath.Join(dir, "a.db")
					ends[end](t, path)
					if shm == "without" {
						_ = os.Remove(path + "-shm")
					}
					make(t, dir)
					d, err := OpenReadOnly(t.Context(), path)
					if err != nil {
						t.Fatal(err)
					}
					defer d.Close()
					list, err := d.List(t.Context(), jobs.Query{})
					if err != nil || len(list) != 20 {
						t.Fatalf("%d jobs, %v", len(list), err)
					}
					for _, j := range list {
						evs := slices.Collect(func(yield func(event.Event) bool) {
							for ev, err := range d.Events(t.Context(), j.ID, 0, false) {
								if err != nil {
									t.Fatal(err)
								}
								yield(ev)
							}
						})
						if len(evs) != 1 {
							t.Errorf("%s has %d events", j.ID, len(evs))
						}
					}
					if _, err := d.Add(t.Context(), &jobs.Job{ID: "NEW"}); !errors.Is(err, errReadOnly) {
						t.Errorf("a write: %v", err)
					}
					if err := d.Close(); err != nil {
						t.Error(err)
					}
					r, denied, err := OpenReadable(t.Context(), path, Options{})
					if err != nil {
						t.Fatal(err)
					}
					if list, err := r.List(t.Context(), jobs.Query{}); err != nil || len(list) != 20 {
						t.Errorf("%d jobs, %v", len(list), err)
					}
					if state == "read-only" && !errors.Is(denied, errReadOnly) && !errors.Is(denied, syscall.EROFS) {
						t.Errorf("writing is denied: %v", denied)
					}
					if err := r.Close(); err != nil {
						t.Error(err)
					}
					w, err := Open(t.Context(), path, Options{})
					if err == nil {
						_, err = w.Add(exhaustion.WithPatience(t.Context(), 0), &jobs.Job{ID: "NEW"})
						_ = w.Close()
					}
					if state == "full" && (!errors.Is(err, errFull) || !strings.Contains(err.Error(), "no space left")) {
						t.Errorf("a write to a full disk: %v", err)
					}
				})
			}
		}
	}
}

// A database that loses its file, or gets another in its place, acknowledges
// nothing more.
func TestReplaced(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, b, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			d := open(t, path, Options{})
			add(t, d, "J")
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				err := d.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note, Text: "lost"})
				if !errors.Is(err, errReplaced) || !strings.Contains(err.Error(), path) {
					t.Errorf("a write after that: %v", err)
				}
			}
			for _, err := range d.Events(t.Context(), "J", 0, true) {
				if err != nil && !errors.Is(err, errReplaced) {
					t.Error(err)
				}
			}
			// A new one at the same place has nothing of the old one's log, and keeps
			// its own when the old one is closed.
			if name == "replaced" {
				return
			}
			other := open(t, path, Options{})
			add(t, other, "K")
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			add(t, other, "L")
			if err := other.Close(); err != nil {
				t.Error(err)
			}
			list, err := open(t, path, Options{Check: true}).List(t.Context(), jobs.Query{})
			if err != nil || len(list) != 2 {
				t.Errorf("%d jobs in the new database, %v", len(list), err)
			}
		})
	}
}
