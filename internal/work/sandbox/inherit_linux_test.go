//go:build linux && amd64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const withoutCloseRange = "without-close-range"

// runWithoutCloseRange runs a command where close_range fails, as in a container whose filter does
// not know it.
func runWithoutCloseRange(level Level, dir string) int {
	prog := []unix.SockFilter{stmt(opLoad, offNr), jump(opEq, unix.SYS_CLOSE_RANGE, 0, 1), stmt(opRet, eperm), stmt(opRet, allow)}
	fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 2
	}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fp))); e != 0 {
		fmt.Println(e)
		return 2
	}
	out, err := confinedRun(level, &Policy{Dir: dir, Write: []string{dir}, Private: dir + ".private"}, "echo leaked >&9; echo ran")
	fmt.Println(out, err)
	if errors.Is(err, ErrRefused) && strings.Contains(err.Error(), "close_range") {
		return 0
	}
	return 1
}

// Where inherited files cannot be kept from a command, the command does not run.
func TestCloseRangeFails(t *testing.T) {
	for _, f := range Survey() {
		t.Run(string(f.Level), func(t *testing.T) {
			if !f.OK {
				t.Skip(f.Why)
			}
			left, err := os.Create(t.TempDir() + "/left")
			if err != nil {
				t.Fatal(err)
			}
			defer left.Close()
			cmd := exec.Command("/proc/self/exe", withoutCloseRange, string(f.Level), t.TempDir())
			cmd.ExtraFiles = make([]*os.File, 7)
			cmd.ExtraFiles[6] = left // 9
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if b, err := os.ReadFile(left.Name()); err != nil || len(b) > 0 {
				t.Errorf("the command wrote %q to a file of the runner's, %v", b, err)
			}
		})
	}
}
