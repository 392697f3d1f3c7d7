package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
)

// quietPeriod is the time without new diagnostics after which those of a server that does not
// number them count as complete.
const quietPeriod = 300 * time.Millisecond

// A puller asks for the diagnostics of an open document. It reports false if
// the server cannot be asked so.
type puller func(ctx context.Context, p *peer, file string) ([]problem, bool, error)

// Diagnose implements tools.Codebase.
func (s *Servers) Diagnose(ctx context.Context, files ...string) ([]tools.Diagnostic, error) {
	groups, err := s.group(files)
	if err != nil {
		return nil, err
	}
	var all []tools.Diagnostic
	for _, g := range groups {
		err := g.host.talk(ctx, func(ctx context.Context, p *peer) error {
			if err := p.refresh(ctx); err != nil {
				return err
			}
			texts := map[string]string{}
			for _, f := range g.files {
				text, err := s.read(f)
				if err != nil {
					return err
				}
				texts[f] = text
			}
			found, err := p.diagnose(ctx, g.files, texts)
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

// A group is files of one server.
type group struct {
	host  *host
	files []string
}

// group sorts files by server. It is an error only if nobody serves any.
func (s *Servers) group(files []string) ([]*group, error) {
	var groups []*group
	var why error
	for _, f := range files {
		h, err := s.need(f)
		if err != nil {
			why = cmp.Or(why, err)
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.host == h })
		if i < 0 {
			groups = append(groups, &group{host: h})
			i = len(groups) - 1
		}
		groups[i].files = append(groups[i].files, f)
	}
	if len(groups) == 0 {
		return nil, why
	}
	return groups, nil
}

// diagnose shows the texts of files to the server and collects its diagnostics.
func (p *peer) diagnose(ctx context.Context, files []string, texts map[string]string) ([]tools.Diagnostic, error) {
	for _, f := range files { // all first: they may depend on each other
		if err := p.show(ctx, f, texts[f]); err != nil {
			return nil, err
		}
	}
	var all []tools.Diagnostic
	for _, f := range files {
		found, err := p.problems(ctx, f)
		if err != nil {
			return nil, err
		}
		text := split(texts[f])
		for _, problem := range found[:min(len(found), maxProblems)] {
			if d, ok := problem.report(f, text); ok && !p.h.isNoise(d.Message) {
				all = append(all, d)
			}
		}
	}
	return all, nil
}

func (s Server) isNoise(message string) bool {
	return slices.ContainsFunc(s.noise, func(begin string) bool { return strings.HasPrefix(message, begin) })
}

// problems gets the diagnostics of an open document the best way there is.
func (p *peer) problems(ctx context.Context, file string) ([]problem, error) {
	if p.h.pull != nil {
		if found, ok, err := p.h.pull(ctx, p, file); ok || err != nil {
			return found, err
		}
	}
	if offers(p.can.Capabilities.Diagnostics) {
		var report struct {
			Items []problem `json:"items"`
		}
		err := p.call(ctx, "textDocument/diagnostic", map[string]any{"textDocument": document{URI: uriOf(p.root, file)}}, &report)
		return report.Items, err
	}
	return p.await(ctx, file)
}

// await waits for published diagnostics of the document as it is now: until
// the server has been quiet for a while or, if it never is, the time is over.
func (p *peer) await(ctx context.Context, file string) ([]problem, error) {
	d := p.docs[file]
	quiet := time.NewTimer(quietPeriod)
	quiet.Stop()
	defer quiet.Stop()
	var got *published
	for {
		p.mu.Lock()
		now := p.published[file]
		news := p.news
		p.mu.Unlock()
		if now != nil && (now.Version == nil || *now.Version >= d.version) && (got == nil || !slices.Equal(got.Diagnostics, now.Diagnostics)) {
			got = now
			quiet.Reset(quietPeriod)
		}
		select {
		case <-news:
		case <-quiet.C:
			return got.Diagnostics, nil
		case <-p.conn.DisconnectNotify():
			return nil, fmt.Errorf("%s: %w", p.h.Name, p.why(errGone))
		case <-ctx.Done():
			if got != nil {
				return got.Diagnostics, nil
			}
			return nil, fmt.Errorf("%s said nothing about %s in time: %w", p.h.Name, file, context.DeadlineExceeded)
		}
	}
}

var errGone = errors.New("it ended")

// pullTypeScript asks tsserver itself: the server in front of it publishes
// nothing when nothing is wrong, before and after, so that waiting for it
// would always take as long as one is willing to wait.
func pullTypeScript(ctx context.Context, p *peer, file string) ([]problem, bool, error) {
	const request = "typescript.tsserverRequest"
	if !slices.Contains(p.can.Capabilities.ExecuteCommand.Commands, request) {
		return nil, false, nil
	}
	var all []problem
	for _, kind := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var got struct {
			Body []struct {
				Message  string
				Category string
				Code     int
				Start    struct{ Line, Offset int } `json:"startLocation"`
			}
		}
		err := p.call(ctx, "workspace/executeCommand", map[string]any{"command": request, "arguments": []any{
			kind, map[string]any{"file": uriOf(p.root, file), "includeLinePosition": true}}}, &got)
		if err != nil {
			return nil, false, err
		}
		for _, d := range got.Body {
			severity := map[string]int{"error": 1, "warning": 2}[d.Category]
			if severity == 0 {
				continue
			}
			at := position{d.Start.Line - 1, d.Start.Offset - 1}
			all = append(all, problem{Range: span{at, at}, Severity: severity, Source: "typescript", Message: d.Message})
		}
	}
	return all, true, nil
}

func order(ds []tools.Diagnostic) {
	slices.SortStableFunc(ds, func(a, b tools.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
}

// A Change is a file that was changed. Before is its earlier text, which counts only if the server
// has not seen a newer one. Created means that there was no file.
type Change struct {
	File    string
	Before  string
	Created bool
}

// Refresh shows the current files to the running servers. Called before a change, it makes
// Appeared compare with the text just before.
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

// Appeared returns the problems in changed files that were not there before the change. Files that
// no server handles are left out. The position of a problem does not count, since an edit moves
// lines.
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
