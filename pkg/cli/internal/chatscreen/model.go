package chatscreen

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

const (
	unknown focus = iota // the terminal does not say
	looking
	away
)

// event handles an event of the terminal.
func (m *model) event(ev uv.Event) {
	switch ev := ev.(type) {
	case uv.PasteEvent:
		if ev.Content == "" { // terminals paste nothing where the clipboard has no text
			m.picture()
			return
		}
		m.paste(ev.Content)
	case uv.KeyPressEvent:
		m.key(ev)
	case uv.FocusEvent:
		m.focus = looking
	case uv.BlurEvent:
		m.focus = away
	}
}

func (m *model) resize(width, height int) {
	m.width, m.height = width, height
	m.session.Resize(width)
}

// moving reports whether the live rows change by themselves: the meter counts
// seconds, and what Ctrl+C means passes.
func (m *model) moving() bool {
	return m.session.State() == chat.Working || m.left(time.Now())
}

// left reports whether Ctrl+C was pressed a moment ago: once more leaves.
func (m *model) left(now time.Time) bool { return now.Sub(m.stop) < 2*time.Second }

// paste inserts what was pasted; the path of a picture is a file that the message is
// about.
func (m *model) paste(text string) {
	if path := dropped(text); path != "" {
		text = "@" + path + " "
		if strings.ContainsAny(path, " ") {
			text = `@"` + path + `" `
		}
	}
	m.editor.paste(text)
	m.edited()
}

// dropped is the picture that a text is the path of, as terminals paste the path of
// a file that is dropped on them: in quotes, with backslashes, or as a URL; "" if it
// is none.
func dropped(text string) string {
	path := strings.TrimSpace(text)
	if u, err := url.Parse(path); err == nil && u.Scheme == "file" {
		path = u.Path
	} else if unquoted := strings.Trim(path, `"'`); unquoted != path {
		path = unquoted
	} else {
		path = strings.ReplaceAll(path, `\ `, " ")
	}
	if !slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(path))) || strings.ContainsAny(path, "\"\n@") {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// key handles a key. The help lists the common ones: keys in ../chat/commands.go and in
// docs/chat.md.
func (m *model) key(k uv.KeyPressEvent) {
	e, s := &m.editor, m.session
	name := k.String()
	if m.pane != nil && m.scroll(name) {
		return
	}
	switch name {
	case "ctrl+c":
		m.cancel()
		return
	case "ctrl+d":
		if e.empty() {
			s.Quit()
			return
		}
		e.cut(e.right())
	case "ctrl+z":
		m.suspend()
		return
	case "ctrl+v":
		m.picture()
		return
	case "ctrl+o":
		if s.State() == chat.Asking {
			s.Unfold()
		} else {
			m.unfold(true)
		}
	case "ctrl+r":
		m.search()
	case "esc":
		if m.searching {
			m.searching, m.complete = false, completion{of: e.before()}
			return
		}
		if len(m.complete.Choices) > 0 {
			m.complete = completion{of: e.before()}
			return
		}
		s.Interrupt()
	case "enter":
		if m.pick() {
			return
		}
		m.enter()
	case "tab":
		m.tab()
		return
	case "shift+tab":
		s.NextMode()
	case "up", "ctrl+p":
		m.up()
	case "down", "ctrl+n":
		m.down()
	default:
		if m.pane = nil; !e.key(name) && k.Text != "" {
			e.insert(k.Text)
		}
	}
	m.edited()
}

// unfold shows a call or thought whole above the editor: the newest, or the one before the one
// that is shown.
func (m *model) unfold(newest bool) {
	if text := m.session.Unfolded(newest); text != "" {
		m.pane, m.top = strings.Split(strings.TrimRight(text, "\n"), "\n"), 0
	}
}

// scroll handles the keys of what is unfolded. It reports whether the key is one.
func (m *model) scroll(name string) bool {
	page := m.paneRows()
	switch name {
	case "ctrl+o", "esc":
		m.pane = nil
	case "up":
		m.top--
	case "down":
		m.top++
	case "pgup":
		m.top -= page
	case "pgdown":
		m.top += page
	case "home":
		m.top = 0
	case "end":
		m.top = len(m.pane)
	case "left":
		m.unfold(false)
	default:
		return false
	}
	m.top = max(0, min(m.top, len(m.pane)-page))
	return true
}

// paneRows returns how many rows of what is unfolded are shown at once.
func (m *model) paneRows() int { return max(1, min(len(m.pane), m.height*3/4-3)) }

// paneView renders what is unfolded, and its keys.
func (m *model) paneView() (rows []string) {
	page := m.paneRows()
	m.top = max(0, min(m.top, len(m.pane)-page))
	for _, r := range m.pane[m.top : m.top+page] {
		rows = append(rows, m.fit(r))
	}
	keys := "Ctrl+O folds it back  Left the one before"
	if page < len(m.pane) {
		keys = fmt.Sprintf("%d-%d of %d  Ctrl+O folds  Up Down  Left before", m.top+1, m.top+page, len(m.pane))
	}
	return append(rows, m.dim(keys))
}

// fit returns a painted row that is as wide as the terminal at most.
func (m *model) fit(row string) string {
	if kit.Columns(kit.Unpaint(row)) >= m.width {
		return kit.Cut(kit.Unpaint(row), m.width-1)
	}
	return row
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
	default:
		m.session.Interrupt()
	}
	m.stop = now
}

// search finds earlier messages that have the words in the line; again, the one before.
func (m *model) search() {
	if m.searching {
		m.down()
		return
	}
	m.searching = true
	m.complete = completion{of: "\x00"} // not what the line has
}

// maxFound bounds the earlier messages that are listed.
const maxFound = 6

// found lists earlier messages that have the words in the line.
func (m *model) found() {
	m.complete = completion{of: m.editor.before()}
	for _, text := range m.screen.history.Search(m.editor.value(), maxFound) {
		m.complete.Choices = append(m.complete.Choices, chat.Choice{Text: text})
	}
}

// pick takes the choice that Enter means: an earlier message comes into the line, the argument
// of a command also runs it. It reports whether Enter is done with.
func (m *model) pick() bool {
	e, c := &m.editor, &m.complete
	if len(c.Choices) == 0 || c.of != e.before() {
		return m.searching // words to search for are no message
	}
	choice := c.Choices[c.picked].Text
	switch {
	case m.searching:
		m.searching = false
		e.set(choice)
		m.complete = completion{of: e.before()}
		return true
	case strings.HasPrefix(e.before(), "/") && (c.moved || c.Pick && len(e.before()) > c.Start):
		e.replace(c.Start, choice)
	}
	return false
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
	case m.searching:
		m.pick()
	case len(c.Choices) > 0 && c.of == e.before():
		choice := c.Choices[c.picked]
		text := choice.Text
		if !strings.HasSuffix(text, "/") { // a directory may go on
			text += " "
		}
		e.replace(c.Start, text)
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
		c.picked, c.moved = (c.picked+len(c.Choices)-1)%len(c.Choices), true
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
		c.picked, c.moved = (c.picked+1)%len(c.Choices), true
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
	if m.searching && before != c.of {
		m.found()
		return
	}
	if before == c.of || c.pending {
		return
	}
	m.complete = completion{of: before, pending: true}
	m.session.Complete(before, func(found chat.Completion) {
		if m.complete.of != before {
			return // found late, for other words
		}
		picked := min(m.complete.picked, max(0, len(found.Choices)-1))
		m.complete = completion{Completion: found, of: before, picked: picked}
		if now := m.editor.before(); now != before {
			m.complete = completion{}
			m.edited()
		}
	})
}

// columns returns the width of the editor's text.
func (m *model) columns() int { return max(2, m.width-3) }

// view renders the live rows. They never take more than half of the screen, three quarters
// while something is unfolded.
func (m *model) view() view {
	if m.leaving {
		return view{rows: []string{""}, title: m.title()}
	}
	if m.session.State() == chat.Asking {
		m.pane = nil // the question is more urgent
	}
	most := max(2, m.height/2)
	if m.pane != nil {
		most = max(2, m.height*3/4)
	}
	rows := m.editor.rows(m.columns())
	y, x := m.editor.cursor(rows, m.columns())
	visible := min(len(rows), max(1, most-2))
	first := min(max(0, y-visible+1), len(rows)-visible)
	lines := m.above()
	lines = lines[max(0, len(lines)-(most-visible)):]
	top := len(lines)
	for i, r := range rows[first : first+visible] {
		mark := "  "
		if first+i == 0 {
			mark = m.screen.style.Paint(kit.Bold, ">") + " "
		}
		lines = append(lines, mark+r.text)
	}
	return view{rows: lines, x: 2 + x, y: top + y - first, title: m.title()}
}

// above are the rows above the editor.
func (m *model) above() (rows []string) {
	s := m.session
	if m.pane != nil {
		return m.paneView()
	}
	for _, r := range s.Tail() {
		rows = append(rows, m.fit(r))
	}
	if meter := s.Meter(); meter != "" {
		rows = append(rows, m.dim("     "+meter), m.dim(m.keys()))
	} else {
		for l := range strings.SplitSeq(m.hint(), "\n") {
			for _, r := range kit.Wrap(l, m.width-1) {
				rows = append(rows, m.dim(r))
			}
		}
	}
	for _, q := range s.Queue() {
		rows = append(rows, m.dim("queued: "+kit.SanitizeLine(q)))
	}
	if c := &m.complete; c.of == m.editor.before() {
		for i, choice := range c.Choices {
			style, mark := kit.Dim, "  "
			if i == c.picked {
				style, mark = kit.Bold, "* "
			}
			rows = append(rows, m.paint(style, strings.TrimSpace(mark+kit.SanitizeLine(choice.Text)+"  "+kit.SanitizeLine(choice.About))))
		}
	}
	return rows
}

// hint returns the line below the conversation that is shown while nothing runs, two where it is
// too long for one.
func (m *model) hint() string {
	s := m.session
	if m.searching && len(m.complete.Choices) == 0 {
		return "earlier messages: none has these words; Esc leaves"
	}
	if m.searching {
		return "earlier messages: Enter takes one, Ctrl+R the next, Esc leaves"
	}
	if s.State() == chat.Asking {
		return s.Choices()
	}
	if m.left(time.Now()) {
		return "Ctrl+C again leaves; the conversation can be resumed"
	}
	parts := slices.DeleteFunc(s.With(), func(p string) bool { return p == "" || p == "." })
	help := m.mode() + "  /help" // is there in the narrowest terminal
	with := kit.SanitizeLine(strings.Join(parts, "  ")) + "  "
	if kit.Columns(with)+len(help) >= m.width {
		with = kit.Cut(strings.TrimSpace(with), m.width-1) + "\n"
	}
	for _, k := range []string{"  Ctrl+V picture", "  @ file"} {
		if kit.Columns(with[strings.LastIndexByte(with, '\n')+1:])+len(help)+len(k) < m.width {
			help += k
		}
	}
	return with + help
}

// mode names the permission mode, and the key that changes it.
func (m *model) mode() string { return "mode " + string(m.session.Mode()) + " (Shift+Tab)" }

// keys names the keys that count while a turn is in progress, as far as there is room.
func (m *model) keys() string {
	row := m.mode()
	for _, k := range []string{"Esc stops", "Enter sends now", "Tab queues"} {
		if len(row)+2+len(k) < m.width {
			row += "  " + k
		}
	}
	return row
}

// title returns the title of the window, which shows whether the session waits for an
// answer.
func (m *model) title() string {
	title := "adroit"
	if t := m.session.Title(); t != "" {
		title += ": " + kit.Cut(t, 60)
	}
	switch m.session.State() {
	case chat.Working:
		return "... " + title
	case chat.Asking:
		return "? " + title
	}
	return title
}

func (m *model) dim(text string) string { return m.paint(kit.Dim, text) }

// paint is a row as wide as the terminal at most.
func (m *model) paint(style, text string) string {
	return m.screen.style.Paint(style, kit.Cut(text, m.width-1))
}
