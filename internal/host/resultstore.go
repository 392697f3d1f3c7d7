package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
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
		text = turn.TrimRunes(text[:maxKept]) + fmt.Sprintf("\n[cut here: it had %d bytes]\n", len(text))
	}
	id := flow.Digest([]byte(text))[:12]
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
	if err := rootfs.WriteFile(file, []byte(text)); err != nil {
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
