// Package lsp asks language servers what is wrong in files and where things are declared and used.
// It implements [tools.Codebase] for one job:
//
//	code := lsp.New(runner, files, lsp.Options{Servers: lsp.Known()})
//	defer code.Close() // before the runner
//	found, err := code.Diagnose(ctx, "cart.go")
//
// A server is started when it is first needed, through the job's own Exec and so in its sandbox,
// once per job, and once more if it dies. Whatever a server does, a call here ends in time and at
// worst returns an error.
//
// It is not an editor: it never changes files, and refuses edits by servers.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Options list the servers and their time limits. Zero durations mean the defaults.
type Options struct {
	Servers []Server
	Start   time.Duration // from its start until a server says that it is ready; 60 s
	Request time.Duration // for one answer; 30 s
}

// Servers are the language servers of one job. They are safe for concurrent
// use. Close them before their Exec and Files.
type Servers struct {
	exec  process.Exec
	files *workspace.Files
	o     Options
	hosts []*host

	ctx  context.Context
	stop context.CancelFunc
	runs sync.WaitGroup
}

var _ tools.Codebase = (*Servers)(nil)

// New makes the servers of a job; none is started yet.
func New(ex process.Exec, files *workspace.Files, o Options) *Servers {
	if o.Start <= 0 {
		o.Start = time.Minute
	}
	if o.Request <= 0 {
		o.Request = 30 * time.Second
	}
	s := &Servers{exec: ex, files: files, o: o}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for _, server := range o.Servers {
		s.hosts = append(s.hosts, &host{all: s, Server: server, turn: make(chan struct{}, 1)})
	}
	return s
}

// Close ends the servers and waits until they are gone.
func (s *Servers) Close() error {
	s.stop()
	for _, h := range s.hosts {
		h.close()
	}
	s.runs.Wait()
	return nil
}

// Serves reports whether there is a server for file: one is configured, is
// installed and has not been given up. It starts nothing.
func (s *Servers) Serves(file string) bool {
	h := s.host(file)
	return h != nil && h.fit() == nil
}

func (s *Servers) host(file string) *host {
	for _, h := range s.hosts {
		if h.serves(file) {
			return h
		}
	}
	return nil
}

// need finds the host for a file and reports why there is none.
func (s *Servers) need(file string) (*host, error) {
	h := s.host(file)
	if h == nil {
		return nil, fmt.Errorf("%w for %s", tools.ErrNoServer, filepath.Base(file))
	}
	return h, h.fit()
}

// A host keeps one server running.
type host struct {
	Server
	all  *Servers
	turn chan struct{} // held by whoever talks to the server

	mu     sync.Mutex
	try    *attempt
	starts int
	silent int   // requests in a row that got no answer
	gone   error // why it is not started any more
}

// An attempt is one start of a server. peer and err are set once done is closed.
type attempt struct {
	done chan struct{}
	peer *peer
	err  error
}

const (
	maxStarts = 2
	maxSilent = 5
)

// fit reports why the server cannot be used, as far as is known.
func (h *host) fit() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone != nil {
		return h.gone
	}
	if h.try != nil {
		return nil
	}
	if len(h.Command) == 0 {
		return fmt.Errorf("%w: %s has no command", tools.ErrNoServer, h.Name)
	}
	at, err := hostexec.Find(h.Command[0])
	if err != nil {
		return fmt.Errorf("%w: %s is %s", tools.ErrNoServer, h.Command[0], hostexec.Lacking(err))
	}
	if rel, err := filepath.Rel(h.all.files.Dir(), at); err == nil && filepath.IsLocal(rel) {
		// What a repository brings is not run unasked.
		return fmt.Errorf("%w: %s lies in the workspace and is not started from there", tools.ErrNoServer, h.Command[0])
	}
	return nil
}

// get returns the running server. It starts it, or waits for another caller that does; the start
// goes on when ctx ends.
func (h *host) get(ctx context.Context) (*peer, error) {
	if err := h.fit(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	if h.try != nil {
		select {
		case <-h.try.done:
			if h.try.err != nil || h.try.peer.dead() {
				h.try = nil
			}
		default:
		}
	}
	if h.try == nil {
		if h.starts == maxStarts {
			h.gone = fmt.Errorf("%w: %s ended %d times and is not started again for this job", tools.ErrNoServer, h.Name, h.starts)
		}
		if h.all.ctx.Err() != nil {
			h.gone = fmt.Errorf("%w: the job is ending", tools.ErrNoServer)
		}
		if h.gone != nil {
			defer h.mu.Unlock()
			return nil, h.gone
		}
		h.starts++
		t := &attempt{done: make(chan struct{})}
		h.try = t
		h.all.runs.Go(func() {
			defer close(t.done)
			within, cancel := context.WithTimeout(h.all.ctx, h.all.o.Start)
			defer cancel()
			t.peer, t.err = h.start(within)
		})
	}
	t := h.try
	h.mu.Unlock()
	select {
	case <-t.done:
		return t.peer, t.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s is still starting: %w", h.Name, ctx.Err())
	}
}

// running returns the server if it runs, without waiting for it.
func (h *host) running() *peer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.try == nil {
		return nil
	}
	select {
	case <-h.try.done:
	default:
		return nil
	}
	if h.try.err != nil || h.try.peer.dead() {
		return nil
	}
	return h.try.peer
}

func (h *host) close() {
	h.mu.Lock()
	t := h.try
	h.mu.Unlock()
	if t == nil {
		return
	}
	<-t.done // the context of the start has ended
	if t.peer != nil {
		t.peer.close()
	}
}

// talk gives do the server to itself and bounds it. A server that died during
// do is started once more and asked again.
func (h *host) talk(ctx context.Context, do func(ctx context.Context, p *peer) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.all.o.Start+h.all.o.Request)
	defer cancel()
	for {
		p, err := h.get(ctx)
		if err != nil {
			return err
		}
		select {
		case h.turn <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("%s is busy: %w", h.Name, ctx.Err())
		}
		within, done := context.WithTimeout(ctx, h.all.o.Request)
		err = do(within, p)
		done()
		<-h.turn
		h.judge(err, p)
		if err == nil || !p.dead() || ctx.Err() != nil {
			return err
		}
	}
}

// judge gives up a server that never answers.
func (h *host) judge(err error, p *peer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.silent = 0
	case errors.Is(err, context.DeadlineExceeded):
		if h.silent++; h.silent >= maxSilent && h.gone == nil {
			h.gone = fmt.Errorf("%w: %s did not answer %d times in a row and is not asked again", tools.ErrNoServer, h.Name, h.silent)
			h.all.runs.Go(p.close)
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// A Server describes how a language server is started and which files it handles.
type Server struct {
	Name    string
	Command []string // speaks the protocol on its standard input and output
	Files   []string // patterns of base names, such as *.rs
	Options any      // sent as initializationOptions; may be nil

	// also are files that are not served but whose changes it must hear of.
	also []string
	// pull asks for a file's diagnostics where the protocol's own way does not
	// tell when they are complete.
	pull puller
	// noise begins messages that are about the host and not about the file.
	noise []string
}

// Known lists the servers that are used if they are installed.
func Known() []Server {
	return []Server{
		{
			Name: "gopls", Command: []string{"gopls"}, Files: []string{"*.go"},
			Options: map[string]any{"pullDiagnostics": true, "diagnosticsDelay": "0s", "vulncheck": "Off"},
			also:    []string{"go.mod", "go.sum", "go.work"},
			// In a sandbox the build cache is an overlay that others change below it.
			noise: []string{"loading compiled Go files from cache"},
		},
		{
			Name: "typescript", Command: []string{"typescript-language-server", "--stdio"},
			Files: []string{"*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"},
			// Nothing is to be fetched behind the user's back.
			Options: map[string]any{"disableAutomaticTypingAcquisition": true, "tsserver": map[string]any{"useSyntaxServer": "never"}},
			also:    []string{"tsconfig.json", "jsconfig.json", "package.json"},
			pull:    pullTypeScript,
		},
		{
			Name: "pyright", Command: []string{"pyright-langserver", "--stdio"}, Files: []string{"*.py", "*.pyi"},
			also: []string{"pyproject.toml", "pyrightconfig.json"},
		},
	}
}

// Merge puts the operator's servers over the known ones: one of the same name
// replaces it, and comes first for the files it names.
func Merge(own []Server) []Server {
	all := slices.Clone(own)
	for _, k := range Known() {
		if !slices.ContainsFunc(own, func(s Server) bool { return s.Name == k.Name }) {
			all = append(all, k)
		}
	}
	return all
}

func (s Server) serves(file string) bool {
	base := path.Base(filepath.ToSlash(file))
	return slices.ContainsFunc(s.Files, func(pattern string) bool {
		ok, err := path.Match(pattern, base)
		return ok && err == nil
	})
}

// language returns the protocol's name of a file's language.
func language(file string) string {
	ext := strings.TrimPrefix(path.Ext(file), ".")
	switch ext {
	case "ts", "mts", "cts":
		return "typescript"
	case "tsx":
		return "typescriptreact"
	case "js", "mjs", "cjs":
		return "javascript"
	case "jsx":
		return "javascriptreact"
	case "py", "pyi":
		return "python"
	case "rs":
		return "rust"
	case "rb":
		return "ruby"
	case "cc", "cpp", "cxx", "hpp", "hh":
		return "cpp"
	case "h":
		return "c"
	case "cs":
		return "csharp"
	case "kt":
		return "kotlin"
	case "sh":
		return "shellscript"
	case "md":
		return "markdown"
	case "yml":
		return "yaml"
	}
	return ext
}
