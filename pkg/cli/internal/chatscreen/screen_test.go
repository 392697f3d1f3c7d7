package chatscreen

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// newModel is a screen of so many columns and rows whose text goes nowhere.
func newModel(t testing.TB, width, height int) *model {
	style := kit.NewColor(io.Discard, width)
	style.Live = true
	s := New(nil, nil, "xterm", style, chat.OpenHistory(t.TempDir()+"/history", &secret.Redactor{}))
	var c adroit.Client
	s.model.session = chat.New(context.Background(), &kit.Env{Config: func() (*config.Config, error) { return new(config.Config), nil }}, c, s, chat.Options{Request: adroit.Request{Target: "chat"}, Screen: style})
	s.model.resize(width, height)
	return s.model
}

var ours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// The live rows never take more than half the screen or more columns than it has,
// and nothing in them acts on the terminal.
func TestLiveRows(t *testing.T) {
	hostile := "a\x1b[2J\x1b]0;title\x07\u202eb\r\x9b31m日本語\t" + strings.Repeat("wide 🙂 ", 60)
	for _, size := range [][2]int{{80, 24}, {40, 12}, {20, 5}, {120, 40}} {
		m := newModel(t, size[0], size[1])
		m.editor.insert(strings.Repeat(hostile+"\n", 5))
		m.complete = completion{of: m.editor.before(), Completion: chat.Completion{Choices: []chat.Choice{{Text: hostile, About: hostile}, {Text: hostile}}}}
		v := m.view()
		rows := v.rows
		if len(rows) > max(2, size[1]/2) {
			t.Errorf("%v: %d rows", size, len(rows))
		}
		for _, r := range rows {
			plain := ours.ReplaceAllString(r, "")
			if n := kit.Columns(plain); n > size[0] {
				t.Errorf("%v: %d columns: %q", size, n, plain)
			}
			if kit.SanitizeLine(plain) != plain {
				t.Errorf("%v: acts on the terminal: %q", size, plain)
			}
		}
		if v.x >= size[0] || v.y >= len(rows) {
			t.Errorf("%v: the cursor is at %d, %d of %d rows", size, v.x, v.y, len(rows))
		}
	}
}

// press types keys by their names, or text.
func press(m *model, keys ...uv.KeyPressEvent) {
	for _, k := range keys {
		m.event(k)
	}
}

func text(s string) (keys []uv.KeyPressEvent) {
	for _, r := range s {
		keys = append(keys, uv.KeyPressEvent{Code: r, Text: string(r)})
	}
	return keys
}

func TestEditor(t *testing.T) {
	m := newModel(t, 12, 24)
	e := &m.editor
	press(m, text("日本語 e\u0301x")...)
	press(m, uv.KeyPressEvent{Code: uv.KeyLeft}, uv.KeyPressEvent{Code: uv.KeyBackspace})
	if e.value() != "日本語 x" {
		t.Errorf("a letter with an accent goes as one: %q", e.value())
	}
	family := "a👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽b"
	e.set(family)
	if rows := e.rows(12); len(rows) != 1 || rows[0].text != family {
		t.Errorf("emoji of several: %+v", rows)
	}
	for _, want := range []string{"a👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽", "a👩‍👩‍👧‍👦🇩🇪🇫🇷", "a👩‍👩‍👧‍👦🇩🇪", "a👩‍👩‍👧‍👦", "a"} {
		press(m, uv.KeyPressEvent{Code: uv.KeyLeft}, uv.KeyPressEvent{Code: uv.KeyRight}, uv.KeyPressEvent{Code: uv.KeyBackspace})
		if e.value() != want {
			t.Errorf("%q, want %q", e.value(), want)
		}
	}
	e.set("می\u200cخواهم")
	if rows := e.rows(12); rows[0].text != "می?خواهم" {
		t.Errorf("a joiner hides the letter before it: %q", rows[0].text)
	}
	e.set("日本語 x")
	e.at--
	press(m, uv.KeyPressEvent{Code: uv.KeyEnter, Mod: uv.ModAlt}, uv.KeyPressEvent{Code: 'j', Mod: uv.ModCtrl})
	if e.value() != "日本語 \n\nx" {
		t.Errorf("new lines: %q", e.value())
	}
	e.set(`one\`)
	press(m, uv.KeyPressEvent{Code: uv.KeyEnter})
	press(m, text("two")...)
	if e.value() != "one\ntwo" {
		t.Errorf("a backslash: %q", e.value())
	}
	if rows := e.rows(4); len(rows) != 2 || rows[1].text != "two" {
		t.Errorf("%+v", rows)
	}
	e.set("123456789abcdef")
	if y, x := e.cursor(e.rows(9), 9); y != 1 || x != 6 {
		t.Errorf("the cursor is at %d, %d", y, x)
	}
	press(m, uv.KeyPressEvent{Code: uv.KeyUp})
	if e.at != 6 {
		t.Errorf("one row up is %d", e.at)
	}
	press(m, uv.KeyPressEvent{Code: 'k', Mod: uv.ModCtrl}, uv.KeyPressEvent{Code: 'w', Mod: uv.ModCtrl})
	if !e.empty() {
		t.Errorf("%q", e.value())
	}
}

// Long text that is pasted stands as a mark, is one insertion, and is sent whole.
func TestPaste(t *testing.T) {
	m := newModel(t, 80, 24)
	long := strings.Repeat("line \x1b[31m\r\n", 400)
	press(m, text("see ")...)
	m.event(uv.PasteEvent{Content: long})
	press(m, text(" ok")...)
	if got := string(m.editor.text); got != "see [pasted 1: 401 lines, 4,400 characters] ok" && !strings.HasPrefix(got, "see [pasted 1: 401 lines") {
		t.Errorf("%q", got)
	}
	if want := "see " + strings.ReplaceAll(long, "\r\n", "\n") + " ok"; m.editor.value() != want {
		t.Errorf("%d bytes are sent, want %d", len(m.editor.value()), len(want))
	}
	press(m, uv.KeyPressEvent{Code: uv.KeyLeft}, uv.KeyPressEvent{Code: uv.KeyLeft}, uv.KeyPressEvent{Code: uv.KeyLeft}, uv.KeyPressEvent{Code: uv.KeyBackspace})
	if m.editor.value() != "see  ok" {
		t.Errorf("a mark goes as one: %q", m.editor.value())
	}
}

// The path of a picture becomes an attachment, however the terminal pastes it; text
// and other files stay what they are.
func TestDroppedPicture(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"shot.png", "shot of today.PNG", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pasted, want := range map[string]string{
		dir + "/shot.png\n":                        "@" + dir + "/shot.png ",
		"'" + dir + "/shot of today.PNG'":          `@"` + dir + `/shot of today.PNG" `,
		dir + `/shot\ of\ today.PNG`:               `@"` + dir + `/shot of today.PNG" `,
		"file://" + dir + "/shot%20of%20today.PNG": `@"` + dir + `/shot of today.PNG" `,
		dir + "/notes.txt":                         dir + "/notes.txt",
		dir + "/none.png":                          dir + "/none.png",
		"look at shot.png":                         "look at shot.png",
	} {
		m := newModel(t, 80, 24)
		m.event(uv.PasteEvent{Content: pasted})
		if got := m.editor.value(); got != want {
			t.Errorf("%q becomes %q, want %q", pasted, got, want)
		}
	}
}

// FuzzEditor types and pastes anything: the rows hold all of it and fit, and the
// cursor is among them.
func FuzzEditor(f *testing.F) {
	f.Add("one 日本\ttwo\n\x1b", uint8(5), uint8(3))
	f.Fuzz(func(t *testing.T, s string, width, back uint8) {
		var e editor
		e.insert(strings.ToValidUTF8(s, "?"))
		for range back {
			e.at = e.left()
		}
		w := max(int(width), 4)
		rows := e.rows(w)
		y, x := e.cursor(rows, w)
		if y >= len(rows) || x > w {
			t.Fatalf("the cursor is at %d, %d of %d rows", y, x, len(rows))
		}
		for _, r := range rows {
			if n := kit.Columns(r.text); n > w {
				t.Fatalf("%d columns: %q", n, r.text)
			}
		}
		e.vertical(-1, w)
		e.vertical(1, w)
		if e.at < 0 || e.at > len(e.text) {
			t.Fatalf("the cursor is at %d", e.at)
		}
	})
}

// BenchmarkKey is a key and the live rows after it, behind 10,000 messages: its cost
// depends on the live rows alone.
func BenchmarkKey(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			m := newModel(b, 80, 24)
			for i := range n {
				m.screen.history.Add(fmt.Sprintf("message %d", i))
				m.screen.Print(fmt.Sprintf("> message %d\n", i))
			}
			m.screen.live.out = io.Discard
			m.screen.frame()
			b.ReportAllocs()
			for b.Loop() {
				press(m, text("x")...)
				m.screen.frame()
				m.editor.set("")
			}
		})
	}
}

// A question that waits is a notice of the desktop and a bell, without control
// characters of others, unless the terminal reports that somebody looks.
func TestNotices(t *testing.T) {
	m := newModel(t, 80, 24)
	var out strings.Builder
	m.screen.live.out = &out
	m.screen.Notify("adroit: a question\x1b]0;owned\x07 waits")
	m.screen.frame()
	text := `adroit: a question\x1b]0;owned\x07 waits`
	if want := "\x1b]9;" + text + "\x1b\\\x1b]777;notify;adroit;" + text + "\x1b\\\a"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q does not end with %q", out.String(), want)
	}
	m.event(uv.FocusEvent{})
	out.Reset()
	if m.screen.Notify("adroit: done"); m.screen.raw.Len() > 0 {
		t.Errorf("somebody looks, and is rung: %q", m.screen.raw.String())
	}
	m.event(uv.BlurEvent{})
	if m.screen.Notify("adroit: done"); m.screen.raw.Len() == 0 {
		t.Error("nobody looks, and there is no notice")
	}
}
