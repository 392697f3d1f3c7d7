package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
)

// A Level says how much stands between a command and the machine.
type Level string

const (
	// Auto takes the best level that this machine can do, and none is no choice.
	Auto Level = "auto"
	// Full has namespaces of its own for users, mounts, processes, network,
	// IPC and host name, with Landlock and a system call filter inside.
	Full Level = "full"
	// Bubblewrap lets the system's bwrap make the namespaces, where only that
	// program may; Landlock and the filter inside are ours.
	Bubblewrap Level = "bubblewrap"
	// Seatbelt is what macOS has.
	Seatbelt Level = "seatbelt"
	// Landlock has Landlock and the system call filter, without namespaces.
	// See Gaps for what it cannot hold.
	Landlock Level = "landlock"
	// Off runs commands with the rights of whoever started adroit.
	Off Level = "off"
)

// Levels are the levels that a person may ask for, best first after auto.
var Levels = []Level{Auto, Full, Bubblewrap, Seatbelt, Landlock, Off}

// Parse reads what a person asked for; nothing means Auto.
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

// Gaps are what a level does not enforce, in words for the operator.
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

// A Finding is what became of one level on this machine.
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

// Err is nil if commands may run. It is an error of an exhausted host if that kept the
// level from being found out: it can be asked for again.
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
