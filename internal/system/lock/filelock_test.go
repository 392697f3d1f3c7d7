package lock_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/system/lock"
)

// A released lock can be taken at once, even while this process is starting programs; one that was
// not released cannot.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
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
	for range 500 {
		f, other := open(), open()
		if err := lock.Try(f); err != nil {
			t.Fatal("the lock was given back: ", err)
		}
		if err := lock.Try(other); !errors.Is(err, lock.ErrHeld) {
			t.Fatal("two have the lock: ", err)
		}
		if err := errors.Join(lock.Close(f), other.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Open refuses a link: its target belongs to somebody else.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	var one sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				unlock, err := lock.Open(path)
				if err != nil {
					t.Error(err)
					return
				}
				if !one.TryLock() {
					t.Error("two have the lock")
					return
				}
				one.Unlock()
				unlock()
			}
		})
	}
	all.Wait()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Open(link); err == nil {
		t.Error("a link was followed")
	}
}
