// Package chatscreen shows a conversation on a terminal: finished text is printed
// once into the normal screen, a few rows at its bottom are live. It is the only
// package that imports bubbletea.
package chatscreen

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
)

// framesPerSecond bounds the time from a key to its echo: 8 ms.
const framesPerSecond = 120

// A Screen is the user interface of a session.
type Screen struct {
	style   *term.Screen
	history *chat.History
	program *tea.Program
	printer printer
	model   *model
}

// New is a screen whose text is painted as style has it. in and out are the
// terminal.
func New(ctx context.Context, in, out *os.File, style *term.Screen, history *chat.History) *Screen {
	s := &Screen{style: style, history: history}
	s.model = &model{screen: s, width: 80, height: 24}
	s.program = tea.NewProgram(s.model, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	s.printer = printer{program: s.program, wake: make(chan struct{}, 1), height: 24, width: 80}
	return s
}

// Run shows the session until the person leaves or the context ends.
func (s *Screen) Run(session *chat.Session, begin func()) error {
	s.model.session, s.model.begin = session, begin
	quit := make(chan struct{})
	var printing sync.WaitGroup
	printing.Go(func() { s.printer.loop(quit) })
	_, err := s.program.Run()
	close(quit)
	printing.Wait()
	return err
}

// Print implements chat.UI.
func (s *Screen) Print(text string) { s.printer.add(job{text: strings.TrimSuffix(text, "\n")}) }

// Post implements chat.UI.
func (s *Screen) Post(f func()) { s.program.Send(posted(f)) }

// posted is a function for the owner of the session.
type posted func()

// Notify implements chat.UI: a bell and a notice of the desktop, unless somebody
// looks.
func (s *Screen) Notify(text string) {
	if s.model.focus == looking {
		return
	}
	text = ansi.Strip(render.SanitizeLine(text))
	s.printer.add(job{raw: "\x1b]9;" + text + "\x1b\\\x1b]777;notify;adroit;" + text + "\x1b\\\a"})
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
func (s *Screen) Quit() {
	s.model.leaving = true
	s.printer.add(job{quit: true})
}

// A printer prints in the order in which it was asked to: commands of bubbletea
// have none. No method waits for the program, which may be the caller.
type printer struct {
	program *tea.Program
	mu      sync.Mutex
	queue   []job
	wake    chan struct{}

	width, height int // of the terminal
}

// A job of the printer.
type job struct {
	text, raw string
	quit      bool
}

func (p *printer) add(j job) {
	p.mu.Lock()
	p.queue = append(p.queue, j)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *printer) resize(width, height int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.width, p.height = width, height
}

func (p *printer) loop(quit <-chan struct{}) {
	for {
		select {
		case <-p.wake:
		case <-quit:
			return
		}
		p.mu.Lock()
		list, width, height := p.queue, p.width, p.height
		p.queue = nil
		p.mu.Unlock()
		for _, j := range merge(list) {
			switch {
			case j.quit:
				p.program.Quit()
			case j.raw != "":
				p.program.Send(tea.RawMsg{Msg: j.raw})
			default:
				// More rows than fit above the live ones would overwrite them.
				rows := strings.Split(fit(j.text, width), "\n")
				for most := max(1, height/2-1); len(rows) > 0; {
					n := min(most, len(rows))
					p.program.Println(strings.Join(rows[:n], "\n"))
					rows = rows[n:]
				}
			}
		}
	}
}

// merge joins texts that follow each other.
func merge(list []job) (out []job) {
	for _, j := range list {
		if n := len(out); n > 0 && !j.quit && j.raw == "" && !out[n-1].quit && out[n-1].raw == "" {
			out[n-1].text += "\n" + j.text
			continue
		}
		out = append(out, j)
	}
	return out
}

// fit breaks lines that are wider than the terminal: a row more than was counted
// would push the live ones out of place.
func fit(text string, width int) string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if width <= 0 {
		return text
	}
	return ansi.Hardwrap(text, width, true)
}

// clock is the time until the meter is drawn again.
type clock struct{}

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return clock{} }) }

// hint is what the line below the conversation says while nobody is at work.
func (m *model) hint() string {
	s := m.session
	if s.State() == chat.Asking {
		return s.Choices()
	}
	if m.left(time.Now()) {
		return "Ctrl+C again leaves; the conversation can be resumed"
	}
	parts := []string{s.Target}
	if s.Request.Model != "" {
		parts = append(parts, s.Request.Model)
	}
	if s.Mode != "" {
		parts = append(parts, "mode "+string(s.Mode))
	}
	return fmt.Sprintf("%s  /help", render.SanitizeLine(strings.Join(parts, "  ")))
}
