package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A front is the terminal that a run in the foreground may ask at while it goes
// on. It is safe for concurrent use: one question is asked at a time.
type front struct {
	mu    sync.Mutex
	pause func(func()) // keeps the screen still meanwhile; nil: nobody is there
}

// meet says that somebody is there until the function it returns is called.
func (f *front) meet(pause func(func())) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause = pause
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pause = nil
	}
}

// person asks who is at the terminal about something that a model is about to
// do on its own, nil if nobody can be asked in this run: unlike a job, a process
// at work cannot be parked until somebody comes.
func (a *app) person() func(context.Context, json.RawMessage) (string, error) {
	f := &a.front
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pause == nil {
		return nil
	}
	return func(ctx context.Context, about json.RawMessage) (no string, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.pause == nil {
			return "", errors.New("nobody is at the terminal any more")
		}
		f.pause(func() { no, err = a.put(ctx, &jobs.Question{About: about}) })
		return no, err
	}
}

// put shows a question and reads the answer: why not, "" for yes.
func (a *app) put(ctx context.Context, q *jobs.Question) (no string, err error) {
	in := term.NewLineReader(ctx, a.Stdin)
	text, whole := render.Question(q, firstLook)
	fmt.Fprint(a.Stderr, text)
	for {
		fmt.Fprint(a.Stderr, "     may it? [y]es, [n]o, [v]iew all of it: ")
		word, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(a.Stderr)
			return "", err
		}
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "y", "yes":
			if whole {
				return "", nil
			}
			fmt.Fprintln(a.Stderr, "     only a part of it was shown; v shows the rest")
		case "n", "no":
			return "denied by a person; find a way without it", nil
		case "v", "view":
			text, whole = render.Question(q, -1)
			fmt.Fprint(a.Stderr, text)
		}
	}
}
