package chat

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

func TestTemplate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "review.md")
	for _, tc := range []struct{ text, args, want, about string }{
		{"Review $1 for $2.", `a.go "tests and docs"`, "Review a.go for tests and docs.", "Review $1 for $2."},
		{"---\ndescription: \"Look.\"\n---\nLook at $ARGUMENTS, $9!", "all of it", "Look at all of it, !", "Look."},
		{"Just look.", "here", "Just look.\n\nhere", "Just look."},
		{"Costs $5 or $x $", "", "Costs  or $x $", "Costs $5 or $x $"},
		{"---\nnot closed", "", "---\nnot closed", "---"},
		{"Take $1.", "$1 $ARGUMENTS", "Take $1.", "Take $1."},
	} {
		if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readTemplate(file, "")
		if err != nil {
			t.Fatal(err)
		}
		if text := got.expand(tc.args); text != tc.want || got.about != tc.about || got.name != "review" {
			t.Errorf("%q with %q: %q, about %q", tc.text, tc.args, text, got.about)
		}
	}
	if _, err := readTemplate(file, "another digest"); err == nil || !strings.Contains(err.Error(), "has changed since it was trusted") {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := readTemplate(t.TempDir(), ""); err == nil {
		t.Error("a directory is read")
	}
	if err := os.WriteFile(file, make([]byte, maxTemplate+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTemplate(file, ""); err == nil {
		t.Error("a file of any size is read")
	}
}

// What was typed is there in the next conversation, the newest last, bounded.
func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat", "history")
	hide := new(secret.Redactor)
	h := OpenHistory(file, hide)
	for _, text := range []string{"one", "two\nlines", "two\nlines", "", strings.Repeat("x", maxEntry+1), "three"} {
		h.Add(text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	h = OpenHistory(file, hide)
	var got []string
	for text, ok := h.Up("a draft"); ok; text, ok = h.Up("") {
		got = append(got, text)
	}
	if want := []string{"three", "two\nlines", "one"}; !slices.Equal(got, want) {
		t.Errorf("up: %q", got)
	}
	for text, ok := h.Down(); ok; text, ok = h.Down() {
		got = append(got, text)
	}
	if last := got[len(got)-1]; last != "a draft" {
		t.Errorf("down ends at %q", last)
	}
	for i := range 3 * maxHistory {
		h.Add(fmt.Sprint(i))
	}
	OpenHistory(file, hide)
	b, err := os.ReadFile(file)
	if err != nil || strings.Count(string(b), "\n") != maxHistory || !strings.HasSuffix(string(b), fmt.Sprintf("%q\n", fmt.Sprint(3*maxHistory-1))) {
		t.Errorf("the file has %d lines: %v", strings.Count(string(b), "\n"), err)
	}
	if err := os.WriteFile(file, []byte("no JSON\n\"four\"\n\x00\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, ok := OpenHistory(file, hide).Up(""); !ok || text != "four" {
		t.Errorf("a damaged file: %q", text)
	}
}

func TestShortened(t *testing.T) {
	long := strings.Repeat("日", maxNote)
	if got := shortened(long); len(got) > maxNote+100 || !strings.Contains(got, "bytes left out") || strings.ToValidUTF8(got, "") != got {
		t.Errorf("%d bytes", len(got))
	}
	if got := shortened("short"); got != "short" {
		t.Error(got)
	}
}

// A printed is a user interface that keeps what is printed and edited.
type printed struct {
	text, edit strings.Builder
}

func (p *printed) Print(text string) { p.text.WriteString(text) }
func (p *printed) Post(f func())     { f() }
func (p *printed) Notify(string)     {}
func (p *printed) Edit(text string)  { p.edit.WriteString(text) }
func (p *printed) Quit()             {}

// Lines that are entered before the session is ready are taken up in their order;
// none of them answers a question that came after it was typed.
func TestEnteredEarly(t *testing.T) {
	ui := new(printed)
	e := &kit.Env{Served: func() bool { return false }, Config: func() (*config.Config, error) { return new(config.Config), nil }}
	s := New(t.Context(), e, nil, ui, Options{Screen: kit.NewPlain(io.Discard)})
	s.opening.busy = true
	s.Enter("/mode")
	s.Enter("/mode plan")
	if ui.text.Len() > 0 || s.Meter() != "looking at the project" {
		t.Errorf("%q, %q", ui.text.String(), s.Meter())
	}
	s.ready()
	if got := ui.text.String(); !strings.HasPrefix(got, "mode: edits\nmode plan from your") || s.Meter() != "" {
		t.Errorf("%q", got)
	}
	s.opening.busy = true
	s.Enter("y")
	s.state = Asking
	if s.ready(); ui.edit.String() != "y" || s.State() != Asking {
		t.Errorf("%q in the line, state %v", ui.edit.String(), s.State())
	}
}
