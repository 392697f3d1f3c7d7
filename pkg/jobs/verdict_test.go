package jobs

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
)

// A job that could not be set up has failed, unless the machine is to blame or it had begun.
func TestSetupVerdict(t *testing.T) {
	open := func(n syscall.Errno) error { return &fs.PathError{Op: "open", Path: "ledger", Err: n} }
	for _, c := range []struct {
		err   error
		begun bool
		want  Status
	}{
		{open(syscall.EACCES), false, Failed},
		{open(syscall.EROFS), false, Failed},
		{open(syscall.EACCES), true, Interrupted},
		{open(syscall.EMFILE), false, Interrupted},
		{open(syscall.ENOSPC), false, Interrupted},
		{open(syscall.EIO), false, Interrupted},                                 // of any file of the job, such as job.json
		{&flow.InfrastructureError{Err: open(syscall.EIO)}, false, Interrupted}, // as jobdir has it
	} {
		if got, why := verdict(&setupError{c.err, c.begun}, nil); got != c.want || why == "" {
			t.Errorf("%v, begun %v: %s (%s), want %s", c.err, c.begun, got, why, c.want)
		}
	}
}
