package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// program starts a server in the sandbox.
func (p *Pool) program(ctx context.Context, c *session, s Server, dir string) (sdk.Transport, error) {
	temp, err := os.MkdirTemp("", "adroit-mcp-")
	if err != nil {
		return nil, err
	}
	rootfs.OwnAgain()
	root, conf := filepath.Join(temp, "work"), p.sandbox(s, temp)
	command := process.Cmd{Args: slices.Concat(s.Command, s.Args), Interactive: true, Net: s.Net}
	switch {
	case s.listing:
		conf.Show = append(conf.Show, dir)
		command.Shell, command.Args = `cd "$0" && exec "$@"`, append([]string{dir}, command.Args...)
	case s.Workspace == "write":
		root = dir
	case s.Workspace == "read":
		conf.Show = append(conf.Show, dir)
	}
	if err := os.MkdirAll(filepath.Join(temp, "work"), 0o700); err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	env, err := p.environment(c, s, &conf)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	c.hint += pathHint(slices.Concat(s.Command, s.Args), root, dir, s.listing)
	runner := process.New(root, "", nil, process.WithSandbox(conf))
	runner.Redactor, runner.DenyList = p.o.Secrets, p.o.Names
	in, pipe := io.Pipe()
	ended := make(chan struct{})
	command.Env, command.Stdout, command.StdoutEnded = env, pipe, func() { close(ended) }
	c.proc, err = runner.Start(context.WithoutCancel(ctx), command)
	if err != nil {
		return nil, errors.Join(err, runner.Close(), os.RemoveAll(temp))
	}
	for _, word := range slices.Concat(s.Command, s.Args) {
		if path := p.home(word); filepath.IsAbs(path) && c.proc.Hides(path) {
			how := hint.Command("mcp add %s --read PATH --replace", c.name) + " shows it this file, or its directory if that has no secrets"
			if s.project() {
				how = "a project's server is shown the workspace at most, by workspace: read under mcp_projects in the configuration"
			}
			c.hint += fmt.Sprintf("; the sandbox hides %s from it: %s", line(path), how)
			break
		}
	}
	c.out = newMessageReader(in, c.wire, func(first string) {
		p.warn("the MCP server %s writes on its standard output what is no message, and is passed over: %q", c.name, first)
	})
	c.out.framed.Store(c.manner.Framed)
	go func() { // ends with the process, which close ends
		select {
		case <-c.proc.Done():
		case <-ended:
			select {
			case <-c.proc.Done():
			case <-time.After(endWait):
				c.out.gone()
			}
		}
		_ = pipe.CloseWithError(io.EOF)
	}()
	c.close = func() {
		_ = in.CloseWithError(io.ErrClosedPipe) // what it still writes runs into the void
		c.proc.Kill()
		if note := c.proc.Output().Note; note != "" && (s.Workspace == "write" || len(s.Write) > 0) {
			p.warn("the MCP server %s has ended: %s", c.name, note)
		}
		if err := errors.Join(runner.Close(), os.RemoveAll(temp)); err != nil {
			p.warn("ending the MCP server %s: %v", c.name, err)
		}
	}
	return &sdk.IOTransport{Reader: c.out, Writer: &watchedWriter{c.proc.Stdin(), &c.out.framed, c.wire.sends, c.wrote}, MaxLineLength: -1}, nil
}

// pathHint returns advice where a word names a file that is not in the directory in which the
// program starts: in root, or in dir for a server that is only asked for its tools.
func pathHint(words []string, root, dir string, listing bool) string {
	if listing {
		root = dir
	}
	for _, word := range words {
		if filepath.IsAbs(word) || !strings.HasPrefix(word, "./") && !strings.HasPrefix(word, "../") && !slices.Contains(codeNames, filepath.Ext(word)) || strings.HasPrefix(word, "-") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, word)); err == nil {
			continue
		}
		if root == dir {
			return fmt.Sprintf("; there is no %s in %s, where it starts", line(word), line(dir))
		}
		return fmt.Sprintf("; it starts in an empty directory of its own, where there is no %s: ${workspace}/%[1]s in its entry names that of the workspace", line(filepath.Clean(word)))
	}
	return ""
}

// environment returns the variables that a server's program gets besides the common ones. Its
// downloads are kept for the next start, separate from those of other servers.
func (p *Pool) environment(c *session, s Server, conf *process.SandboxOptions) ([]string, error) {
	// Compiled files beside a Python source are not compared with the accepted files, and must not
	// be run: with a cache of its own, Python looks only there.
	compiled := filepath.Join(conf.Private, "python")
	var env []string
	if program := s.Fetches(); program != "" {
		if !s.Net && s.Sandbox != "off" {
			c.hint += fmt.Sprintf("; %s downloads what it runs, and this server has no network: net: true in its entry, or %s, grants it", program, hint.Command("mcp add %s --net --replace", c.name))
		}
		if base := caches(p.o.Getenv); base != "" {
			dir := cacheDir(base, c.name, s)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, err
			}
			conf.Write = append(conf.Write, dir)
			env, compiled = cached(dir), filepath.Join(dir, "python")
		}
		if !s.Net {
			env = append(env, "npm_config_fetch_retries=0") // each takes a minute
		}
	}
	if s.Net {
		for _, name := range certificates {
			if path := p.o.Getenv(name); filepath.IsAbs(path) {
				env = append(env, name+"="+path)
				conf.Show = append(conf.Show, path)
			}
		}
	}
	env = append(env, "PYTHONPYCACHEPREFIX="+compiled)
	own := []string{}
	for k, v := range s.Env {
		own = append(own, k+"="+v)
	}
	slices.Sort(own)
	return append(env, own...), nil
}

// sandbox returns the sandbox options of a server's program.
func (p *Pool) sandbox(s Server, temp string) process.SandboxOptions {
	conf := p.o.Sandbox
	conf.Private, conf.Removed = filepath.Join(temp, "private"), filepath.Join(p.o.Dir, "removed", filepath.Base(temp))
	conf.Write, conf.Show, conf.Hide = slices.Clone(conf.Write), slices.Clone(conf.Show), slices.Clone(conf.Hide)
	if s.level != "" {
		conf.Level = sandbox.Level(s.level)
	}
	if s.Sandbox == "off" {
		conf.Level = sandbox.Off
	}
	for _, path := range s.Write {
		conf.Write = append(conf.Write, p.home(path))
	}
	for _, path := range s.Read {
		conf.Show = append(conf.Show, p.home(path))
	}
	return conf
}

// home expands a leading ~/.
func (p *Pool) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.o.Getenv("HOME"), rest)
	}
	return path
}
