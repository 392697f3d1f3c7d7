package adroit

import "golang.org/x/sys/unix"

// Open files of a process: those that it has without a job, and those of one job with
// a command that runs.
const (
	filesOfProcess = 128
	filesOfJob     = 8
)

// jobsByFiles is how many jobs may run at once by the number of files that the process
// may have open, 0 where that is no bound worth a queue.
func jobsByFiles() int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || lim.Cur > 1<<16 {
		return 0
	}
	return max(4, (int(lim.Cur)-filesOfProcess)/filesOfJob)
}
