//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// namespaces asks for a child in namespaces of its own, with the caller's user
// id, and with the capabilities that building its view takes. They are worth
// something inside of those namespaces only, and gone before the command runs.
func namespaces(attr *syscall.SysProcAttr, netOpen bool) {
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !netOpen {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	// An overlay needs the last three for its work directory.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN}
}

// runInit runs as the first process of a command's namespace: it builds the view of the command,
// confines itself, starts the command, adopts orphans, and exits with the command's code. The
// kernel then kills every other process of the namespace, wherever it has hidden.
func (p *Policy) runInit(argv []string, status *os.File) error {
	limits := p.Limits.or()
	if p.Collect != "" {
		if err := holdCollect(p.Collect); err != nil {
			return err
		}
	}
	if err := p.build(limits); err != nil {
		return err
	}
	if !p.NetOpen {
		if err := loopback(); err != nil {
			return err
		}
	}
	// The current directory is still the one below the new mounts.
	if err := os.Chdir(p.Dir); err != nil {
		return fmt.Errorf("entering the command's directory: %w", err)
	}
	exe, err := program(argv[0])
	if err != nil {
		return err
	}
	// Nobody in here may look at this process, which is not confined in all
	// of its threads.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the helper to its children: %w", err)
	}
	// TERM reaches the command by its process group; it is not for us. A
	// handler rather than ignoring it, which the command would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	var r *renamer
	if p.Collect != "" {
		if r, err = newRenamer(p.Write[0]); err != nil {
			return err
		}
	}
	var net *netCounters
	if !p.NetOpen {
		net = openCounters()
	}
	if err := p.confine(); err != nil {
		return err
	}
	if r != nil {
		r.listen <- p.renames
	}
	pid, err := syscall.ForkExec(exe, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return startFault(argv[0], err)
	}
	if _, err := io.WriteString(status, ready); err != nil {
		return fmt.Errorf("reporting that the command runs: %w", err)
	}
	_ = status.Close()
	go watch(limits)
	// Only the command has its output open now: when it closes it, the reader at the other end
	// sees that.
	for _, fd := range []int{0, 1} {
		_ = unix.Close(fd)
	}
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("waiting for the command: %w", err)
		case got == pid && ws.Signaled():
			os.Exit(128 + int(ws.Signal()))
		case got == pid:
			if ws.ExitStatus() != 0 {
				net.explain()
			}
			os.Exit(ws.ExitStatus())
		}
	}
}

// netCounters are the kernel's counters of an empty network namespace. They show that a command
// wanted the network, whatever it prints about that.
type netCounters struct {
	v4, v6   *os.File
	resolver bool // names are asked of a server on the loopback, where none listens here
}

// openCounters opens the counters of this namespace. It is called before the process confines
// itself; what cannot be opened is not known.
func openCounters() *netCounters {
	c := &netCounters{}
	c.v4, _ = os.Open("/proc/self/net/snmp")
	c.v6, _ = os.Open("/proc/self/net/snmp6")
	conf, _ := os.ReadFile("/etc/resolv.conf")
	for l := range strings.Lines(string(conf)) {
		f := strings.Fields(l)
		c.resolver = c.resolver || len(f) > 1 && f[0] == "nameserver" && (strings.HasPrefix(f[1], "127.") || f[1] == "::1")
	}
	return c
}

// explain prints, as the last of a failed command's output, that it wanted the network, if it did.
func (c *netCounters) explain() {
	if c == nil {
		return
	}
	words := ""
	switch {
	case counter(c.v4, "Ip:", "OutNoRoutes") > 0 || counter6(c.v6, "Ip6OutNoRoutes") > 0:
		words = "the command failed, and it tried to reach the network"
	case c.resolver && counter(c.v4, "Udp:", "NoPorts") > 0:
		words = "the command failed, and it may have looked up a name in the network"
	default:
		return
	}
	fmt.Fprintf(os.Stderr, "\nadroit: %s, which its sandbox does not have; sandbox: {net: open} in the configuration gives commands the network\n", words)
}

// counter reads a value of /proc/net/snmp, where a line of names stands above one of values.
func counter(f *os.File, protocol, name string) (n int) {
	var names []string
	for _, l := range counterLines(f) {
		fields := strings.Fields(l)
		if len(fields) == 0 || fields[0] != protocol {
			continue
		}
		if i := slices.Index(names, name); i > 0 && i < len(fields) {
			n, _ = strconv.Atoi(fields[i])
		}
		names = fields
	}
	return n
}

// counter6 reads a value of /proc/net/snmp6, a line each.
func counter6(f *os.File, name string) (n int) {
	for _, l := range counterLines(f) {
		if fields := strings.Fields(l); len(fields) == 2 && fields[0] == name {
			n, _ = strconv.Atoi(fields[1])
		}
	}
	return n
}

func counterLines(f *os.File) []string {
	if f == nil {
		return nil
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	return strings.Split(string(b), "\n")
}

// loopback brings up the one interface of an empty network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bringing up the loopback: %w", err)
	}
	defer unix.Close(fd)
	var request [40]byte // struct ifreq
	copy(request[:], "lo")
	*(*uint16)(unsafe.Pointer(&request[unix.IFNAMSIZ])) = unix.IFF_UP | unix.IFF_RUNNING
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); e != 0 {
		return fmt.Errorf("bringing up the loopback: %w", e)
	}
	return nil
}

// build makes the mounts. Sources are taken before anything is covered, as
// mounts that are nowhere yet, so that order does not matter to them and no
// path is walked twice.
func (p *Policy) build(limits Limits) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leaving the shared mounts: %w", err)
	}
	plan := p.view()
	for _, s := range hostSecrets() {
		plan = append(plan, mount{kind: "mask", at: s, ro: true, pin: true})
	}
	empty, err := newTmpfs("size=64k,nr_inodes=16,mode=0755")
	if err != nil {
		return err
	}
	blank, err := blanks(empty)
	if err != nil {
		return err
	}
	dev, err := openDevices()
	if err != nil {
		return err
	}
	taken := make([]int, len(plan))
	for i, m := range plan {
		if taken[i], err = m.take(blank); err != nil {
			return err
		}
	}
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &all); err != nil {
		return fmt.Errorf("making the file system read-only: %w", err)
	}
	if err := placeDevices(dev); err != nil {
		return err
	}
	for i, m := range plan {
		if taken[i] < 0 {
			continue
		}
		if err := m.place(taken[i]); err != nil {
			return err
		}
	}
	// Now that the mount points inside of them exist.
	for i, m := range plan {
		if taken[i] < 0 || m.kind != "tmpfs" {
			continue
		}
		if err := setattr(taken[i], unix.MOUNT_ATTR_RDONLY, 0); err != nil {
			return fmt.Errorf("closing %s: %w", m.at, err)
		}
	}
	return freshProc(limits)
}

// freshProc shows the processes of this namespace only, read-only: user 0 may
// write to /proc/sys without any capability.
func freshProc(limits Limits) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("800"), 0) // a preference, see limit
	if limits.Processes > 0 && pidsPerNamespace() {
		// RLIMIT_NPROC does not hold user 0; the width of the numbers does.
		// 300 of them are never used.
		if err := os.WriteFile("/proc/sys/kernel/pid_max", strconv.AppendInt(nil, int64(limits.Processes)+301, 10), 0); err != nil && os.Geteuid() == 0 {
			return fmt.Errorf("limiting processes: %w", err)
		}
	}
	if err := unix.Mount("", "/proc", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("closing /proc: %w", err)
	}
	return nil
}

// pidsPerNamespace reports whether kernel.pid_max belongs to the process
// namespace. Before Linux 6.14 it is the machine's, and writing it would be
// the very thing that the sandbox is there to prevent.
func pidsPerNamespace() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
}
