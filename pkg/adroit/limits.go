package adroit

import "golang.org/x/sys/unix"

// Open files of a process: those that it has without a job, those of one job with a
// command that is started, and the locks of jobs that are queued, one each.
const (
	filesOfProcess = 64
	filesOfJob     = 16
	filesOfQueued  = 64
)

// jobsByFiles is how many jobs may run at once by the number of files that the process
// may have open, 0 where that is no bound worth a queue.
func jobsByFiles() int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || lim.Cur > 1<<16 {
		return 0
	}
	return max(1, (int(lim.Cur)-filesOfProcess-queuedOf(lim))/filesOfJob)
}

// heldByFiles are the places of jobs that run or are queued here: a queued one has its
// lock open. The others wait before that. Nil where there is no bound.
func heldByFiles() chan struct{} {
	n := jobsByFiles()
	if n == 0 {
		return nil
	}
	var lim unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) // it worked above
	return make(chan struct{}, n+queuedOf(lim))
}

// queuedOf is how many queued jobs may have their locks open.
func queuedOf(lim unix.Rlimit) int { return min(filesOfQueued, int(lim.Cur)/8) }
