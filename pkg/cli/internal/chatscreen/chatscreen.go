package chatscreen

import (
	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"

	"os"
	"strings"
	"sync"
	"time"
)

// Whether somebody looks at the terminal.
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
	inbox
}

// An inbox is what other goroutines have for the owner.
type inbox struct {
	mu    sync.Mutex
	posts []func()
	text  strings.Builder // finished, to be printed above the live rows
	raw   strings.Builder // notices, written as they are
	wake  chan struct{}
}

// A model is what the live rows are made of.
type model struct {
	screen        *Screen
	session       *chat.Session
	suspend       func()
	editor        editor
	complete      completion
	width, height int
	focus         focus
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
