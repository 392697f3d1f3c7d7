package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// catch ends the returned context at the first signal; the second ends the
// process at once. done stops catching and gives the exit code of the signal
// that came, 0 if none did.
func catch(parent context.Context) (ctx context.Context, done func() int) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	// A reader that went away (| head) is a signal like the others: without
	// this the process would die in the middle of a step.
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(ch, syscall.SIGHUP)
	}
	var first atomic.Int32
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case s := <-ch:
				sig := s.(syscall.Signal)
				if sig == syscall.SIGPIPE && !kit.ReaderGone() {
					continue
				}
				if !first.CompareAndSwap(0, int32(sig)) {
					if sig == syscall.SIGPIPE {
						continue
					}
					os.Exit(kit.OfSignal(sig))
				}
				cancel(&kit.StopError{Signal: sig})
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() int {
		signal.Stop(ch)
		close(quit)
		<-gone
		cancel(nil)
		if s := first.Load(); s != 0 {
			return kit.OfSignal(syscall.Signal(s))
		}
		return 0
	}
}
