package cliagent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
)

// Install says how the program is had.
func (a *Agent) Install() string {
	if a.kind.pkg != "" {
		return fmt.Sprintf("install it with: npm install -g %s; or name it under cli: %s: command: in the configuration", a.kind.pkg, a.Name)
	}
	return fmt.Sprintf("install it, or correct cli: %s: command: in the configuration", a.Name)
}

// Find gives the path of the program; the error says how to install it.
func (a *Agent) Find() (string, error) {
	path, err := hostexec.Find(a.Command[0])
	if err != nil {
		return "", a.unstarted(err)
	}
	return path, nil
}

// Version asks the program for its version, a line.
func (a *Agent) Version(ctx context.Context) (string, error) {
	if _, err := a.Find(); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "adroit-cli-")
	if err != nil {
		return "", fmt.Errorf("cli %s: %w", a.Name, err)
	}
	defer os.RemoveAll(dir)
	x := process.New(dir, "", nil)
	defer x.Close()
	var out strings.Builder
	res, err := x.Run(ctx, process.Cmd{Args: []string{a.Command[0], "--version"}, Env: a.environ(nil), Stdout: &out, Timeout: 20 * time.Second})
	if err != nil {
		return "", err
	}
	if v := spelling.FirstLine(out.String()); v != "" && res.Code == 0 {
		return brief(v, 80), nil
	}
	return "", fmt.Errorf("%s --version ended with code %d", a.Command[0], res.Code)
}

// Driven says in a line how the program is driven and what holds it.
func (a *Agent) Driven() string { return a.kind.driven }
