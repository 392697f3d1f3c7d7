// Package sandbox confines a command, so that code written by a model can access its workspace and
// nothing else.
//
//	level, report := sandbox.Choose(sandbox.Auto)
//	cmd := exec.Command("go", "test", "./...")
//	stage, err := sandbox.Wrap(cmd, level, &sandbox.Policy{Dir: ws, Write: []string{ws}, Private: tmp})
//	err = cmd.Start()
//	err = stage.Started(err) // an error means that the command did not run
//
// There is no helper program. A binary that links this package starts itself again under the name
// adroit-sandbox, and an init function takes over before main: it sets up the confinement and then
// becomes the command, or stays as the first process of the command's own process namespace. The
// policy travels in a memory file that the command never sees.
//
// A level applies completely or not at all. If any part of the set-up fails, the command does not
// run. The available levels of a machine are determined by running a command under each, never by
// version numbers.
//
// It is not a virtual machine: a hole in the kernel is a hole in the sandbox.
package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/text/hint"
)

// A Level states how far a command is separated from the machine.
type Level string

const (
	// Auto takes the best level that is available on this machine, and fails if there is none.
	Auto Level = "auto"
	// Full has namespaces of its own for users, mounts, processes, network,
	// IPC and host name, with Landlock and a system call filter inside.
	Full Level = "full"
	// Bubblewrap lets the system's bwrap make the namespaces, where only that
	// program may; Landlock and the filter inside are ours.
	Bubblewrap Level = "bubblewrap"
	// Seatbelt is the sandbox of macOS.
	Seatbelt Level = "seatbelt"
	// Landlock has Landlock and the system call filter, without namespaces. See Gaps for what it
	// cannot enforce.
	Landlock Level = "landlock"
	// Off runs commands with the rights of the user who started adroit.
	Off Level = "off"
)

// Levels are the levels that a person may ask for, best first after auto.
var Levels = []Level{Auto, Full, Bubblewrap, Seatbelt, Landlock, Off}

// Parse reads a person's setting; an empty one means Auto.
func Parse(s string) (Level, error) {
	if s == "" {
		return Auto, nil
	}
	if l := Level(s); slices.Contains(Levels, l) {
		return l, nil
	}
	names := make([]string, len(Levels))
	for i, l := range Levels {
		names[i] = string(l)
	}
	return "", fmt.Errorf("there is no sandbox level %q; it is one of %s", s, strings.Join(names, ", "))
}

// Gaps lists what a level does not enforce, in words for the operator.
func (l Level) Gaps() []string {
	switch l {
	case Off:
		return []string{"everything: commands have the rights of whoever started adroit"}
	case Landlock:
		return []string{
			"secrets inside the workspace (.env, *.pem and the like) can be read by commands",
			"hooks and config of the repository, and the settings of agents and editors, are put back after a command rather than locked",
			"mode, owner, times and attributes of the user's own files outside the workspace can be changed",
			"command lines of other processes can be seen, and their priority and processor affinity changed",
			"a process that leaves its session and clears its environment outlives its command",
			"there is no network at all, not even loopback: tests that open a socket fail",
		}
	case Seatbelt:
		return []string{
			"a process that leaves its session outlives its command",
			"loopback reaches the servers of this machine",
		}
	}
	return nil
}

// ErrRefused is in the chain of every error that means: this machine cannot do
// the level that was asked for, so the command was not run.
var ErrRefused = errors.New("the sandbox is not available")

// ErrChanged is in the chain of an error that means: the command did not run
// because something else lies now at a path of Policy.Expect. It may run under a
// policy that is made anew.
var ErrChanged = errors.New("the workspace changed while the sandbox was being set up")

// A Finding is the result of probing one level on this machine.
type Finding struct {
	Level  Level    `json:"level"`
	OK     bool     `json:"ok"`
	Why    string   `json:"why,omitempty"`  // it cannot be had
	Help   string   `json:"help,omitempty"` // what would change that
	Gaps   []string `json:"gaps,omitempty"` // what it does not enforce
	Detail string   `json:"detail,omitempty"`

	short error // what the host had run out of: nothing is known of the level
}

// A Report is the level that a request got, and why not a better one.
type Report struct {
	Asked  Level     `json:"asked"`
	Level  Level     `json:"level"` // in force; empty if commands are refused
	Tried  []Finding `json:"tried,omitempty"`
	Notice string    `json:"notice,omitempty"`
}

// Err returns nil if commands may run. If an exhausted host prevented the level from being
// determined, it returns the host's error, and the caller may try again.
func (r Report) Err() error {
	if r.Level != "" {
		return nil
	}
	if n := len(r.Tried); n > 0 && r.Tried[n-1].short != nil {
		f := r.Tried[n-1]
		return fmt.Errorf("no command runs before it is known whether the level %s can be had: %w", f.Level, f.short)
	}
	var why []string
	help := ""
	for _, f := range r.Tried {
		if !f.OK {
			why = append(why, string(f.Level)+": "+f.Why)
			help = cmp.Or(help, f.Help)
		}
	}
	help = cmp.Or(help, hint.Command("doctor")+" says what this machine can do")
	return fmt.Errorf("%w: no command runs, because the level %s cannot be had here (%s); %s, or run with --sandbox off on a machine that holds nothing of value",
		ErrRefused, r.Asked, strings.Join(why, "; "), help)
}

// Choose finds the level for a request. Each level is tried once per process,
// by running a command under it; again if the host had too little for that.
func Choose(asked Level) Report {
	r := Report{Asked: asked}
	switch asked {
	case Off:
		r.Level = Off
		return r
	case Auto, "":
		r.Asked = Auto
		for _, l := range order {
			f := try(l)
			r.Tried = append(r.Tried, f)
			if f.OK {
				r.Level = l
				return r
			}
			if f.short != nil {
				return r // a better level than the next may be had
			}
		}
	default:
		f := try(asked)
		r.Tried = []Finding{f}
		if f.OK {
			r.Level = asked
		}
	}
	return r
}

// Survey tries every level that this system might have.
func Survey() []Finding {
	var out []Finding
	for _, l := range order {
		out = append(out, try(l))
	}
	return out
}

// SeatbeltProfile renders a policy in the language of macOS's sandbox-exec. Later rules take
// precedence there, so it goes from the general to the particular.
func (p *Policy) SeatbeltProfile() string {
	var b strings.Builder
	rule := func(verb, filter string, paths ...string) {
		paths = slices.DeleteFunc(slices.Clone(paths), func(s string) bool { return s == "" })
		if len(paths) == 0 {
			return
		}
		b.WriteString("(" + verb)
		for _, path := range paths {
			b.WriteString("\n  (" + filter + " " + quote(path) + ")")
		}
		b.WriteString(")\n")
	}
	b.WriteString("(version 1)\n(deny default)\n" +
		"(allow process-fork process-exec)\n(allow signal (target same-sandbox))\n(allow process-info* (target same-sandbox))\n" +
		"(allow sysctl-read)\n(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n" +
		"(allow ipc-posix-sem)\n(allow file-read*)\n")
	rule("allow file-write*", "literal", "/dev/null", "/dev/zero", "/dev/tty")
	rule("deny file-read-data", "subpath", slices.Concat([]string{p.Home, "/private/tmp", "/private/var/tmp", "/private/var/run"}, p.Hide)...)
	rule("allow file-read*", "subpath", p.Show...)
	rule("allow file-read* file-write*", "subpath", p.writable(Seatbelt)...)
	rule("deny file-write*", "subpath", p.Fix...)
	// A pinned directory may be written but not moved away with its protected files.
	rule("deny file-write-unlink", "literal", p.Pin...)
	rule("deny file-read* file-write*", "subpath", p.Mask...)
	if p.NetOpen {
		b.WriteString("(allow network*)\n(allow system-socket)\n")
	} else {
		b.WriteString("(allow network* (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n")
	}
	// Docker and the agents of ssh and gpg listen on sockets that have a path.
	b.WriteString("(deny network-outbound (remote unix-socket))\n")
	return b.String()
}

// quote writes a string as the profile's language does, in which a path with a
// quote in it could otherwise add rules.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

const (
	probePrefix = "adroit-probe-" // of the names of directories for probes
	probeTime   = 20 * time.Second
	staleProbe  = 30 * probeTime // the age at which no process uses such a directory any more
)

// removeStaleProbes removes the directories of probes whose process was killed. Those of other users stay:
// their names prove nothing.
func removeStaleProbes(tmp string) {
	all, err := os.ReadDir(tmp)
	if err != nil {
		return // the probe reports it
	}
	for _, e := range all {
		if !strings.HasPrefix(e.Name(), probePrefix) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < staleProbe {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			_ = os.RemoveAll(filepath.Join(tmp, e.Name())) // the next probe tries again
		}
	}
}
