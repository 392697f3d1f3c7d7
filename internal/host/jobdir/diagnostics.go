package jobdir

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	judging      = 5 * time.Second // for the diagnostics of one change
	looking      = time.Second     // for showing the servers the disk before it
	mostJudged   = 20              // files of one change
	mostAppeared = 10              // diagnostics that are shown
)

// Diagnose has every change that a call makes to a file looked at by the file's
// language server, if there is one, and reports new problems to the model. It
// never makes a call fail, and takes five seconds at most.
func (bs *Workspaces) Diagnose(next host.ToolHandler) host.ToolHandler {
	return func(ctx context.Context, p host.Invocation) (tools.Result, error) {
		b, err := bs.at(p.At)
		if err != nil {
			return tools.Result{}, err
		}
		if b.code == nil || p.Tool.Needs&(tools.Write|tools.Shell) == 0 {
			return next(ctx, p)
		}
		// So that the change is compared with the state just before it. If this fails it is
		// compared with the state that the server saw last.
		within, done := context.WithTimeout(ctx, looking)
		_ = b.code.Refresh(within)
		done()
		res, err := next(ctx, p)
		if err != nil || ctx.Err() != nil {
			return res, err
		}
		changes, more := b.changedFiles(ctx, p.Step.Path)
		if len(changes) == 0 {
			return res, nil
		}
		within, done = context.WithTimeout(ctx, judging)
		defer done()
		found, err := b.code.Appeared(within, changes...)
		verdict, short := words(found, more, err)
		res.Summary = summary(res) + ", " + short
		res.Text = strings.TrimRight(res.Text, "\n") + "\n\n" + verdict + "\n"
		return res, nil
	}
}

// changedFiles lists the files that a step changed, that are still there, and that
// somebody serves; more counts those left out.
func (b *Workspace) changedFiles(ctx context.Context, step string) (changes []lsp.Change, more int) {
	part, err := b.ledger.Step(ctx, step)
	if err != nil {
		return nil, 0 // it changed nothing
	}
	all, err := part.Changes(ctx)
	if err != nil {
		return nil, 0
	}
	for _, c := range all {
		if c.Kind == ledger.Deleted || c.Link || c.After == c.Before || !b.code.Serves(c.Path) {
			continue
		}
		if len(changes) == mostJudged {
			more++
			continue
		}
		change := lsp.Change{File: c.Path, Created: c.Before == ""}
		if !change.Created {
			old, err := b.ledger.Content(c.Before)
			if err != nil {
				more++
				continue // there is nothing to compare with
			}
			change.Before = strings.ToValidUTF8(string(old), "\uFFFD")
		}
		changes = append(changes, change)
	}
	return changes, more
}

// words formats the findings for the model and, in short, for viewers.
func words(found []tools.Diagnostic, more int, err error) (verdict, short string) {
	var b strings.Builder
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("Diagnostics are not known: %v (given up after %s).", err, judging), "diagnostics given up"
	case err != nil:
		return fmt.Sprintf("Diagnostics are not known: %v.", err), "diagnostics unknown"
	case len(found) == 0:
		short = "no new diagnostics"
		b.WriteString("No new diagnostics.")
	default:
		short = spelling.Plural(len(found), "new diagnostic")
		b.WriteString("New diagnostics, not there before this change:\n")
		for i, d := range found {
			if i == mostAppeared {
				fmt.Fprintf(&b, "[%d more]\n", len(found)-i)
				break
			}
			b.WriteString(d.String() + "\n")
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, " [%d more changed files were not looked at]", more)
	}
	return strings.TrimRight(b.String(), "\n"), short
}

// summary returns a line that describes a result.
func summary(res tools.Result) string {
	if res.Summary != "" {
		return res.Summary
	}
	line, _, _ := strings.Cut(strings.TrimSpace(res.Text), "\n")
	return line
}
