package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// recordTimeout bounds how long it takes to note what a call has changed.
const recordTimeout = time.Minute

// recorded makes a call of a tool that can write, and takes what changes in the workspace
// meanwhile into the ledger, as it is done for commands whose writes are not collected: a
// server runs on, so that its writes cannot be.
func (p *Pool) recorded(ctx context.Context, l *slot, t turn.Tool, env *tools.Env, call func() (tools.Result, error)) (tools.Result, error) {
	if env == nil || env.Files == nil || t.Needs&tools.Write == 0 {
		return call()
	}
	before, err := env.Files.Watch(ctx)
	if before == nil && err == nil {
		return call() // nothing is recorded
	}
	if err == nil {
		err = before.KeepIgnored(ctx)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("noting the files before %s: %w", t.Name, err)
	}
	r, err := call()
	// The files are as they are, also if the call is being stopped.
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	changed, fault := before.Record(settle, ".")
	notes := []string{before.Partial}
	if len(changed) > 0 {
		notes = append(notes, "changed in the workspace meanwhile: "+names(changed))
	}
	class := rootfs.NewClassifier(p.o.Names)
	if slices.ContainsFunc(changed, func(name string) bool { return class.Class(name).Config() }) {
		// The end of a server is when what programs outside of the sandbox would obey
		// is taken away.
		if before, fault = env.Files.Watch(settle); fault == nil {
			notes = append(notes, p.restart(l))
			_, fault = before.Record(settle, ".")
		}
	}
	if fault != nil {
		notes = append(notes, "what it changed could not be recorded and cannot be undone: "+fault.Error())
	}
	if notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" }); len(notes) > 0 && err == nil {
		r.Text += "\n[" + strings.Join(notes, "; ") + "]"
	}
	return r, err
}

// restart ends a server, which the next call starts again, and returns what was found then.
func (p *Pool) restart(l *slot) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil || l.live.proc == nil {
		return ""
	}
	l.live.end()
	note := l.live.proc.Output().Note
	l.live = nil
	return note
}

// names lists the first of some files.
func names(list []string) string {
	const most = 20
	list = slices.Clone(list)
	for i := range list {
		list[i] = spelling.PathLine(list[i])
	}
	if n := len(list) - most; n > 0 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(list, ", ")
}
