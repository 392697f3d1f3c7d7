package kit_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// The exit code says how a job stands; a signal to the command counts only for a
// job that has no outcome of its own.
func TestOfJob(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(&kit.StopError{Signal: syscall.SIGHUP})
	for status, want := range map[jobs.Status][2]int{
		jobs.Done: {0, 0}, jobs.Limit: {3, 3}, jobs.Stuck: {3, 3}, jobs.Waiting: {4, 4}, jobs.Cancelled: {5, 5},
		jobs.Failed: {1, 143}, jobs.Interrupted: {1, 143},
	} {
		if got := [2]int{kit.OfJob(t.Context(), status), kit.OfJob(stopped, status)}; got != want {
			t.Errorf("%s: exit codes %v, want %v", status, got, want)
		}
	}
	if x := new(kit.Error); !errors.As(kit.Stopped(stopped), &x) || x.Code != 143 {
		t.Errorf("a stopped command ends with %v", kit.Stopped(stopped))
	}
	if !errors.Is(context.Cause(stopped), jobs.ErrStopped) {
		t.Error("the cause is not jobs.ErrStopped")
	}
}

// TestDirectoryNames: a directory whose name is no text is refused, and named as it can be.
func TestDirectoryNames(t *testing.T) {
	dir := t.TempDir() + "/a\xffb"
	if err := os.Mkdir(dir, 0o755); err != nil {
		testenv.Missing(t, "a file system that takes any name")
	}
	if _, err := kit.Directory(dir); err == nil || !strings.Contains(err.Error(), `a\xffb" is not UTF-8`) {
		t.Errorf("%v", err)
	}
	if _, err := kit.Directory(dir + "/none"); err == nil || !strings.Contains(err.Error(), "there is no directory") {
		t.Errorf("%v", err)
	}
}
