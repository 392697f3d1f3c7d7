package kit

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	_ "github.com/adroit-run/adroit/internal/system/unixonly"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A Screen receives progress: a terminal that can redraw a line, or a plain stream.
type Screen struct {
	io.Writer
	Live  bool // a line at the bottom may be redrawn
	color bool
	fd    int // of the terminal, -1 if there is none
	Cols  int // from COLUMNS, 0 to ask the terminal
}

// Width returns the width of a line in columns, 0 if it is unlimited.
func (s *Screen) Width() int {
	if s.Cols > 0 {
		return s.Cols
	}
	if s.fd < 0 {
		return 0
	}
	w, _, err := term.GetSize(s.fd)
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// Styles of parts of a line. Magenta is legible on dark and on light backgrounds
// with every common palette; xterm's cyan and yellow are not on light ones.
const (
	Plain   = ""
	Dim     = "2"
	Red     = "31"
	Green   = "32"
	Bold    = "1"
	Magenta = "35"
	Italic  = "3"
)

// Color reports whether text can be painted.
func (s *Screen) Color() bool { return s.color }

func (s *Screen) Paint(style, text string) string {
	if !s.color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// Unpaint is text without the styles that Paint gives it.
func Unpaint(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return text
	}
	var b strings.Builder
	for text != "" {
		head, rest, found := strings.Cut(text, "\x1b[")
		b.WriteString(head)
		if !found {
			break
		}
		_, text, _ = strings.Cut(rest, "m")
	}
	return b.String()
}

// NewScreen opens w with what the environment decides about terminals.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	s := &Screen{Writer: w, fd: -1}
	if o, ok := w.(*Output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(f) {
		return s
	}
	s.fd = int(f.Fd())
	s.Cols, _ = strconv.Atoi(getenv("COLUMNS"))
	s.Live = getenv("TERM") != "dumb"
	s.color = s.Live && getenv("NO_COLOR") == ""
	return s
}

// NewColor is a stream that shows colours, as a terminal of so many columns would.
func NewColor(w io.Writer, cols int) *Screen {
	return &Screen{Writer: w, color: true, fd: -1, Cols: cols}
}

// NewPlain is a stream that is no terminal.
func NewPlain(w io.Writer) *Screen { return &Screen{Writer: w, fd: -1} }

// IsTerminal reports whether the stream is a terminal.
func (s *Screen) IsTerminal() bool { return s.fd >= 0 }

// ReaderGone reports whether the reader of this process's output is gone. A SIGPIPE alone
// does not prove it: writing to a command that has just ended raises one, too.
func ReaderGone() bool {
	fds := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return true // not known: stop rather than print into the void
	}
	for _, fd := range fds {
		if fd.Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return true
		}
	}
	return false
}

// An Output remembers whether what was written to it got there: a result
// that was lost on a full disk must not end with exit code 0. It is safe for
// concurrent use as far as its Writer is.
type Output struct {
	io.Writer
	mu  sync.Mutex
	err error
}

func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Terminal is the terminal that is written to, nil if it is none.
func (o *Output) Terminal() *os.File {
	if f, ok := o.Writer.(*os.File); ok && IsTerminal(f) {
		return f
	}
	return nil
}

// Err is the first error of a Write, nil if all was written.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// A LineReader reads lines until its context ends.
type LineReader struct {
	ctx context.Context
	r   *bufio.Reader
}

// NewLineReader reads from r.
func NewLineReader(ctx context.Context, r io.Reader) *LineReader {
	return &LineReader{ctx: ctx, r: bufio.NewReader(r)}
}

// ReadLine waits for a line. When the context ends first, the goroutine that reads
// is left behind: a read of a terminal cannot be stopped, and the process is
// about to end.
func (r *LineReader) ReadLine() (string, error) {
	type answer struct {
		text string
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		s, err := r.r.ReadString('\n')
		if err == io.EOF && s != "" {
			err = nil
		}
		ch <- answer{s, err}
	}()
	select {
	case got := <-ch:
		return got.text, got.err
	case <-r.ctx.Done():
		return "", context.Cause(r.ctx)
	}
}

// ReadSecret writes a prompt and reads a line from a terminal without showing it:
// the prompt comes once the terminal shows nothing, for some people type before
// they have read it. When the context ends first, the terminal is as it was, and
// the goroutine that reads is left behind: see [LineReader.ReadLine].
func ReadSecret(ctx context.Context, r io.Reader, w io.Writer, prompt string) (string, error) {
	f, ok := r.(*os.File)
	if !ok || !IsTerminal(f) {
		return "", errors.New("a secret is read from a terminal only")
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		text []byte
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		b, err := term.ReadPassword(fd)
		ch <- answer{b, err}
	}()
	// A terminal that did not echo before does not change: a second is all it gets.
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if now, err := term.GetState(fd); err != nil || *now != *before || len(ch) > 0 {
			break
		}
	}
	_, _ = io.WriteString(w, prompt)
	select {
	case got := <-ch:
		return string(got.text), got.err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}

// Page shows a text in the pager of the user, PAGER or less, on the terminal that w is, and
// returns when that has ended. It reports false if w is no terminal, or there is no pager,
// or it has failed: who asked for it writes the text then. Where jobs may write, no pager
// is taken.
func Page(ctx context.Context, w io.Writer, getenv func(string) string, text string) bool {
	if o, ok := w.(*Output); ok {
		w = o.Writer
	}
	out, ok := w.(*os.File)
	command := strings.Fields(cmp.Or(getenv("PAGER"), "less"))
	if !ok || !IsTerminal(out) || len(command) == 0 || getenv("TERM") == "dumb" {
		return false
	}
	program, err := hostexec.Outside(command[0])
	if err != nil {
		return false
	}
	cmd := hostexec.Command(context.WithoutCancel(ctx), program, command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), out, os.Stderr
	if getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // a text that fits stays, as git has it
	}
	return cmd.Run() == nil
}

// Reply parses a line as the answer to a question: yes, always, project, no or view, each also by
// its first letter, in any case; behind no, a reason. Anything else has the answer "".
func Reply(line string) (answer, why string) {
	first, why, _ := strings.Cut(strings.TrimSpace(line), " ")
	for _, answer := range []string{"yes", "always", "project", "no", "view"} {
		if first = strings.ToLower(first); (first == answer || first == answer[:1]) && (answer == "no" || why == "") {
			return answer, strings.TrimSpace(why)
		}
	}
	return "", ""
}
