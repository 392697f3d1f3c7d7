package chatscreen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
)

// Whether somebody looks at the terminal.
type focus int

const (
	unknown focus = iota // the terminal does not say
	looking
	away
)

// A model is what the live rows are made of. bubbletea's event loop owns it, and
// with it the session.
type model struct {
	screen        *Screen
	session       *chat.Session
	begin         func()
	editor        editor
	complete      completion
	width, height int
	focus         focus
	ticking       bool
	leaving       bool
	stop          time.Time // of the last Ctrl+C
}

// A completion is what could be meant at the cursor.
type completion struct {
	chat.Completion
	picked  int
	of      string // the text before the cursor that it is of
	pending bool   // the session looks
}

func (m *model) Init() tea.Cmd { return nil }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.screen.printer.resize(msg.Width, msg.Height)
		m.session.Resize(msg.Width)
		if m.begin != nil {
			m.begin()
			m.begin = nil
		}
	case posted:
		msg()
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.FocusMsg:
		m.focus = looking
	case tea.BlurMsg:
		m.focus = away
	case clock:
		m.ticking = false
	}
	if !m.ticking && (m.session.State() == chat.Working || m.left(time.Now())) {
		m.ticking = true
		cmd = tea.Batch(cmd, tick())
	}
	return m, cmd
}

// left reports whether Ctrl+C was pressed a moment ago: once more leaves.
func (m *model) left(now time.Time) bool { return now.Sub(m.stop) < 2*time.Second }

// paste inserts what was pasted; the path of a picture is a file that the message is
// about.
func (m *model) paste(text string) {
	path := strings.Trim(strings.TrimSpace(text), `"'`)
	if slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(path))) && !strings.ContainsAny(path, " \n@") {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			text = "@" + path + " "
		}
	}
	m.editor.paste(text)
	m.edited()
}

// key does what a key means.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	e, s := &m.editor, m.session
	switch name := k.String(); name {
	case "ctrl+c":
		m.cancel()
		return nil
	case "ctrl+d":
		if e.empty() {
			s.Quit()
			return nil
		}
		e.cut(e.right())
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+o":
		s.Unfold()
	case "esc":
		if len(m.complete.Choices) > 0 {
			m.complete = completion{of: e.before()}
			return nil
		}
		s.Interrupt()
	case "enter":
		m.enter()
	case "tab":
		m.tab()
		return nil
	case "up", "ctrl+p":
		m.up()
	case "down", "ctrl+n":
		m.down()
	default:
		if !e.key(name) && k.Text != "" {
			e.insert(k.Text)
		}
	}
	m.edited()
	return nil
}

// key moves or deletes. It reports whether the key does so.
func (e *editor) key(name string) bool {
	switch name {
	case "alt+enter", "shift+enter", "ctrl+j":
		e.insert("\n")
	case "backspace", "ctrl+h":
		e.cut(e.left())
	case "delete":
		e.cut(e.right())
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		e.cut(e.wordLeft())
	case "alt+d", "ctrl+delete":
		e.cut(e.wordRight())
	case "ctrl+u":
		e.cut(e.lineStart())
	case "ctrl+k":
		e.cut(e.lineEnd())
	case "left", "ctrl+b":
		e.at = e.left()
	case "right", "ctrl+f":
		e.at = e.right()
	case "ctrl+left", "alt+left", "alt+b":
		e.at = e.wordLeft()
	case "ctrl+right", "alt+right", "alt+f":
		e.at = e.wordRight()
	case "home", "ctrl+a":
		e.at = e.lineStart()
	case "end", "ctrl+e":
		e.at = e.lineEnd()
	default:
		return false
	}
	return true
}

// cancel is Ctrl+C: it clears the line, or interrupts, or leaves at the second time.
func (m *model) cancel() {
	now := time.Now()
	switch {
	case m.left(now):
		m.session.Quit()
	case !m.editor.empty():
		m.screen.history.Add(m.editor.value())
		m.editor.set("")
		m.edited()
	case m.session.State() == chat.Working:
		m.session.Interrupt()
	}
	m.stop = now
}

// enter sends the text, or goes on in a new line behind a backslash.
func (m *model) enter() {
	e := &m.editor
	if e.at == len(e.text) && e.at > 0 && e.text[e.at-1] == '\\' {
		e.cut(e.at - 1)
		e.insert("\n")
		return
	}
	m.take(m.session.Enter)
}

// take empties the editor into do.
func (m *model) take(do func(string)) {
	text := m.editor.value()
	m.screen.history.Add(strings.TrimSpace(text))
	m.editor.set("")
	do(text)
}

// tab completes, or queues the message while a turn is in progress.
func (m *model) tab() {
	e, c := &m.editor, &m.complete
	switch {
	case len(c.Choices) > 0 && c.of == e.before():
		choice := c.Choices[c.picked]
		e.replace(c.Start, choice.Text+" ")
		m.edited()
	case m.session.State() != chat.Idle && !e.empty():
		m.take(m.session.Later)
		m.edited()
	}
}

func (m *model) up() {
	e, c := &m.editor, &m.complete
	switch {
	case len(c.Choices) > 0:
		c.picked = (c.picked + len(c.Choices) - 1) % len(c.Choices)
	case e.vertical(-1, m.columns()):
	case e.empty() && len(m.session.Queue()) > 0:
		e.set(m.session.TakeBack())
	default:
		if text, ok := m.screen.history.Up(e.value()); ok {
			e.set(text)
		}
	}
}

func (m *model) down() {
	e, c := &m.editor, &m.complete
	switch {
	case len(c.Choices) > 0:
		c.picked = (c.picked + 1) % len(c.Choices)
	case e.vertical(1, m.columns()):
	default:
		if text, ok := m.screen.history.Down(); ok {
			e.set(text)
		}
	}
}

// edited has the session look for what the text could become.
func (m *model) edited() {
	before, c := m.editor.before(), &m.complete
	if before == c.of || c.pending {
		return
	}
	m.complete = completion{of: before, pending: true}
	m.session.Complete(before, func(found chat.Completion) {
		m.complete = completion{Completion: found, of: before}
		if now := m.editor.before(); now != before {
			m.complete = completion{}
			m.edited()
		}
	})
}

// columns is how wide the text of the editor is.
func (m *model) columns() int { return max(2, m.width-3) }

// View draws the live rows, never more than half of the screen.
func (m *model) View() tea.View {
	if m.leaving {
		return tea.NewView("")
	}
	s, most := m.session, max(2, m.height/2)
	rows := m.editor.rows(m.columns())
	y, x := m.editor.cursor(rows, m.columns())
	visible := min(len(rows), max(1, most-2))
	first := min(max(0, y-visible+1), len(rows)-visible)
	var above []string
	if tail := s.Tail(); tail != "" {
		above = append(above, m.dim("     "+tail))
	}
	if meter := s.Meter(); meter != "" {
		above = append(above, m.dim("     "+meter))
	} else {
		above = append(above, m.dim(m.hint()))
	}
	for _, q := range s.Queue() {
		above = append(above, m.dim("queued: "+render.SanitizeLine(q)))
	}
	if c := &m.complete; c.of == m.editor.before() {
		for i, choice := range c.Choices {
			style, mark := term.Dim, "  "
			if i == c.picked {
				style, mark = term.Cyan, "* "
			}
			above = append(above, m.paint(style, strings.TrimSpace(mark+render.SanitizeLine(choice.Text)+"  "+render.SanitizeLine(choice.About))))
		}
	}
	above = above[max(0, len(above)-(most-visible)):]
	lines := above
	for i, r := range rows[first : first+visible] {
		mark := "  "
		if first+i == 0 {
			mark = m.screen.style.Paint(term.Bold, ">") + " "
		}
		lines = append(lines, mark+r.text)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.Cursor = tea.NewCursor(2+x, len(above)+y-first)
	v.Cursor.Blink = false
	v.ReportFocus = true
	v.WindowTitle = m.title()
	return v
}

// title is that of the window: it says whether somebody is waited for.
func (m *model) title() string {
	title := "adroit"
	if t := m.session.Title(); t != "" {
		title += ": " + render.Cut(t, 60)
	}
	switch m.session.State() {
	case chat.Working:
		return "... " + title
	case chat.Asking:
		return "? " + title
	}
	return title
}

func (m *model) dim(text string) string { return m.paint(term.Dim, text) }

// paint is a row as wide as the terminal at most.
func (m *model) paint(style, text string) string {
	return m.screen.style.Paint(style, render.Cut(text, m.width-1))
}
