package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/cmd/version"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/secret"
	"github.com/adroit-run/adroit/pkg/sqlite"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An app is one command line being executed: the program, its flags, and what
// was opened on the way. It is used by one goroutine.
type app struct {
	Program
	flags struct{ dataDir string }
	now   func() time.Time

	out   *term.Output
	conf  *config.Config
	db    *sqlite.DB
	rt    *adroit.Runtime // see runtime
	stuck error           // why db can only be read, nil if it can be written
	set   *tools.Set
	hide  *secret.Redactor // see redactor
	noted []string         // see note
	asked env.Attendant    // who models at work may ask
}

func newApp(p Program) *app {
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("")
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	if p.Getenv == nil {
		p.Getenv = os.Getenv
	}
	out := &term.Output{Writer: p.Stdout}
	p.Stdout = out
	return &app{Program: p, out: out, now: time.Now}
}

// close releases what was opened. It may be called again.
func (a *app) close() error {
	var errs []error
	if a.rt != nil {
		errs = append(errs, a.rt.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	a.rt, a.db = nil, nil
	return errors.Join(errs...)
}

// dataDir is where all state is, absolute.
func (a *app) dataDir() (string, error) { return a.env().DataDir() }

// store opens the database when a command first needs it.
func (a *app) store(ctx context.Context) (*sqlite.DB, error) {
	if a.db != nil {
		return a.db, a.stuck
	}
	dir, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	// Opening goes on when the operator has pressed Ctrl-C already: what
	// follows may be the settling of a job.
	db, err := sqlite.Open(context.WithoutCancel(ctx), filepath.Join(dir, "adroit.db"), sqlite.Options{Version: version.Read().Version})
	if err != nil {
		return nil, exit.Fail(fmt.Errorf("opening the data directory: %w", err), "run adroit doctor for details; --data-dir DIR or ADROIT_HOME keeps state elsewhere")
	}
	a.db = db
	return db, nil
}

// readStore opens the database for a command that changes nothing: where it
// cannot be written, reading is enough.
func (a *app) readStore(ctx context.Context) (*sqlite.DB, error) {
	db, err := a.store(ctx)
	if err == nil || a.stuck != nil {
		return db, nil
	}
	unwritable := []error{sqlite.ErrReadOnly, sqlite.ErrFull, sqlite.ErrDisk, fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT}
	if !slices.ContainsFunc(unwritable, func(e error) bool { return errors.Is(err, e) }) {
		return nil, err
	}
	dir, _ := a.dataDir() // or store had failed on it
	db, failed := sqlite.OpenReadOnly(ctx, filepath.Join(dir, "adroit.db"))
	if failed != nil {
		return nil, err
	}
	a.note("jobs can be read and not changed: %v", errors.Unwrap(err))
	a.db, a.stuck = db, err
	return db, nil
}

// tools are the program's tools as they are configured, checked.
func (a *app) tools() (*tools.Set, error) {
	if a.set != nil {
		return a.set, nil
	}
	list := a.Tools // whoever needs the configuration reports what is wrong with it
	if c, err := a.config(); err == nil {
		list = c.Tools(a.program())
	}
	set, err := tools.NewSet(list...)
	if err != nil {
		return nil, exit.Fail(fmt.Errorf("this program's tools: %w", err), "this is a defect of the program; run adroit tools lint for details")
	}
	a.set = set
	return set, nil
}

// screen is where progress goes.
func (a *app) screen() *term.Screen { return term.NewScreen(a.Stderr, a.Getenv) }

// output is where results go.
func (a *app) output() *term.Screen { return term.NewScreen(a.Stdout, a.Getenv) }

// asks reports whether a person can be asked here.
func (a *app) asks() bool {
	in, ok := a.Stdin.(*os.File)
	return ok && term.IsTerminal(in) && a.screen().IsTerminal()
}

// json writes v for scripts.
func (a *app) json(v any) error { return render.JSON(a.Stdout, v) }

// config is the configuration, read when a command first needs it.
func (a *app) config() (*config.Config, error) {
	if a.conf != nil {
		return a.conf, nil
	}
	c, err := config.Load(config.Env{Getenv: a.Getenv, ReadFile: os.ReadFile}, config.Flags{DataDir: a.flags.dataDir})
	if err == nil {
		a.conf = c
	}
	return c, err
}

func (a *app) configPath() string { return config.Path(a.Getenv) }

func (a *app) configDir() string { return config.Dir(a.Getenv) }

// home shortens a path for people.
func (a *app) home(path string) string { return a.env().Home(path) }

// env is what commands in folders of their own are given.
func (a *app) env() *env.Env {
	return &env.Env{
		In: a.Stdin, Out: a.Stdout, Err: a.Stderr, Getenv: a.Getenv, Now: a.now, Config: a.config, Tools: a.tools, Own: a.Tools,
		Client: a.client, Warn: a.note, Interactive: a.asks, Attendant: &a.asked, Temporary: a.temporary,
	}
}

// temporary is the environment of the same program with another directory for
// its state, which is thrown away.
func (a *app) temporary(dataDir string) (e *env.Env, close func() error) {
	own := &app{Program: a.Program, out: a.out, now: a.now}
	own.flags.dataDir = dataDir
	e = own.env()
	e.Ephemeral = true
	return e, own.close
}

// note prints a message once.
func (a *app) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(a.noted, text) {
		return
	}
	a.noted = append(a.noted, text)
	fmt.Fprintf(a.Stderr, "adroit: note: %s\n", render.Sanitize(text))
}
