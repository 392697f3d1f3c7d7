package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

const fullTurns = `turns:
  - calls: [{name: shell, args: {command: "until test -e go; do sleep 0.1; done"}}]
  - calls: [{name: shell, args: {command: "echo line >>log"}}]
  - calls: [{name: write_file, args: {path: made.txt, content: "made\n"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`

// A stream collects the output of a process while it runs.
type stream struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// smallDisk mounts a file system of a size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		testenv.Missing(t, "a small file system cannot be mounted here: "+err.Error())
	}
	t.Cleanup(func() { dirtest.Must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// fill leaves no byte of the disk of a file.
func fill(t *testing.T, name string) {
	t.Helper()
	filler, err := os.Create(name)
	dirtest.Must(t, err)
	chunk := make([]byte, 1<<20)
	for len(chunk) > 0 {
		if _, err := filler.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			chunk = chunk[:len(chunk)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	dirtest.Must(t, filler.Close())
}

// A run whose disk is full before there is a job says once that it waits, and is done when
// there is room: with a database from before, which could be read, and without one.
func TestFullAtStart(t *testing.T) {
	testenv.Long(t, "mounts a file system")
	for name, before := range map[string]int{"no data directory": 0, "a database": 1} {
		t.Run(name, func(t *testing.T) {
			p := newPlaceIn(t, smallDisk(t, "24m"), map[string]string{"home/.config/adroit/agents/editor.md": powerAgent, "turns.yaml": fullTurns, "repo/log": "", "repo/go": ""})
			p.bin = program(t)
			args := []string{"run", "editor", "edit", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off"}
			for range before {
				p.ok(0, args...)
			}
			fill(t, p.path("filler"))
			var out stream
			c := exec.Command(p.bin, args...)
			c.Dir, c.Env, c.Stdout, c.Stderr = p.path("repo"), p.env, &out, &out
			dirtest.Must(t, c.Start())
			t.Cleanup(func() { _ = c.Process.Kill() })
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			for late := time.Now().Add(time.Minute); !strings.Contains(out.String(), "waiting: the disk is full"); time.Sleep(20 * time.Millisecond) {
				select {
				case err := <-ended:
					t.Fatalf("the run did not wait: %v\n%s", err, out.String())
				default:
				}
				if time.Now().After(late) {
					t.Fatalf("the run did not say that it waits\n%s", out.String())
				}
			}
			time.Sleep(300 * time.Millisecond) // it tries again some times
			dirtest.Must(t, os.Remove(p.path("filler")))
			if err := <-ended; err != nil || strings.Count(out.String(), "the disk is full") != 1 {
				t.Errorf("%v\n%s", err, out.String())
			}
			if log := p.read("repo/log"); log != strings.Repeat("line\n", before+1) {
				t.Errorf("the commands wrote %q", log)
			}
		})
	}
}

// Processes whose disk is full in the middle of their jobs wait, and when there is room
// again all jobs are done, with each command run once. Data and workspace are on that disk.
func TestFullData(t *testing.T) {
	testenv.Long(t, "mounts a file system")
	n := testenv.Sample(4, 20)
	dir := smallDisk(t, "96m")
	p := newPlaceIn(t, dir, map[string]string{"home/.config/adroit/agents/editor.md": powerAgent, "turns.yaml": fullTurns, "repo/log": "", "repo/going": ""})
	p.bin = program(t)

	type process struct {
		cmd *exec.Cmd
		out stream
	}
	all := make([]process, n)
	for i := range all {
		c := exec.Command(p.bin, "run", "editor", fmt.Sprint("edit ", i), "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off", "--json")
		c.Dir, c.Env = p.path("repo"), p.env
		c.Stdout, c.Stderr = &all[i].out, &all[i].out
		dirtest.Must(t, c.Start())
		all[i].cmd = c
		t.Cleanup(func() { _ = c.Process.Kill() })
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for late := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(late) {
				for i := range all {
					t.Log(all[i].out.String())
				}
				t.Fatalf("waited in vain: %s", what)
			}
		}
	}
	until("commands run", func() bool { return strings.Count(p.ok(0, "jobs"), "  running  ") == n })
	time.Sleep(time.Second) // the commands begin; one that begins later waits for room as well

	fill(t, p.path("filler"))
	dirtest.Must(t, os.Rename(p.path("repo/going"), p.path("repo/go")))
	until("a process waits", func() bool {
		for i := range all {
			if strings.Contains(all[i].out.String(), "waiting: the disk is full") {
				return true
			}
		}
		return false
	})
	dirtest.Must(t, os.Remove(p.path("filler")))
	waited := 0
	for i := range all {
		if err := all[i].cmd.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, all[i].out.String())
		}
		waited += strings.Count(all[i].out.String(), "waiting: the disk is full")
	}
	if got := strings.Count(p.ok(0, "jobs"), "  done  "); got != n {
		t.Errorf("%d of %d jobs are done: %s", got, n, p.ok(0, "jobs"))
	}
	if log := p.read("repo/log"); log != strings.Repeat("line\n", n) {
		t.Errorf("the commands of %d jobs wrote %q", n, log)
	}
	t.Logf("%d processes, %d waits", n, waited)
}
