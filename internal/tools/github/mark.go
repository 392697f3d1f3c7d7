package github

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// marked finds our marks in a text.
var marked = lazyregexp.New(`\s*<!-- adroit:[0-9a-f]{24} -->`)

// mark is an invisible comment that identifies a written text by job and
// content, so that a model that repeats a call after a lost response does not
// write it twice.
func (a *api) mark(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{a.env.Job, a.repo}, parts...), "\x00")))
	return "<!-- adroit:" + hex.EncodeToString(sum[:12]) + " -->"
}

// written reports whether what a model wants to write can be.
func written(what, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New(what + " is empty: write what others are to read")
	case len(text) > 60_000:
		return errors.New(what + " is longer than GitHub takes: make it shorter than 60000 bytes")
	case strings.ContainsRune(text, 0):
		return errors.New(what + " has a NUL byte: leave it out")
	}
	return nil
}
