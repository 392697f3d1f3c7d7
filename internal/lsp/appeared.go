package lsp

import (
	"context"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/tools"
)

// A Change is a file that was changed. Before is what it held; it counts only
// if the server has not seen a newer text. Created means that there was no file.
type Change struct {
	File    string
	Before  string
	Created bool
}

// Refresh shows the servers that run what is on disk. Called before a change,
// it makes Appeared compare with the text just before.
func (s *Servers) Refresh(ctx context.Context) error {
	for _, h := range s.hosts {
		p := h.running()
		if p == nil {
			continue
		}
		err := h.talk(ctx, func(ctx context.Context, p *peer) error { return p.refresh(ctx) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Appeared returns what is wrong in changed files now and was not before the
// change. Files that nobody serves are left out. Where something is wrong does
// not count: an edit moves lines.
func (s *Servers) Appeared(ctx context.Context, changes ...Change) ([]tools.Diagnostic, error) {
	var names []string
	by := map[string]Change{}
	for _, c := range changes {
		names = append(names, c.File)
		by[c.File] = c
	}
	slices.Sort(names)
	groups, err := s.group(slices.Compact(names))
	if err != nil {
		return nil, err
	}
	var all []tools.Diagnostic
	for _, g := range groups {
		err := g.host.talk(ctx, func(ctx context.Context, p *peer) error {
			found, err := p.appeared(ctx, g.files, by)
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	order(all)
	return all, nil
}

func (p *peer) appeared(ctx context.Context, files []string, by map[string]Change) ([]tools.Diagnostic, error) {
	olds, news := map[string]string{}, map[string]string{}
	var before []string // files that there were
	for _, f := range files {
		text, err := p.h.all.read(f)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f, err)
		}
		news[f] = text
		switch d := p.docs[f]; {
		case d != nil:
			olds[f] = d.text
		case by[f].Created:
			continue
		default:
			olds[f] = by[f].Before
		}
		before = append(before, f)
	}
	was, err := p.diagnose(ctx, before, olds)
	if err != nil {
		return nil, err
	}
	// This gives the changed files their new text as well, all at once.
	if err := p.refresh(ctx); err != nil {
		return nil, err
	}
	is, err := p.diagnose(ctx, files, news)
	if err != nil {
		return nil, err
	}
	type key struct{ file, severity, message string }
	known := map[key]int{}
	for _, d := range was {
		known[key{d.File, d.Severity, d.Message}]++
	}
	var fresh []tools.Diagnostic
	for _, d := range is {
		k := key{d.File, d.Severity, d.Message}
		if known[k] > 0 {
			known[k]--
			continue
		}
		fresh = append(fresh, d)
	}
	return fresh, nil
}
