// Package chatscreen shows a conversation on a terminal: finished text is printed
// once into the normal screen, a few rows at its bottom are live. It is the only
// package that decodes keys, with ultraviolet.
package chatscreen

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/term"
)

// New is a screen whose text is painted as style has it. in and out are the
// terminal, of the kind that TERM names.
func New(in, out *os.File, termID string, style *kit.Screen, history *chat.History) *Screen {
	s := &Screen{style: style, history: history, in: in, termID: termID, inbox: inbox{wake: make(chan struct{}, 1)}}
	s.live = liveRows{out: out, plainKeys: termID == "linux"}
	s.model = &model{screen: s, width: 80, height: 24}
	return s
}

// errPanic is a defect of the screen or of the session.
var errPanic = errors.New("the conversation was ended by a defect of adroit")

// Run shows the session until the person leaves or ctx ends. begin is called when
// the first frame is on the screen. The terminal is left as it was found, also by a
// panic, which is returned as an error.
func (s *Screen) Run(ctx context.Context, session *chat.Session, begin func()) (err error) {
	fd := int(s.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return fmt.Errorf("setting the terminal up: %w", err)
	}
	s.live.enter()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, r, debug.Stack())
		}
		s.live.leave()
		err = errors.Join(err, term.Restore(fd, before))
	}()
	s.model.session = session
	s.model.suspend = func() { s.suspend(fd, before) }
	if s.keys, err = s.read(ctx); err != nil {
		return err
	}
	defer func() { s.keys.stop() }()
	s.model.picture = func() { s.pastePicture(ctx) }
	defer func() {
		if s.pictures != "" {
			_ = os.RemoveAll(s.pictures) // a message that has been sent has its own
		}
	}()
	s.model.compose = func(command []string, text string) (string, error) { return s.compose(ctx, fd, before, command, text) }
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	s.measure(fd)
	s.frame()
	begin()
	return s.loop(ctx, fd, resized)
}

// keyReader reads keys in a goroutine of its own until stop.
type keyReader struct {
	keys chan uv.Event
	gone chan error
	stop func()
}

func (s *Screen) read(ctx context.Context) (*keyReader, error) {
	reader, err := uv.NewCancelReader(s.in)
	if err != nil {
		return nil, fmt.Errorf("reading the terminal: %w", err)
	}
	keys, gone, ended := make(chan uv.Event, 64), make(chan error, 1), make(chan struct{})
	streaming, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		gone <- uv.NewTerminalReader(&pasteReader{from: reader}, s.termID).StreamEvents(streaming, keys)
	}()
	return &keyReader{keys, gone, func() {
		stop()
		if reader.Cancel() && drain(keys, ended) {
			_ = reader.Close() // what it holds besides the terminal
		} // else the goroutine waits for a key that nobody reads
	}}, nil
}

// A pasteReader ends a paste whose end the terminal never sends, as over a line that was cut: else all
// that is typed afterwards, Ctrl+C too, would be a part of it. Nothing else ends one, so that
// no line of a slow paste is sent as a message.
type pasteReader struct {
	from   io.Reader
	inside bool   // a paste has begun
	last   string // what may be the beginning of a mark
	left   []byte // what did not fit
}

const pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"

// leavesPaste are Ctrl+C and Esc as terminals send them, alone. Esc as a single byte
// may be the beginning of the end of a paste.
var leavesPaste = []string{"\x03", "\x1b[99;5u", "\x1b[27;5;99~", "\x1b[27u"}

// Read implements [io.Reader].
func (r *pasteReader) Read(b []byte) (int, error) {
	if len(r.left) > 0 {
		n := copy(b, r.left)
		r.left = r.left[n:]
		return n, nil
	}
	n, err := r.from.Read(b)
	if text := string(b[:n]); r.inside && slices.Contains(leavesPaste, text) {
		all := []byte(pasteEnds + text)
		r.inside, r.last = false, ""
		n = copy(b, all)
		r.left = all[n:]
		return n, err
	}
	r.last += string(b[:n])
	begin, end := strings.LastIndex(r.last, pasteBegins), strings.LastIndex(r.last, pasteEnds)
	if begin >= 0 || end >= 0 {
		r.inside = begin > end
	}
	r.last = r.last[max(0, len(r.last)-len(pasteEnds)+1):]
	return n, err
}

// drain waits until the goroutine that sends keys has ended, and reports whether it
// did: another program may have taken the key that it was about to read.
func drain(keys <-chan uv.Event, ended <-chan struct{}) bool {
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	for {
		select {
		case <-keys:
		case <-ended:
			return true
		case <-limit.C:
			return false
		}
	}
}

// loop handles events and redraws after each. It is idle between them.
func (s *Screen) loop(ctx context.Context, fd int, resized <-chan os.Signal) error {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	clock.Stop()
	ticking := false
	for {
		select {
		case ev := <-s.keys.keys:
			for from := s.keys; ; ev = <-from.keys { // what was typed or pasted at once is one frame
				if s.model.event(ev); len(from.keys) == 0 || s.model.leaving || from != s.keys {
					break
				}
			}
		case <-s.wake:
		case <-resized:
			s.measure(fd)
		case <-clock.C:
			ticking = false
		case err := <-s.keys.gone:
			return err // the terminal is gone
		case <-ctx.Done():
			return nil
		}
		s.work()
		s.frame()
		if s.model.leaving {
			return nil
		}
		if !ticking && s.model.moving() {
			ticking = true
			clock.Reset(time.Second)
		}
	}
}

// measure learns how large the terminal is.
func (s *Screen) measure(fd int) {
	if w, h, err := term.GetSize(fd); err == nil && w > 0 && h > 0 {
		s.live.resize(w)
		s.model.resize(w, h)
	}
}

// suspend stops the process, as Ctrl+Z does, until it is continued.
func (s *Screen) suspend(fd int, before *term.State) {
	s.live.leave()
	_ = term.Restore(fd, before)
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(time.Second): // nobody could continue it, so it was not stopped
	}
	_, _ = term.MakeRaw(fd) // without it lines are read as they are typed
	s.live.enter()
	s.measure(fd)
}

// compose has an editor, which takes the terminal meanwhile, change a text.
func (s *Screen) compose(ctx context.Context, fd int, before *term.State, command []string, text string) (string, error) {
	dir, err := os.MkdirTemp("", "adroit-message-")
	if err != nil {
		return text, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "message.md")
	if err := rootfs.WriteScratch(file, 0o600, []byte(text)); err != nil {
		return text, err
	}
	s.keys.stop()
	s.live.leave()
	_ = term.Restore(fd, before)
	cmd := hostexec.Command(ctx, command[0], append(command[1:len(command):len(command)], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.live.out, s.live.out
	failed := cmd.Run()
	_, _ = term.MakeRaw(fd) // without it lines are read as they are typed
	s.live.enter()
	s.measure(fd)
	if s.keys, err = s.read(ctx); err != nil {
		s.keys = &keyReader{gone: make(chan error, 1), stop: func() {}}
		s.keys.gone <- err
	}
	if b, err := os.ReadFile(file); err == nil {
		text = string(b)
	}
	return text, failed
}

// Compose has the person write a text in an editor, and returns it. The screen is the editor's
// meanwhile.
func (s *Screen) Compose(command []string, text string) (string, error) {
	return s.model.compose(command, text)
}

// Copy asks the terminal to put a text into the clipboard (OSC 52), in tmux also the terminal
// around it.
func (s *Screen) Copy(text string) {
	sequence := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if os.Getenv("TMUX") != "" {
		sequence += "\x1bPtmux;" + strings.ReplaceAll(sequence, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	s.mu.Lock()
	s.raw.WriteString(sequence)
	s.mu.Unlock()
	s.awake()
}

// clipboards are the programs that print the picture of the clipboard, by the variable that is
// set where each of them works; pngpaste is for macOS.
var clipboards = []struct {
	where   string
	command []string
}{
	{"WAYLAND_DISPLAY", []string{"wl-paste", "--no-newline", "--type", "image/png"}},
	{"DISPLAY", []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"}},
	{"", []string{"pngpaste", "-"}},
}

// maxPicture bounds what is read of the clipboard, in bytes: more than a message may have.
const maxPicture = 16 << 20

// picture returns the picture in the clipboard, as PNG. Programs are found where no job writes.
func picture(ctx context.Context) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	none := "it takes wl-paste, xclip or pngpaste; or paste the path of a file"
	for _, c := range clipboards {
		if c.where != "" && os.Getenv(c.where) == "" {
			continue
		}
		if _, err := hostexec.Find(c.command[0]); err != nil {
			continue
		}
		cmd := hostexec.Command(ctx, c.command[0], c.command[1:]...)
		cmd.WaitDelay = time.Second
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(out, maxPicture+1))
		if len(b) > maxPicture {
			stop() // else it waits for a reader
		}
		err = errors.Join(err, cmd.Wait())
		if len(b) > maxPicture {
			return nil, fmt.Errorf("the picture in the clipboard has more than %d MB", maxPicture>>20)
		}
		if err == nil && bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")) {
			return b, nil
		}
		none = "as " + c.command[0] + " has it"
	}
	return nil, errors.New("there is no picture in the clipboard: " + none)
}

// pastePicture puts the picture of the clipboard into a file of this conversation, and its path
// into the editor, where it is an attachment.
func (s *Screen) pastePicture(ctx context.Context) {
	go func() {
		b, err := picture(ctx)
		s.Post(func() {
			if err == nil && s.pictures == "" {
				s.pictures, err = os.MkdirTemp("", "adroit-pictures-")
			}
			s.pasted++
			file := filepath.Join(s.pictures, fmt.Sprintf("pasted-%d.png", s.pasted))
			if err == nil {
				err = rootfs.WriteScratch(file, 0o600, b)
			}
			if err != nil {
				for _, row := range kit.Wrap(kit.SanitizeLine(err.Error()), s.style.Width()) {
					s.Print(s.style.Paint(kit.Red, row))
				}
				return
			}
			s.model.paste(file)
		})
	}()
}

// work calls what was posted.
func (s *Screen) work() {
	s.mu.Lock()
	posts := s.posts
	s.posts = nil
	s.mu.Unlock()
	for _, f := range posts {
		f()
	}
}

// frame prints what is finished and draws the live rows.
func (s *Screen) frame() {
	s.mu.Lock()
	text, raw := s.text.String(), s.raw.String()
	s.text.Reset()
	s.raw.Reset()
	s.mu.Unlock()
	s.live.draw(text, s.model.view(), raw)
}

// Print implements chat.UI. Any goroutine may call it.
func (s *Screen) Print(text string) {
	s.mu.Lock()
	s.text.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	s.mu.Unlock()
	s.awake()
}

// Post implements chat.UI.
func (s *Screen) Post(f func()) {
	s.mu.Lock()
	s.posts = append(s.posts, f)
	s.mu.Unlock()
	s.awake()
}

// awake has the owner look into the inbox. It does not wait for it.
func (s *Screen) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Notify implements chat.UI: a bell and a notice of the desktop, unless somebody
// looks.
func (s *Screen) Notify(text string) {
	if s.model.focus == looking {
		return
	}
	text = kit.SanitizeLine(text)
	s.mu.Lock()
	s.raw.WriteString("\x1b]9;" + text + "\x1b\\\x1b]777;notify;adroit;" + text + "\x1b\\\a")
	s.mu.Unlock()
	s.awake()
}

// Edit implements chat.UI.
func (s *Screen) Edit(text string) {
	e := &s.model.editor
	if !e.empty() {
		text += "\n" + e.value()
	}
	e.set(text)
}

// Quit implements chat.UI.
func (s *Screen) Quit() { s.model.leaving = true }

// focus is the state of the terminal's focus.
type focus int

// A Screen is the user interface of a session. Run's goroutine owns it, the model
// and the session.
type Screen struct {
	style   *kit.Screen
	history *chat.History
	in      *os.File
	termID  string // of the terminal, as in TERM
	live    liveRows
	model   *model
	keys    *keyReader

	pictures string // the directory of those from the clipboard, "" if there are none
	pasted   int    // how many
	inbox
}

// An inbox collects the updates from other goroutines for the owner.
type inbox struct {
	mu    sync.Mutex
	posts []func()
	text  strings.Builder // finished, to be printed above the live rows
	raw   strings.Builder // notices, written as they are
	wake  chan struct{}
}

// A model is the state from which the live rows are drawn.
type model struct {
	screen        *Screen
	session       *chat.Session
	suspend       func()
	compose       func(command []string, text string) (string, error)
	picture       func()   // pastes that of the clipboard
	pane          []string // rows of what is unfolded, nil if nothing is
	top           int      // the first of them that is shown
	searching     bool     // in the history, for what the editor has
	editor        editor
	complete      completion
	width, height int
	focus         focus
	leaving       bool
	stop          time.Time // of the last Ctrl+C
}

// A completion is the list of candidates at the cursor and the choice among them.
type completion struct {
	chat.Completion
	picked  int
	moved   bool   // the person has moved the choice
	of      string // the text before the cursor that it is of
	pending bool   // the session looks
}
