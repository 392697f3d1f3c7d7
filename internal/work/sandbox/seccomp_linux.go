//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the system calls that no build or test needs and that lead out:
// they make mounts and namespaces, look into other processes, load code into
// the kernel, or open sockets behind the filter's back.
var denied = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_CHROOT,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_LOOKUP_DCOOKIE,
}

// A network selects the sockets that a command may make.
type network int

const (
	noNet   network = iota
	lonely          // TCP and UDP, in a namespace that has only a loopback
	anyNet          // the host's, all of it but Unix sockets
	anyUnix network = 1 << 4
)

// filter returns the program that judges system calls: calls that it does not name are allowed,
// those that it names fail with EPERM, and calls in foreign numberings end the process.
func filter(n network) ([]unix.SockFilter, error) {
	prog := []unix.SockFilter{
		stmt(opLoad, offArch),
		jump(opEq, auditArch, 1, 0),
		stmt(opRet, kill),
		stmt(opLoad, offNr),
	}
	if x32Bit != 0 {
		prog = append(prog, jump(opGe, x32Bit, 0, 1), stmt(opRet, kill))
	}
	for _, nr := range slices.Concat(denied, deniedHere) {
		prog = append(prog, jump(opEq, nr, 0, 1), stmt(opRet, eperm))
	}
	for _, c := range slices.Concat(modes, modesHere) {
		prog = append(prog, c.rule()...)
	}
	sockets, err := socketRule(n)
	if err != nil {
		return nil, err
	}
	prog = append(prog, sockets...)
	// clone3 and openat2 have their flags in memory, where a filter cannot look:
	// without them programs take clone and openat, which are looked at.
	prog = append(prog,
		jump(opEq, unix.SYS_CLONE3, 1, 0),
		jump(opEq, unix.SYS_OPENAT2, 0, 1),
		stmt(opRet, enosy),
		jump(opEq, unix.SYS_CLONE, 0, 4),
		stmt(opLoad, offArg0),
		jump(opSet, unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWNET|unix.CLONE_NEWIPC|unix.CLONE_NEWUTS|unix.CLONE_NEWCGROUP, 0, 1),
		stmt(opRet, eperm),
		stmt(opRet, allow))
	// MSG_FASTOPEN connects without connect.
	for _, c := range []struct{ nr, off uint32 }{{unix.SYS_SENDTO, offArg3}, {unix.SYS_SENDMMSG, offArg3}, {unix.SYS_SENDMSG, offArg2}} {
		prog = append(prog,
			jump(opEq, c.nr, 0, 4),
			stmt(opLoad, c.off),
			jump(opSet, unix.MSG_FASTOPEN, 0, 1),
			stmt(opRet, eperm),
			stmt(opRet, allow))
	}
	// The limits of another process: a low one on processor time ends it.
	prog = append(prog,
		jump(opEq, unix.SYS_PRLIMIT64, 0, 4),
		stmt(opLoad, offArg0),
		jump(opEq, 0, 1, 0), // the caller itself
		stmt(opRet, eperm),
		stmt(opRet, allow))
	// Typing into the terminal of the user who runs us.
	prog = append(prog,
		jump(opEq, unix.SYS_IOCTL, 0, 4),
		stmt(opLoad, offArg1),
		jump(opEq, unix.TIOCSTI, 1, 0),
		jump(opEq, tiocLinux, 0, 1),
		stmt(opRet, eperm),
		stmt(opRet, allow))
	return prog, nil
}

const tiocLinux = 0x541c

var modes = []moder{
	{unix.SYS_FCHMOD, offArg1, 0}, {unix.SYS_FCHMODAT, offArg2, 0}, {unix.SYS_FCHMODAT2, offArg2, 0},
	{unix.SYS_MKNODAT, offArg2, 0}, {unix.SYS_OPENAT, offArg3, offArg2},
}

// rule refuses set-user-ID and set-group-ID programs. On the host, outside of any sandbox, anybody
// who can reach one could run it with the rights of the user who runs adroit. The filter cannot
// recognise a directory, for which the latter bit is harmless.
func (m moder) rule() []unix.SockFilter {
	judge := []unix.SockFilter{stmt(opLoad, m.mode), jump(opSet, unix.S_ISUID|unix.S_ISGID, 0, 1), stmt(opRet, eperm), stmt(opRet, allow)}
	if m.flags != 0 {
		judge = slices.Concat([]unix.SockFilter{stmt(opLoad, m.flags), jump(opSet, unix.O_CREAT|tmpFile, 1, 0), stmt(opRet, allow)}, judge)
	}
	return append([]unix.SockFilter{jump(opEq, m.nr, 0, uint8(len(judge)))}, judge...)
}

// tmpFile is O_TMPFILE without O_DIRECTORY.
const tmpFile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// socketRule judges socket(2). Socket pairs stay: they lead nowhere.
func socketRule(n network) ([]unix.SockFilter, error) {
	rule := []unix.SockFilter{stmt(opLoad, offArg0)}
	if n&anyUnix != 0 {
		rule = append(rule, jump(opEq, unix.AF_UNIX, 0, 1), stmt(opRet, allow))
	}
	if n&^anyUnix != noNet {
		// Programs learn their addresses by netlink. Unlike the stream types below, only raw and
		// datagram sockets are allowed.
		rule = append(rule, jump(opEq, unix.AF_NETLINK, 0, 4),
			stmt(opLoad, offArg2),
			jump(opEq, unix.NETLINK_ROUTE, 0, 1),
			stmt(opRet, allow),
			stmt(opRet, eperm))
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			rule = append(rule,
				jump(opEq, family, 0, 10),
				stmt(opLoad, offArg1),
				stmt(opAnd, 0xf), // without SOCK_NONBLOCK and SOCK_CLOEXEC
				jump(opEq, unix.SOCK_STREAM, 1, 0),
				jump(opEq, unix.SOCK_DGRAM, 0, 5),
				stmt(opLoad, offArg2),
				jump(opEq, 0, 2, 0),
				jump(opEq, unix.IPPROTO_TCP, 1, 0),
				jump(opEq, unix.IPPROTO_UDP, 0, 1),
				stmt(opRet, allow),
				stmt(opRet, eperm))
		}
	}
	rule = append(rule, stmt(opRet, eperm))
	if len(rule) > 255 {
		return nil, fmt.Errorf("the socket rule has %d instructions, more than a jump can skip", len(rule))
	}
	return append([]unix.SockFilter{jump(opEq, unix.SYS_SOCKET, 0, uint8(len(rule)))}, rule...), nil
}

// restrictCalls puts the calling thread, and the programs that it executes or starts, under the
// filter, irrevocably.
func restrictCalls(n network) error {
	prog, err := filter(n)
	if err != nil {
		return err
	}
	fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fp))); e != 0 {
		return fmt.Errorf("installing the system call filter: %w", e)
	}
	return nil
}
