package workspace

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncBlobs makes everything in the directory durable with one call, where a
// call for each of thousands of files would take seconds.
func syncBlobs(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}

func ctime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
