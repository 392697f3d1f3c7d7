package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A Cmd is a command to run.
type Cmd struct {
	Args    []string      // the program and its arguments; no shell sees them
	Shell   string        // if set, run by sh -c, with Args as $0, $1, …
	Dir     string        // relative to the root; empty is the root
	Env     []string      // KEY=value, added to the scrubbed environment
	Timeout time.Duration // zero: DefaultTimeout for Run, none for Start
	Stdin   []byte        // none: reading gives the end of file at once
	// Interactive gives the command a pipe for standard input, which the caller
	// writes and closes through Process.Stdin. It excludes Stdin, and is for
	// Start: with Run nobody could write, so the input just ends.
	Interactive bool
	// Stdout, if set, gets standard output as it is, and Output.Text has standard
	// error alone. It is written to by one goroutine, until the command is done.
	Stdout io.Writer
	// StdoutEnded, if set, is called when nothing comes to Stdout any more, which may be
	// before the command is done.
	StdoutEnded func()
	// Watch, if set, gets what Output.Text has, as it comes. It is written to by one
	// goroutine, until the command is done, and must not block.
	Watch io.Writer
	// Snapshot records in the ledger what the command changed in the workspace.
	Snapshot bool
	// OwnGit: with Snapshot, the command is a git of this program's own that moves
	// references, and what moves meanwhile it has moved.
	OwnGit bool
	// Net gives the command the network of this machine, whatever the sandbox
	// says: for a tool that has the network and runs a program of its own choice.
	Net bool
	// Outside runs the command outside the sandbox, as the user's own shell would, with
	// all of the environment: for a tool that a person is asked about each time.
	Outside bool
}

func (c Cmd) argv() ([]string, error) {
	if c.Interactive && c.Stdin != nil {
		return nil, errors.New("a command is given its input as Stdin or through a pipe (Interactive), not both")
	}
	if c.Shell != "" {
		return append([]string{"/bin/sh", "-c", c.Shell}, c.Args...), nil
	}
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, errors.New("no command was given; name a program to run")
	}
	for _, a := range c.Args {
		if strings.ContainsRune(a, 0) {
			return nil, fmt.Errorf("the argument %q contains a NUL byte; leave it out", a)
		}
	}
	return c.Args, nil
}

// An Output is what a command did, or has done so far.
type Output struct {
	ID       string        `json:"id"`
	Code     int           `json:"code"` // 128 + signal if a signal ended it, as in a shell; -1 while it runs
	Text     string        `json:"text"` // head and tail, printable; see Visible
	Bytes    int64         `json:"bytes"`
	Dropped  int64         `json:"dropped,omitempty"` // bytes between head and tail
	TimedOut bool          `json:"timed_out,omitempty"`
	Killed   bool          `json:"killed,omitempty"` // ended by Kill, Close or ctx
	Took     time.Duration `json:"took_ns"`
	Log      string        `json:"log,omitempty"`     // file with the output up to MaxLog bytes
	Sandbox  string        `json:"sandbox"`           // the level in force; see Confined
	Changed  []string      `json:"changed,omitempty"` // with Cmd.Snapshot: files that changed
	// Uncertain: Changed was found by comparing the files before and after, which
	// does not show who changed them.
	Uncertain bool   `json:"uncertain,omitempty"`
	Note      string `json:"note,omitempty"` // something about the record that the reader should know
}

// Whole is all of the output, printable, if it has at most n bytes, else its head and its
// tail and how many bytes are missing between them.
func (o *Output) Whole(n int) (text string, dropped int64) {
	if o.Dropped == 0 {
		return o.Text, 0
	}
	b, err := os.ReadFile(o.Log)
	if o.Log == "" || err != nil {
		return o.Text, o.Dropped
	}
	if missing := o.Bytes - int64(len(b)); missing > 0 || len(b) > n {
		head, tail := b[:min(len(b), n/2)], b[max(0, len(b)-n/2):]
		return strings.ToValidUTF8(rootfs.Visible(string(head)), "") + "\n[…]\n" + strings.ToValidUTF8(rootfs.Visible(string(tail)), ""), o.Bytes - int64(len(head)+len(tail))
	}
	return rootfs.Visible(string(b)), 0
}

// ExitCode is the code a shell would report.
func ExitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
