//go:build linux && (amd64 || arm64)

package sandbox

import "golang.org/x/sys/unix"

// Offsets into the data of a call that the filter sees.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16 // low word, on a little-endian machine
	offArg1 = 24
	offArg2 = 32
	offArg3 = 40
)

const (
	opLoad = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opAnd  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	opEq   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opGe   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opSet  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opRet  = unix.BPF_RET | unix.BPF_K

	allow = unix.SECCOMP_RET_ALLOW
	kill  = unix.SECCOMP_RET_KILL_PROCESS
	eperm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosy = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func jump(code uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k}
}

type seccompData struct {
	nr   int32
	arch uint32
	ip   uint64
	args [6]uint64
}

// An operand is a path of a call, before it is looked up.
type operand struct {
	dirfd int32
	addr  uint64
}

// A moder is a call that gives a file its mode; if flags is not zero, only where
// those ask for a new file.
type moder struct{ nr, mode, flags uint32 }
