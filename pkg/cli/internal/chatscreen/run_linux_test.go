package chatscreen

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pty is a pseudo terminal: what is written to ours is typed, and what was printed
// is in text.
type pty struct {
	ours, theirs *os.File
	mu           sync.Mutex
	seen         strings.Builder
}

func newPTY(t *testing.T) *pty {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err == nil {
		err = unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{ours: ours, theirs: theirs}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { theirs.Close(); ours.Close() })
	return p
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pty) see(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(p.text(), what); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not there: %q", what, p.text())
		}
	}
}

// cooked reports whether the terminal echoes and reads lines, as programs leave it.
func (p *pty) cooked() bool {
	t, err := unix.IoctlGetTermios(int(p.ours.Fd()), unix.TCGETS)
	return err == nil && t.Lflag&unix.ECHO != 0 && t.Lflag&unix.ICANON != 0 && t.Oflag&unix.OPOST != 0
}

// A defect of the screen or of the session ends in an error, with the terminal as it
// was: of what the person types, of what was posted, and of work elsewhere.
func TestPanicLeavesTerminal(t *testing.T) {
	for name, broken := range map[string]func(m *model){
		"posted":    func(m *model) { m.screen.Post(func() { panic("a defect") }) },
		"elsewhere": func(m *model) { m.session.Enter("hello") }, // there is no client
		"drawing":   func(m *model) { m.screen.Post(func() { m.editor.at = -1 }) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t)
			m := newModel(t, 80, 24)
			m.screen.in, m.screen.live.out = p.theirs, p.theirs
			err := m.screen.Run(t.Context(), m.session, func() { broken(m) })
			if !errors.Is(err, errPanic) || !strings.Contains(err.Error(), "goroutine ") {
				t.Errorf("the error is %v", err)
			}
			if !p.cooked() {
				t.Error("the terminal was not restored")
			}
			_, _ = io.WriteString(p.theirs, "behind it")
			p.see(t, "behind it")
			for _, mode := range []string{"\x1b[?2004l", "\x1b[?1004l", "\x1b[<1u", "\x1b[>4m", "\x1b[?25h"} {
				if !strings.Contains(p.text(), mode) {
					t.Errorf("%q was not sent", mode)
				}
			}
		})
	}
}

// While nothing happens nothing runs: the loop waits, and no timer is set.
func TestIdle(t *testing.T) {
	p := newPTY(t)
	m := newModel(t, 80, 24)
	m.screen.in, m.screen.live.out = p.theirs, p.theirs
	ended := make(chan error, 1)
	go func() { ended <- m.screen.Run(t.Context(), m.session, func() {}) }()
	p.see(t, "/help")
	_, _ = io.WriteString(p.ours, "x")
	moving := make(chan bool)
	m.screen.Post(func() { moving <- m.moving() })
	if <-moving {
		t.Error("the rows are drawn again and again")
	}
	_, _ = io.WriteString(p.ours, "\x15\x04") // an empty line, and the end
	if err := <-ended; err != nil || !p.cooked() {
		t.Errorf("%v, cooked %v", err, p.cooked())
	}
}

// Ctrl+V, and a paste without text, attach the picture that a program of the desktop prints; what
// is none is refused in a sentence, and nothing is left behind.
func TestPicturePasted(t *testing.T) {
	bin, temporary := t.TempDir(), t.TempDir()
	for name, prints := range map[string]string{"wl-paste": `echo no picture`, "xclip": `printf '\211PNG\r\n\032\nrest'`} {
		if err := os.WriteFile(bin+"/"+name, []byte("#!/bin/sh\n"+prints+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", temporary)
	t.Setenv("WAYLAND_DISPLAY", "wayland-9")
	t.Setenv("DISPLAY", "")
	p := newPTY(t)
	m := newModel(t, 80, 24)
	m.screen.in, m.screen.live.out = p.theirs, p.theirs
	ended := make(chan error, 1)
	go func() { ended <- m.screen.Run(t.Context(), m.session, func() {}) }()
	p.see(t, "/help")
	_, _ = io.WriteString(p.ours, "\x16")
	p.see(t, "there is no picture in the clipboard: as wl-paste has it")
	set := make(chan bool)
	m.screen.Post(func() { t.Setenv("DISPLAY", ":9"); set <- true })
	<-set
	line := make(chan string)
	pasted := func(n int) (value string) {
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && strings.Count(value, "@") < n; time.Sleep(time.Millisecond) {
			m.screen.Post(func() { line <- m.editor.value() })
			value = <-line
		}
		return value
	}
	_, _ = io.WriteString(p.ours, "\x1b[200~\x1b[201~") // nothing, pasted
	pasted(1)
	_, _ = io.WriteString(p.ours, "\x16")
	for _, f := range strings.Fields(pasted(2)) {
		if b, err := os.ReadFile(strings.TrimPrefix(f, "@")); err != nil || string(b) != "\x89PNG\r\n\x1a\nrest" {
			t.Errorf("%s has %q, %v", f, b, err)
		}
	}
	_, _ = io.WriteString(p.ours, "\x15\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
