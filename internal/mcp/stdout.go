package mcp

import (
	"bytes"
	"io"
	"sync"
)

// maxRubbish is how much is shown of a line that is no message.
const maxRubbish = 200

// A watchedReader passes on the standard output of a server and remembers the
// first line that cannot be a message: the decoder's error does not quote it.
type watchedReader struct {
	io.ReadCloser
	// changed is called when a notice passes that tools have changed: the answer
	// behind it may be handled before the notice is.
	changed func()

	mu      sync.Mutex
	inside  bool   // of a line that began well
	rubbish []byte // the first one that did not, as far as it is kept
	found   bool
	ended   bool // rubbish is complete
}

// Read implements [io.Reader].
func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte("notifications/tools/list_changed")) {
		w.changed()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p[:n]; len(rest) > 0 && !w.ended; {
		chunk, after, eol := bytes.Cut(rest, []byte("\n"))
		w.look(chunk, eol)
		rest = after
		if !eol {
			break
		}
	}
	return n, err
}

func (w *watchedReader) look(chunk []byte, eol bool) {
	switch {
	case w.found:
		w.rubbish = append(w.rubbish, chunk[:min(len(chunk), maxRubbish-len(w.rubbish))]...)
	case !w.inside:
		text := bytes.TrimLeft(chunk, " \t\r")
		if len(text) > 0 && text[0] != '{' && text[0] != '[' {
			w.found = true
			w.rubbish = append(w.rubbish, text[:min(len(text), maxRubbish)]...)
		}
		w.inside = len(text) > 0
	}
	if eol {
		w.inside = false
		w.ended = w.found
	}
}

// Rubbish is the line, "" if there was none.
func (w *watchedReader) Rubbish() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.rubbish)
}

// A watchedWriter passes on the standard input of a server and shows what was written,
// message by message.
type watchedWriter struct {
	io.WriteCloser
	wrote func([]byte)
}

// Write implements [io.Writer].
func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	w.wrote(p)
	return n, err
}
