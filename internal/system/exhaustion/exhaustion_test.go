package exhaustion

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	fork := func(n syscall.Errno) error { return &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: n} }
	for _, c := range []struct {
		err  error
		want Resource
	}{
		{nil, ""},
		{&fs.PathError{Op: "open", Err: syscall.EMFILE}, OpenFiles},
		{os.NewSyscallError("pipe2", syscall.ENFILE), OpenFiles},
		{fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Err: syscall.ENOSPC}), Disk},
		{errors.Join(errors.New("x"), syscall.EDQUOT), Disk},
		{fork(syscall.EAGAIN), Processes},
		{errors.Join(errors.New("x"), fmt.Errorf("starting: %w", fork(syscall.EAGAIN))), Processes},
		{fork(syscall.ENOMEM), Memory},
		{fork(syscall.ENOSPC), Processes}, // of namespaces
		{fmt.Errorf("%w: x", ErrDatabaseBusy), Database},
		// Failures, despite their names.
		{syscall.EAGAIN, ""},
		{&fs.PathError{Op: "read", Err: syscall.EAGAIN}, ""},
		{fork(syscall.EACCES), ""},
		{&fs.PathError{Op: "open", Err: syscall.EROFS}, ""},
		{&fs.PathError{Op: "write", Err: syscall.EIO}, ""},
		{errors.New("too many open files"), ""},
		{errors.New("no space left on device"), ""},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("Of(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}

func TestRetry(t *testing.T) {
	notices := make(chan Resource, 10)
	ctx := WithNotice(t.Context(), func(r Resource, _ error) { notices <- r })
	n := 0
	err := Retry(ctx, func() error {
		if n++; n < 4 {
			return syscall.EMFILE
		}
		return syscall.EACCES
	})
	if n != 4 || !errors.Is(err, syscall.EACCES) || <-notices != OpenFiles || len(notices) > 0 {
		t.Errorf("%d tries, %v, %d notices more", n, err, len(notices))
	}

	if err := Retry(WithPatience(ctx, 0), func() error { return syscall.ENOSPC }); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("without patience: %v", err)
	}

	stopped, stop := context.WithCancelCause(ctx)
	why := errors.New("stopped by the operator")
	err = Retry(stopped, func() error { stop(why); return syscall.ENOSPC })
	if !errors.Is(err, why) {
		t.Errorf("stopped: %v", err)
	}
}

func TestPatienceAfterTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(WithPatience(t.Context(), time.Hour))
	late := Outlive(ctx)
	if d := Patience(late); d != time.Hour {
		t.Errorf("before the end: %s", d)
	}
	stop()
	if d := Patience(late); d != maxWaitAfterCancel || late.Err() != nil {
		t.Errorf("after the end: %s, %v", d, late.Err())
	}
}
