package process

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// A reaper is a small process that outlives ours by a moment: it knows the
// process groups that are running and kills them when our end of its input
// closes, which a kill -9 cannot prevent. Without one, a killed runner would
// leave the children of its commands behind.
type reaper struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	input io.WriteCloser
}

// guardScript keeps the group numbers as its positional parameters.
const guardScript = `trap '' HUP INT TERM
while read -r op id; do
  if [ "$op" = + ]; then set -- "$@" "$id"; continue; fi
  n=$#
  while [ $n -gt 0 ]; do
    [ "$1" = "$id" ] || set -- "$@" "$1"
    shift; n=$((n-1))
  done
done
for id; do kill -s KILL -- "-$id"; done 2>/dev/null`

// begin starts the guard if it does not run. It is called before a command is
// started, so that little time passes until the guard knows of it. Without a
// guard the leader of a group still dies with us.
func (g *reaper) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		return
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	g.cmd, g.input = cmd, in
}

func (g *reaper) add(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		fmt.Fprintf(g.input, "+ %d\n", group)
	}
}

func (g *reaper) remove(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		fmt.Fprintf(g.input, "- %d\n", group)
	}
}

func (g *reaper) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd == nil {
		return nil
	}
	g.input.Close()
	_ = g.cmd.Wait() // how the shell ended says nothing
	g.cmd = nil
	return nil
}
