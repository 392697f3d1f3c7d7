package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/secret"
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
	rt    *adroit.Runtime // see runtime
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
	if a.rt == nil {
		return nil
	}
	err := a.rt.Close()
	a.rt = nil
	return err
}

// dataDir is where all state is, absolute.
func (a *app) dataDir() (string, error) { return a.env().DataDir() }

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
