package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// Bounds of the history, in entries and in bytes of one.
const (
	maxHistory = 1000
	maxEntry   = 64 << 10
)

// A History is the input of all conversations, oldest first. It is kept in a file that
// only the user can read, one JSON string a line, without the secrets that adroit knows.
type History struct {
	file    string
	hide    *secret.Redactor
	entries []string
	at      int    // the entry that is shown; len(entries) is the draft
	draft   string // what was typed before an entry was looked at
}

// OpenHistory reads the history. One that cannot be read is empty.
func OpenHistory(file string, hide *secret.Redactor) *History {
	h := &History{file: file, hide: hide}
	f, err := os.Open(file)
	if err != nil {
		return h
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8*maxEntry)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			h.entries = append(h.entries, text)
		}
	}
	_ = lines.Err() // what came before is kept
	if n := len(h.entries) - maxHistory; n > 0 {
		h.entries = slices.Clone(h.entries[n:])
		if n > maxHistory/2 {
			h.rewrite()
		}
	}
	h.at = len(h.entries)
	return h
}

// rewrite shortens the file. If it fails, the file stays long.
func (h *History) rewrite() {
	var all bytes.Buffer
	enc := json.NewEncoder(&all)
	for _, text := range h.entries {
		_ = enc.Encode(text) // a string always can be
	}
	_ = rootfs.WriteFile(h.file, all.Bytes())
}

// Add appends what was typed. It is in the file when Add returns, unless the file
// cannot be written: then it is known until the program ends.
func (h *History) Add(text string) {
	text, _ = h.hide.String(text)
	if len(text) > maxEntry || text == "" {
		h.at, h.draft = len(h.entries), ""
		return
	}
	if n := len(h.entries); n == 0 || h.entries[n-1] != text {
		h.entries = append(h.entries, text)
		h.append(text)
	}
	h.at, h.draft = len(h.entries), ""
}

func (h *History) append(text string) {
	if os.MkdirAll(filepath.Dir(h.file), 0o700) != nil {
		return
	}
	f, err := rootfs.OpenLog(h.file, 0)
	if err != nil {
		return
	}
	defer f.Close()
	b, _ := json.Marshal(text) // a string always can be
	_, _ = f.Write(append(b, '\n'))
}

// Up returns the entry before the one that is shown; now is the line's text.
func (h *History) Up(now string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = now
	}
	h.at--
	return h.entries[h.at], true
}

// Down returns the entry after the one that is shown, and at last what was typed
// before.
func (h *History) Down() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	h.at++
	if h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}

// Search returns entries with all of these words, the newest first, each once.
func (h *History) Search(words string, most int) (found []string) {
	for _, text := range slices.Backward(h.entries) {
		if len(found) < most && hasAll(text, words) && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
}
