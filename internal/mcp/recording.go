package mcp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// recordTimeout bounds the time to record a call's changes.
const recordTimeout = time.Minute

// recorded makes a call of a tool that can write, and records changes in the workspace meanwhile
// in the ledger, as for commands whose writes are not collected: a server keeps running, so its
// writes cannot be. What changed since the previous call is recorded first.
func (p *Pool) recorded(ctx context.Context, l *slot, t turn.Tool, env *tools.Env, call func() (tools.Result, error)) (tools.Result, error) {
	if env == nil || env.Files == nil || env.Files.Ledger == nil || t.Needs&tools.Write == 0 {
		return call()
	}
	// What is changed between two snapshots is in neither of them, so that each begins before the one
	// before it ends; what both would record, only the first does.
	before, err := env.Files.Watch(ledger.Barring(ctx, l.denied))
	var notes []string
	if err == nil {
		notes, err = settled(ctx, env.Files)
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
	unfollowed := p.follow(settle, l, env.Files)
	changed, fault := before.Record(settle, ".")
	barred := before.Barred()
	r.Failed = r.Failed || barred != ""
	notes = append(notes, before.Partial, barred)
	if len(changed) > 0 {
		notes = append(notes, "changed in the workspace meanwhile: "+names(changed))
	}
	class := rootfs.NewClassifier(p.o.Names)
	if fault == nil && slices.ContainsFunc(changed, func(name string) bool { return class.Class(name).Config() }) {
		// When a server ends, files that programs outside of the sandbox would obey are removed.
		if before, fault = env.Files.Watch(settle); fault == nil {
			notes = append(notes, p.restart(l))
			_, fault = before.Record(settle, ".")
		}
		if _, _, err := env.Files.Ledger.Settle(settle); fault == nil {
			fault = err
		}
	}
	if fault != nil {
		notes = append(notes, "what it changed could not be recorded and cannot be undone: "+fault.Error())
	}
	if unfollowed != nil {
		notes = append(notes, "what it changes before the next call will not be recorded: "+unfollowed.Error())
	}
	if notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" }); len(notes) > 0 && err == nil {
		r.Text += "\n[" + strings.Join(notes, "; ") + "]"
	}
	return r, err
}

// settled records what has changed since the previous call of a server that can write, and returns
// notes about it and about calls that were cut short.
func settled(ctx context.Context, files *workspace.Files) (notes []string, err error) {
	since, changed, err := files.Ledger.Settle(ctx)
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		notes = append(notes, "changed in the workspace since the previous call, by this server or somebody else: "+names(changed))
	}
	if since != nil {
		notes = append(notes, since.Barred())
	}
	return append(notes, files.Ledger.TakeNotes()...), nil
}

// follow has the ledger keep track of what a server changes until the next call, or until the
// workspace is closed.
func (p *Pool) follow(ctx context.Context, l *slot, files *workspace.Files) error {
	l.mu.Lock()
	runs := l.live != nil && l.live.proc != nil
	l.mu.Unlock()
	if !runs {
		return nil
	}
	return files.Ledger.Follow(ledger.Barring(files.Context(ctx), l.denied), files.Dir())
}

// restart ends a server, which the next call starts again, and returns a note about the files
// found then.
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
	return spelling.List(spelling.PathLines(list), 20)
}

// pythonModule pins every file that Python may find in a directory for a module: a compiled one,
// an extension, a source or a package.
func (c *pinning) pythonModule(dir, name string) {
	for _, at := range []string{dir, filepath.Join(dir, name)} {
		entries, err := os.ReadDir(at)
		if err != nil {
			continue
		}
		want := name
		if at != dir {
			want = "__init__"
		}
		for _, e := range entries {
			if n, ok := importable(e.Name()); ok && n == want {
				c.file(filepath.Join(at, e.Name()), false)
			}
		}
	}
}

// importable returns the name of the module that Python sees in a file, by its extension.
func importable(file string) (module string, ok bool) {
	module, rest, _ := strings.Cut(file, ".")
	return module, slices.Contains([]string{"py", "pyc", "pyw"}, rest) || strings.HasSuffix("."+rest, ".so") || strings.HasSuffix("."+rest, ".pyd")
}

// shadows pins the modules of a directory that Python finds before modules of the same names in
// its library, and the files that it runs at its start.
func (c *pinning) shadows(dir string) {
	if c.shadowsIn[dir] {
		return
	}
	c.shadowsIn[dir] = true
	if c.shadowed == nil {
		c.shadowed = library(c.program)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || c.fixed(real(dir)) {
		return
	}
	for _, e := range entries {
		name, ok := importable(e.Name())
		if e.IsDir() {
			name, ok = e.Name(), true
		}
		if ok && c.shadowed[name] {
			c.pythonModule(dir, name)
		}
		if strings.HasSuffix(e.Name(), ".pth") {
			c.file(filepath.Join(dir, e.Name()), false)
		}
	}
}

// library has the names of the modules that come with an interpreter and with the system.
func library(interpreter string) map[string]bool {
	names := map[string]bool{"sitecustomize": true, "usercustomize": true}
	for _, prefix := range []string{filepath.Dir(filepath.Dir(real(interpreter))), filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "versions", "*"), "/usr", "/usr/local"} {
		homes, _ := filepath.Glob(filepath.Join(prefix, "lib*", "python3*")) // a pattern that is not valid finds none
		for _, home := range homes {
			for _, sub := range []string{"", "lib-dynload", "dist-packages", "site-packages"} {
				entries, err := os.ReadDir(filepath.Join(home, sub))
				if err != nil {
					continue
				}
				for _, e := range entries {
					if name, ok := importable(e.Name()); ok {
						names[name] = true
					} else if e.IsDir() {
						names[e.Name()] = true
					}
				}
			}
		}
	}
	return names
}
