package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/tools"
)

// ask shows a file to its server and sends it a request about it.
func (s *Servers) ask(ctx context.Context, file, method string, able func(*peer) raw, params func(uri, text string) map[string]any) (text string, result raw, err error) {
	h, err := s.need(file)
	if err != nil {
		return "", nil, err
	}
	err = h.talk(ctx, func(ctx context.Context, p *peer) error {
		if !offers(able(p)) {
			return fmt.Errorf("%w: %s does not offer %s", tools.ErrNoServer, h.Name, method)
		}
		if err := p.refresh(ctx); err != nil {
			return err
		}
		if text, err = s.read(file); err != nil {
			return err
		}
		if err := p.show(ctx, file, text); err != nil {
			return err
		}
		return p.call(ctx, method, params(uriOf(p.root, file), text), &result)
	})
	return text, result, err
}

// Symbols implements tools.Codebase.
func (s *Servers) Symbols(ctx context.Context, file string) ([]tools.Symbol, error) {
	text, result, err := s.ask(ctx, file, "textDocument/documentSymbol",
		func(p *peer) raw { return p.can.Capabilities.Symbols },
		func(uri, _ string) map[string]any { return map[string]any{"textDocument": document{URI: uri}} })
	if err != nil {
		return nil, err
	}
	var syms []symbol
	if err := json.Unmarshal(result, &syms); err != nil {
		return nil, fmt.Errorf("the symbols of %s could not be read: %w", file, err)
	}
	lines := split(text)
	var all []tools.Symbol
	var walk func(syms []symbol, depth int)
	walk = func(syms []symbol, depth int) {
		for _, sym := range syms {
			whole := sym.Range
			if sym.Location != nil {
				whole = sym.Location.Range
			}
			at := whole.Start
			if sym.Selection != nil {
				at = sym.Selection.Start
			}
			all = append(all, tools.Symbol{Name: sym.Name, Kind: kindName(sym.Kind), Location: spot(file, lines, at), End: whole.End.Line + 1, Depth: depth})
			if depth < 8 {
				walk(sym.Children, depth+1)
			}
		}
	}
	walk(syms, 0)
	slices.SortStableFunc(all, func(a, b tools.Symbol) int { return cmp.Compare(a.Line, b.Line) })
	return all, nil
}

// Definition implements tools.Codebase.
func (s *Servers) Definition(ctx context.Context, at tools.Location) ([]tools.Location, error) {
	_, result, err := s.ask(ctx, at.File, "textDocument/definition",
		func(p *peer) raw { return p.can.Capabilities.Definition },
		func(uri, text string) map[string]any {
			return map[string]any{"textDocument": document{URI: uri}, "position": positionOf(text, at)}
		})
	if err != nil {
		return nil, err
	}
	return s.spots(result)
}

// References implements tools.Codebase.
func (s *Servers) References(ctx context.Context, at tools.Location) ([]tools.Location, error) {
	_, result, err := s.ask(ctx, at.File, "textDocument/references",
		func(p *peer) raw { return p.can.Capabilities.References },
		func(uri, text string) map[string]any {
			return map[string]any{"textDocument": document{URI: uri}, "position": positionOf(text, at), "context": map[string]any{"includeDeclaration": true}}
		})
	if err != nil {
		return nil, err
	}
	return s.spots(result)
}

func positionOf(text string, at tools.Location) position {
	return position{Line: at.Line - 1, Character: utf16Column(lineOf(split(text), at.Line-1), at.Column-1)}
}

// spots reads one location or a list of them, in either form.
func (s *Servers) spots(result raw) ([]tools.Location, error) {
	if string(result) == "null" || len(result) == 0 {
		return nil, nil
	}
	var locs []location
	if result[0] == '{' {
		result = slices.Concat(raw("["), result, raw("]"))
	}
	if err := json.Unmarshal(result, &locs); err != nil {
		return nil, fmt.Errorf("the places could not be read: %w", err)
	}
	l := lines{s: s}
	var all []tools.Location
	for _, loc := range locs {
		uri, at := loc.URI, loc.Range.Start
		if loc.TargetURI != "" {
			uri, at = loc.TargetURI, loc.TargetSelection.Start
		}
		if file, ok := fileOf(s.files.Dir(), uri); ok {
			all = append(all, spot(file, l.of(file), at))
		}
	}
	slices.SortFunc(all, func(a, b tools.Location) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(all), nil
}

// The protocol counts lines from 0 and columns in UTF-16 units; adroit counts
// both from 1, columns in bytes.

// utf16Column converts a byte offset in line to the protocol's column.
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

// byteColumn converts the protocol's column in line to a byte offset. A column past the end, or
// inside a character, becomes the nearest offset before it.
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

// fileOf returns the name of a URI's file relative to root, absolute if it lies elsewhere; ok is
// false if it is not a file at all.
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
