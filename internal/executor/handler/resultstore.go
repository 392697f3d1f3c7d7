package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/flow/stepid"
	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A ResultStore keeps whole results of which a model is shown a part, each
// under its digest, in a directory of the job: equal texts are stored once, and a
// repeated step finds its own. It is safe for concurrent use. A nil ResultStore
// stores nothing.
type ResultStore struct {
	Dir string // made when there is something to keep

	mu   sync.Mutex
	size int64 // of what is kept; -1 once it is full
	seen bool
}

const (
	maxKept     = 8 << 20   // bytes of one text
	maxStored   = 256 << 20 // of all
	markerBytes = 120       // for the line that states what is left out
)

var resultID = lazyregexp.New(`^[0-9a-f]{12}$`)

// errFull reports that the job has kept as much as it may.
var errFull = errors.New("the job has kept as many results as it may")

// Put keeps text and returns its id. What is beyond 8 MB of one text or 256 MB
// of all is not kept.
func (s *ResultStore) Put(text string) (string, error) {
	if s == nil {
		return "", errFull
	}
	if len(text) > maxKept {
		text = compaction.TrimRunes(text[:maxKept]) + fmt.Sprintf("\n[cut here: it had %d bytes]\n", len(text))
	}
	id := stepid.Digest([]byte(text))[:12]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.scan(); err != nil {
		return "", err
	}
	file := filepath.Join(s.Dir, id)
	if _, err := os.Stat(file); err == nil {
		return id, nil
	}
	if s.size+int64(len(text)) > maxStored {
		return "", errFull
	}
	tmp, err := os.CreateTemp(s.Dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name()) // gone already if all went well
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return "", fmt.Errorf("keeping a result: %w", err)
	}
	s.size += int64(len(text))
	return id, nil
}

// scan finds out what an earlier process has left.
func (s *ResultStore) scan() error {
	if s.seen {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			s.size += info.Size()
		}
	}
	s.seen = true
	return nil
}

// Result gives a text back.
func (s *ResultStore) Result(id string) (string, error) {
	if s == nil || !resultID.MatchString(id) {
		return "", fs.ErrNotExist
	}
	b, err := os.ReadFile(filepath.Join(s.Dir, id))
	return string(b), err
}

// bound cuts the result of a tool to what the model may be shown at once. The
// whole is redacted first, since a cut through a secret would hide it from
// those who look for it later.
func (h Host) bound(ctx context.Context, s flow.Step, room int, res *tools.Result, emit event.Sink) {
	if room <= 0 || len(res.Text) <= room {
		return
	}
	text, hit := secret.From(ctx).String(res.Text)
	if hit {
		res.Taint |= tools.Secret
	}
	var handle string
	if s.Name == compaction.ReadResult {
		handle = " Ask for fewer lines."
	} else if id, err := h.Results.Put(text); err == nil {
		handle = fmt.Sprintf(" "+compaction.HandleFormat, compaction.ReadResult, id)
	} else {
		emit(event.Event{Kind: event.Note, Text: "a result of " + s.Name + " is not kept in whole", Error: err.Error()})
		handle = " The rest is not kept: call it again and ask for less."
	}
	res.Summary = cmp.Or(res.Summary, compaction.OneLine(text, 200))
	space := max(room-markerBytes, room/2)
	res.Text = compaction.HeadAndTail(text, space*3/5, space*2/5, handle)
}
