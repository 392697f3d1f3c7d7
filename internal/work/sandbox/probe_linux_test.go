//go:build linux && amd64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A target has the files and processes that the hostile probes attack.
type target struct {
	WS, Outside, Home, Data, Cache string
	Unix, Abstract, TCP, UDP       string
	Victim                         int // a process of the same user
	FD                             int // a file that the runner forgot to close
}

// victimName is a name that no process of a probe has.
const victimName = "cat"

// A hostile probe tries one way out. It returns nil if that worked.
type hostile struct {
	name string
	try  func(t target) error
}

func put(path string) error { return os.WriteFile(path, []byte("owned"), 0o644) }

// openTo opens a file for writing and writes nothing: that would be enough.
func openTo(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if e != 0 {
		return e
	}
	return nil
}

// reaches judges calls that fail anyway: it returns the error only if the sandbox refused the
// call.
func reaches(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EACCES) {
		return err
	}
	return nil
}

func socket(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind, proto)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func dial(network, addr string) error {
	c, err := net.Dial(network, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if network == "udp" {
		if _, err := c.Write([]byte("leak")); err != nil {
			return err
		}
		b := make([]byte, 8)
		_, err = c.Read(b) // the listener answers
		return err
	}
	return nil
}

func connectTo(fd int, addr string) error {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return err
	}
	sa := &unix.SockaddrInet4{Port: a.Port}
	copy(sa.Addr[:], a.IP.To4())
	return unix.Connect(fd, sa)
}

func proc(t target, name string) string { return fmt.Sprintf("/proc/%d/%s", t.Victim, name) }

// outside returns err, or that a process which a probe reached is not the victim. In a
// namespace of its own, the probe or one of its threads can have the victim's number:
// where numbers have begun anew, the victim has one from 300 on, and so has a probe.
func (t target) outside(err error) error {
	if err != nil {
		return err
	}
	if b, err := os.ReadFile(proc(t, "comm")); err == nil && string(b) != victimName+"\n" {
		return fmt.Errorf("%d is %q of this side", t.Victim, b)
	}
	return nil
}

// read fails too if there is nothing in it: a file that was covered.
func read(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return errors.New("it is empty")
	}
	return err
}

func shell(script string, args ...string) error {
	return exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...).Run()
}

// makeProgram makes a program that runs with the rights of its owner or group.
func makeProgram(bit uint32) error {
	mode := bit | 0o755
	made := func(name string, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(name, &st)
		}
		if err == nil && st.Mode&bit == 0 {
			err = unix.EPERM
		}
		return err
	}
	// Each must fail: the first that works is the result of the probe.
	if err := os.WriteFile("plain", nil, 0o644); err != nil {
		return err
	}
	err := made("plain", unix.Chmod("plain", mode))
	for i, try := range []func(name string) error{
		func(name string) error {
			fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY, mode)
			unix.Close(fd)
			return err
		},
		func(name string) error { return unix.Mknod(name, unix.S_IFREG|mode, 0) },
		func(name string) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)})
			unix.Close(fd)
			return err
		},
		func(string) error { return unix.Fchmodat(unix.AT_FDCWD, "plain", mode, 0) },
	} {
		name := fmt.Sprintf("program-%o-%d", bit, i)
		if i == 3 {
			name = "plain"
		}
		if made(name, try(name)) == nil {
			return nil
		}
	}
	return err
}

var hostiles = []hostile{
	{"create a file outside", func(t target) error { return put(t.Outside + "/new") }},
	{"create a file beside the workspace by ..", func(t target) error { return put("../new") }},
	{"create a file outside by /proc/self/root", func(t target) error { return put("/proc/self/root" + t.Outside + "/new") }},
	{"overwrite a file outside", func(t target) error { return put(t.Outside + "/f") }},
	{"truncate a file outside", func(t target) error { return os.Truncate(t.Outside+"/f", 0) }},
	{"remove a file outside", func(t target) error { return os.Remove(t.Outside + "/gone") }},
	{"rename a file out", func(t target) error { return os.Rename("mine", t.Outside+"/moved") }},
	{"rename a file in", func(t target) error { return os.Rename(t.Outside+"/f", "stolen") }},
	{"hard link a file in", func(t target) error { return os.Link(t.Outside+"/f", "linked") }},
	{"write through a link that leads outside", func(t target) error {
		_ = os.Symlink(t.Outside+"/f", "way")
		return put("way")
	}},
	{"write outside from a daemon in a session of its own", func(t target) error {
		_ = shell(`(setsid env -i /bin/sh -c 'echo owned >"$0/daemon"' "$1" &) ; sleep 0.2`, t.Outside)
		return read(t.Outside + "/daemon")
	}},
	{"change the mode of a file outside", func(t target) error { return os.Chmod(t.Outside+"/f", 0o777) }},
	{"change the owner of a file outside", func(t target) error { return os.Chown(t.Outside+"/f", os.Getuid(), os.Getgid()) }},
	{"change the times of a file outside", func(t target) error { return unix.Utimes(t.Outside+"/f", make([]unix.Timeval, 2)) }},
	{"set an attribute of a file outside", func(t target) error { return unix.Setxattr(t.Outside+"/f", "user.owned", []byte("x"), 0) }},
	{"read a secret of the user's home", func(t target) error { return read(t.Home + "/.ssh/id_rsa") }},
	{"write a shell start file", func(t target) error { return openTo(t.Home + "/.bashrc") }},
	{"read adroit's own data", func(t target) error { return read(t.Data + "/adroit.db") }},
	{"write the user's build cache", func(t target) error { return put(t.Cache + "/poison") }},
	{"read .env in the workspace", func(t target) error { return read(".env") }},
	{"read .env under another name", func(t target) error {
		if err := os.Rename(".env", "plain"); err != nil {
			return err
		}
		defer os.Rename("plain", ".env")
		return read("plain")
	}},
	{"plant a git hook", func(t target) error { return put(".git/hooks/pre-commit") }},
	{"write the repository's config", func(t target) error { return openTo(".git/config") }},
	{"replace the repository's config", func(t target) error {
		_ = put(".git/config.lock")
		return os.Rename(".git/config.lock", ".git/config")
	}},
	{"replace the repository", func(t target) error {
		if err := os.Rename(".git", "old"); err != nil {
			return err
		}
		return os.Rename("old", ".git")
	}},
	{"write an agent's settings", func(t target) error { return put(".claude/settings.json") }},
	{"read /etc/shadow", func(t target) error { return read("/etc/shadow") }},
	{"read the disk raw", func(t target) error {
		out, err := exec.Command("/bin/sh", "-c", "ls /dev/vda /dev/sda /dev/nvme0n1 /dev/mem 2>/dev/null | head -1").Output()
		if len(out) == 0 {
			return errors.Join(errors.New("there is none"), err)
		}
		f, err := os.Open(string(out[:len(out)-1]))
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 512))
		return err
	}},
	{"make a set-user-ID program", func(target) error { return makeProgram(unix.S_ISUID) }},
	{"make a set-group-ID program", func(target) error { return makeProgram(unix.S_ISGID) }},
	{"make a device", func(t target) error { return unix.Mknod("disk", unix.S_IFBLK|0o600, 254<<8) }},
	{"leave something in /dev/shm", func(t target) error {
		name := filepath.Join("/dev/shm", filepath.Base(filepath.Dir(t.Outside)))
		if err := put(name); err != nil {
			return err
		}
		if err := t.outside(syscall.Kill(t.Victim, 0)); err != nil { // a namespace of its own: nobody out there sees it
			return err
		}
		return os.Remove(name)
	}},
	{"write /proc/sys/kernel/core_pattern", func(t target) error { return openTo("/proc/sys/kernel/core_pattern") }},
	{"write /sys", func(t target) error { return openTo("/sys/kernel/mm/transparent_hugepage/enabled") }},
	{"connect to a socket with a path (docker.sock)", func(t target) error { return dial("unix", t.Unix) }},
	{"connect to an abstract socket", func(t target) error { return dial("unix", "@"+t.Abstract) }},
	{"connect by TCP", func(t target) error { return dial("tcp", t.TCP) }},
	{"send by UDP", func(t target) error { return dial("udp", t.UDP) }},
	{"connect by MPTCP", func(t target) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return connectTo(fd, t.TCP)
	}},
	{"connect by TCP fast open", func(t target) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		a, err := net.ResolveTCPAddr("tcp4", t.TCP)
		if err != nil {
			return err
		}
		sa := &unix.SockaddrInet4{Port: a.Port}
		copy(sa.Addr[:], a.IP.To4())
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, sa)
	}},
	{"make a raw socket", func(t target) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{"make a packet socket", func(t target) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"make a vsock", func(t target) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{"make a kernel crypto socket", func(t target) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{"set up io_uring", func(t target) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{"unshare a user namespace", func(t target) error { return shell("exec unshare -U true") }},
	{"clone into a user namespace", func(t target) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}},
	{"clone3", func(t target) error { return reaches(call(unix.SYS_CLONE3, 0, 0)) }},
	{"mount", func(t target) error {
		_ = os.Mkdir("m", 0o755)
		err := unix.Mount("tmpfs", "m", "tmpfs", 0, "")
		if err == nil {
			_ = unix.Unmount("m", unix.MNT_DETACH)
		}
		return err
	}},
	{"unmount", func(t target) error { return reaches(unix.Unmount("/nowhere", 0)) }},
	{"enter another namespace", func(t target) error { return reaches(call(unix.SYS_SETNS, 99, 0)) }},
	{"change the root", func(t target) error { return unix.Chroot(t.WS) }},
	{"trace another process", func(t target) error {
		return t.outside(unix.PtraceSeize(t.Victim))
	}},
	{"read another process's memory", func(t target) error { return t.outside(openTo(proc(t, "mem"))) }},
	{"read another process's environment", func(t target) error { return t.outside(read(proc(t, "environ"))) }},
	{"see another process's command line", func(t target) error { return t.outside(read(proc(t, "cmdline"))) }},
	{"signal another process", func(t target) error { return t.outside(syscall.Kill(t.Victim, syscall.SIGURG)) }},
	{"limit another process", func(t target) error {
		return t.outside(unix.Prlimit(t.Victim, unix.RLIMIT_CORE, &unix.Rlimit{}, nil))
	}},
	{"take a file of another process", func(t target) error {
		fd, err := unix.PidfdOpen(t.Victim, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return t.outside(err)
	}},
	{"kill the helper", func(t target) error {
		if os.Getppid() == 1 || syscall.Kill(1, 0) != nil {
			return errors.New("it is not there")
		}
		if b, _ := os.ReadFile("/proc/1/comm"); string(b) != "exe\n" && string(b) != stageName+"\n" {
			return errors.New("number 1 is not ours")
		}
		_ = syscall.Kill(1, syscall.SIGKILL)
		return openTo("/proc/1/mem")
	}},
	{"type into the terminal", func(t target) error { return reaches(call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0)) }},
	{"load a BPF program", func(t target) error { return reaches(call(unix.SYS_BPF, 99, 0, 0)) }},
	{"open a performance counter", func(t target) error { return reaches(call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0)) }},
	{"use the kernel's keys", func(t target) error { return call(unix.SYS_KEYCTL, 0, ^uintptr(2), 1) }},
	{"open a file by its handle", func(t target) error {
		return reaches(call(unix.SYS_OPEN_BY_HANDLE_AT, 99, 0, 0))
	}},
	{"call the kernel by x32 numbers", func(t target) error { return reaches(call(0x40000000 | unix.SYS_GETPID)) }},
	{"call the kernel by i386 numbers", func(t target) error { return assembled("i386-call", callsI386()) }},
	{"run a 32-bit program", func(t target) error { return assembled("i386-program", programI386()) }},
	{"use a file that was left open", func(t target) error {
		_, err := unix.Write(t.FD, []byte("owned"))
		return err
	}},
	{"have a capability", func(t target) error {
		h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var d [2]unix.CapUserData
		if err := unix.Capget(&h, &d[0]); err != nil {
			return err
		}
		if d[0].Effective|d[1].Effective == 0 {
			return errors.New("there is none")
		}
		return nil
	}},
}

// beHostile runs the probes. Each probe runs in a process of its own, a grandchild of the confined
// one, since some are killed for trying.
func beHostile(args []string) int {
	var t target
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		fmt.Println(err)
		return 2
	}
	if len(args) == 1 {
		for _, h := range hostiles {
			cmd := exec.Command(filepath.Join(t.WS, "probe"), probeWord, args[0], h.name)
			cmd.ExtraFiles = make([]*os.File, 0)
			var exit *exec.ExitError
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				fmt.Printf("worked\t%s\n", h.name)
			case errors.As(err, &exit):
				fmt.Printf("held\t%s\t%s %s\n", h.name, exit, firstLine(out))
			default:
				fmt.Printf("broken\t%s\t%v\n", h.name, err)
			}
		}
		return 0
	}
	for _, h := range hostiles {
		if h.name != args[1] {
			continue
		}
		if err := h.try(t); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	return 2
}

func firstLine(b []byte) string {
	for i, c := range b {
		if c == '\n' {
			return string(b[:i])
		}
	}
	return string(b)
}
