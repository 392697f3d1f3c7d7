package rootfs

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SyncFS makes everything in the directory durable with one call, where a
// call for each of thousands of files would take seconds.
func SyncFS(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}

func Ctime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
