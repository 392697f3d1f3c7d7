package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// The protocol counts lines from 0 and columns in UTF-16 units; adroit counts
// both from 1, columns in bytes.

// utf16Column is the protocol's column of a byte offset in line.
func utf16Column(line string, offset int) int {
	n := 0
	for i, r := range line {
		if i >= offset {
			break
		}
		n += units(r)
	}
	return n
}

// byteColumn is the byte offset of the protocol's column in line. One past the
// end, or inside a character, is taken for the nearest before it.
func byteColumn(line string, column int) int {
	n := 0
	for i, r := range line {
		if n+units(r) > column {
			return i
		}
		n += units(r)
	}
	return len(line)
}

func units(r rune) int {
	if r >= 0x10000 && r != utf8.RuneError {
		return 2
	}
	return 1
}

func split(text string) []string { return strings.Split(text, "\n") }

// lineOf returns line n, from 0, of a text without its end, "" if there is none.
func lineOf(text []string, n int) string {
	if n < 0 || n >= len(text) {
		return ""
	}
	return strings.TrimSuffix(text[n], "\r")
}

func uriOf(root, file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, filepath.FromSlash(file))
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
}

// fileOf is the name of a URI's file relative to root, absolute if it lies
// elsewhere, and false if it is not a file at all.
func fileOf(root, uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	if rel, ok := strings.CutPrefix(u.Path, strings.TrimSuffix(filepath.ToSlash(root), "/")+"/"); ok {
		return rel, true
	}
	return u.Path, true
}
