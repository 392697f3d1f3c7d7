package lsp

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/workspace"
)

const (
	maxWatched = 20_000  // files
	maxText    = 4 << 20 // bytes of a file that is shown to a server
)

// A stamp shows whether a file was touched.
type stamp struct {
	size int64
	time time.Time
}

// What happened to a file, in the protocol's numbers.
const (
	created = 1
	changed = 2
	deleted = 3
)

// refresh shows the disk to the server: it is notified of files that appeared, disappeared or
// changed, whoever did it, and open documents get their new text.
func (p *peer) refresh(ctx context.Context) error {
	patterns := slices.Concat(p.h.Files, p.h.also)
	entries, _, err := p.h.all.files.List(ctx, workspace.ListOptions{Glob: "{" + strings.Join(patterns, ",") + "}", Max: maxWatched, Hidden: true})
	if err != nil {
		return fmt.Errorf("looking for changed files: %w", err)
	}
	now := make(map[string]stamp, len(entries))
	for _, e := range entries {
		now[e.Name] = stamp{e.Size, e.Time}
	}
	type event struct {
		URI  string `json:"uri"`
		Type int    `json:"type"`
	}
	var events []event
	if p.seen != nil {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if old, known := p.seen[name]; !known {
				events = append(events, event{uriOf(p.root, name), created})
			} else if old != now[name] {
				events = append(events, event{uriOf(p.root, name), changed})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.seen)) {
			if _, still := now[name]; !still {
				events = append(events, event{uriOf(p.root, name), deleted})
			}
		}
	}
	p.seen = now
	for _, name := range slices.Sorted(maps.Keys(p.docs)) {
		text, err := p.h.all.read(name)
		if err != nil {
			err = p.hide(ctx, name)
		} else {
			err = p.show(ctx, name, text)
		}
		if err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	return p.tell(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": events})
}

// read returns a file's text without counting as the job having read it.
func (s *Servers) read(name string) (string, error) {
	f, err := s.files.FS().Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxText {
		return "", &workspace.TooLargeError{Name: name, Size: int64(len(b)), Limit: maxText}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// lines reads files to find columns in, each once.
type lines struct {
	s    *Servers
	text map[string][]string
}

func (l *lines) of(name string) []string {
	if l.text == nil {
		l.text = map[string][]string{}
	}
	if t, ok := l.text[name]; ok {
		return t
	}
	if fs.ValidPath(name) {
		text, _ := l.s.read(name) // without it the column is 1
		l.text[name] = split(text)
	}
	return l.text[name]
}
