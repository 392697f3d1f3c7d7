package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// A directory in which a job runs is copied whatever comes and goes there, and what stays
// is in the copy.
func TestCopyLive(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	dirtest.Must(t, os.WriteFile(filepath.Join(from, "adroit.db"), []byte("kept"), 0o600))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, name := range []string{"adroit.db-wal", "adroit.db-shm", "x", "y", "z"} {
				if os.WriteFile(filepath.Join(from, name), nil, 0o600) == nil {
					_ = os.Remove(filepath.Join(from, name))
				}
			}
		}
	}()
	for end := time.Now().Add(time.Second); time.Now().Before(end); dirtest.Must(t, os.RemoveAll(to)) {
		dirtest.Must(t, copyLive(from, to))
		if b, err := os.ReadFile(filepath.Join(to, "adroit.db")); err != nil || string(b) != "kept" {
			t.Fatalf("%q, %v", b, err)
		}
	}
	close(done)
	<-ended
	if err := copyLive(filepath.Join(from, "none"), to); err == nil {
		t.Error("what is not there was copied")
	}
}
