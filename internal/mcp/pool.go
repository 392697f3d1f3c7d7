package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Options configure how servers are started and reached.
type Options struct {
	Servers map[string]Server // the operator's, checked
	// Projects are the grants of servers of projects, by directory and name of the server.
	Projects map[string]map[string]ProjectGrant
	Dir      string // keeps what is remembered of them
	Sandbox  process.SandboxOptions
	Network  netguard.Guard
	Names    *workspace.DenyList
	Secrets  *secret.Redactor
	Keys     rootfs.File         // has what logins give
	Getenv   func(string) string // nil: os.Getenv
	Version  string              // of this program
	Warn     func(text string)   // may be nil
}

// A Pool has the servers of a process. It starts one when a call first needs it;
// the jobs of the process share it. It is safe for concurrent use.
type Pool struct {
	o Options

	mu     sync.Mutex
	slots  map[string]*slot
	closed bool
	warned map[string]bool

	waiting map[string]*openCall  // for the user, by id
	records map[string]keptRecord // by file

	// Set by a login: how to authorize requests, and how long that may take.
	login    func(name string, s Server, client *http.Client) (auth.OAuthHandler, error)
	patience time.Duration
}

var _ turn.Servers = (*Pool)(nil)

// A slot is a server that was started at some time, and may be gone.
type slot struct {
	name string
	s    Server
	dir  string // of a server that has to do with the workspace
	// denied are the paths that a server which may write the workspace must not change.
	denied []process.Denied

	mu      sync.Mutex // one start at a time; guards what follows
	live    *session
	pin     pin               // of the files that live was started from
	tools   map[string]string // digests by name, as last listed
	used    bool
	stopped bool
}

// New returns the servers of a process. Nothing is started.
func New(o Options) *Pool {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Pool{o: o, slots: map[string]*slot{}, warned: map[string]bool{}, waiting: map[string]*openCall{}, records: map[string]keptRecord{}}
}

// warn reports something once.
func (p *Pool) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	again := p.warned[text]
	p.warned[text] = true
	p.mu.Unlock()
	if !again && p.o.Warn != nil {
		p.o.Warn(text)
	}
}

// entries returns the servers of a scope: the operator's, and those of the project whose names the
// operator does not use.
func (p *Pool) entries(in turn.Scope) (map[string]Server, error) {
	all := maps.Clone(p.o.Servers)
	if all == nil {
		all = map[string]Server{}
	}
	return all, errors.Join(p.others(all, "the job", sourceClient, in), p.others(all, turn.ProjectFile, sourceProject, in))
}

// others adds the servers of a file that is not the operator's, as far as their
// names are free.
func (p *Pool) others(all map[string]Server, from string, source source, in turn.Scope) error {
	file := in.Client
	if source == sourceProject {
		file = in.Project
	}
	if file == nil {
		return nil
	}
	own, problems, err := ParseFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	for _, problem := range problems {
		p.warn("%s: %v", from, problem)
	}
	for _, other := range slices.Sorted(maps.Keys(own)) {
		name, s := Name(other), own[other]
		if has, taken := all[name]; taken && source == sourceClient && has.source == sourceUser {
			has.wanted = true // as the operator has it
			all[name] = has
			continue
		} else if taken || CheckName(name) != nil {
			p.warn("%s: the server %s is not used: the name is taken, or none", from, line(other))
			continue
		}
		// They do not decide how far they reach.
		s.source, s.Agents, s.Sandbox, s.Read, s.Write = source, nil, "", nil, nil
		if source == sourceProject {
			s = p.granted(from, name, s, in)
		}
		all[name] = s
	}
	return nil
}

// granted returns a project's server with the operator's grants in place of those that its file
// asks for.
func (p *Pool) granted(from, name string, s Server, in turn.Scope) Server {
	asked := s.Grants
	g := p.o.Projects[rootfs.Closest(slices.Collect(maps.Keys(p.o.Projects)), cmp.Or(in.Origin, in.Dir))][name]
	s.Net, s.Workspace, s.variables = g.Net, g.Workspace, g.Variables
	if asked.Net && !s.Net || asked.Workspace != "" && asked.Workspace != s.Workspace {
		p.warn("%s: the server %s does not get the net and workspace that it asks for: mcp_projects in the configuration grants them", from, name)
	}
	return s
}

var errDisabled = errors.New("is disabled by its entry")

// entry finds a server by name.
func (p *Pool) entry(in turn.Scope, name string) (Server, error) {
	all, err := p.entries(in)
	s, ok := all[name]
	s.level = cmp.Or(in.Sandbox, string(p.o.Sandbox.Level))
	switch {
	case ok && s.Disabled:
		return s, problem.WithHint(fmt.Errorf("the MCP server %s %w", name, errDisabled), "take disabled: true out of its entry")
	case ok:
		return s, nil
	case err != nil:
		return s, err
	}
	help := hint.Command("mcp list") + " lists the servers, " + hint.Command("mcp add") + " adds one"
	if near := spelling.Nearest(name, slices.Collect(maps.Keys(all))); near != "" {
		help = fmt.Sprintf("did you mean %s?", near)
	}
	return s, problem.Invalidf(help, "there is no MCP server %q", name)
}

// slot returns the place of a server in this process: one for all jobs, or one for each workspace
// that it has to do with, and there one for calls under the same rules about paths, if it may write.
func (p *Pool) slot(ctx context.Context, in turn.Scope, name string, s Server) *slot {
	dir := ""
	uses := func(text string) bool { return strings.Contains(text, "${workspace}") }
	if s.Workspace != "" || slices.ContainsFunc(s.Args, uses) || slices.ContainsFunc(s.Command, uses) || slices.ContainsFunc(slices.Collect(maps.Values(s.Env)), uses) {
		dir = in.Dir
	}
	key := name + "\x00" + s.digest() + "\x00" + dir + "\x00" + string(s.source) + "\x00" + s.level + strconv.FormatBool(s.listing)
	var denied []process.Denied
	if s.Workspace == "write" && !s.listing {
		denied = process.DeniedOf(ctx)
		key += fmt.Sprintf("%#v", denied)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots[key] == nil {
		p.slots[key] = &slot{name: name, s: s, dir: dir, denied: denied, stopped: p.closed}
	}
	return p.slots[key]
}

// reading returns the slot for a request that is not recorded. A server that may write the workspace
// is started without that grant for it, if it does not run already.
func (p *Pool) reading(ctx context.Context, in turn.Scope, name string, s Server) *slot {
	l := p.slot(ctx, in, name, s)
	if s.Workspace != "write" {
		return l
	}
	l.mu.Lock()
	runs := l.live != nil && l.live.alive()
	l.mu.Unlock()
	if runs && !in.Plan {
		return l
	}
	s.listing = true
	return p.slot(ctx, in, name, s)
}

// session returns the connection of a slot, and makes it if there is none. Whenever the server is
// started, its descriptions of tools are compared with the accepted ones, and before that the
// files that it starts; accepted is a person's answer about those, see [Pool.pinned].
func (p *Pool) session(ctx context.Context, l *slot, accepted string) (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return nil, errors.New("the program is ending")
	case l.live != nil && l.live.alive():
		return l.live, nil
	case l.live != nil:
		l.live.end()
		l.live = nil
	}
	r, err := p.record(l.name, l.s)
	if err != nil {
		return nil, err
	}
	if err := p.pinned(l, r, accepted); err != nil {
		return nil, err
	}
	c, err := p.dial(process.WithDenied(ctx, l.denied), l.name, l.s, l.dir, r.manner)
	if err != nil {
		return nil, err
	}
	l.live = c
	if _, err := p.relist(ctx, l, false); err != nil {
		c.end()
		l.live = nil
		return nil, err
	}
	return c, nil
}

// relist reads the tools of a live server and records them. The slot is locked.
func (p *Pool) relist(ctx context.Context, l *slot, accept bool) (*record, error) {
	now, err := l.live.list(ctx, l.s)
	if err != nil {
		return nil, err
	}
	l.tools = map[string]string{}
	for _, d := range now.tools {
		l.tools[d.Name] = d.Digest
	}
	r, err := p.record(l.name, l.s)
	if err != nil {
		return nil, err
	}
	r.update(now, accept)
	if l.s.URL == "" && len(r.Pins) == 0 {
		r.Pins = []pin{l.pin} // nothing: a file that is found later is a change
	}
	info := l.live.cs.InitializeResult()
	if r.manner, r.Protocol, r.Seen = l.live.manner, info.ProtocolVersion, time.Now().UTC().Truncate(time.Second); info.ServerInfo != nil {
		r.Version = line(strings.TrimSpace(info.ServerInfo.Name + " " + info.ServerInfo.Version))
	}
	return r, r.save(p.o.Dir, l.s)
}

// Tools implements [turn.Servers]. A server that was used before is not
// started for it.
func (p *Pool) Tools(ctx context.Context, in turn.Scope, names []string) ([]turn.Tool, error) {
	type found struct {
		definition
		s Server
	}
	all := map[toolID]found{}
	var ids []toolID
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		s, err := p.entry(in, name)
		if errors.Is(err, errDisabled) {
			p.warn("%v: the tools of it are not offered", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		r, err := p.known(ctx, in, name, s)
		if err != nil {
			return nil, err
		}
		for _, d := range r.offered() {
			id := toolID{name, d.Name}
			ids, all[id] = append(ids, id), found{d, s}
		}
		if in.Tool != "" {
			p.warnOf(name, in.Tool, r)
			continue
		}
		if n := len(r.Pending); n > 0 {
			p.warn("the MCP server %s has tools that are changed or new (%d), and not offered: %s shows them, --accept accepts them", name, n, hint.Command("mcp check %s", name))
		}
		if n := len(r.Unusable); n > 0 {
			p.warn("%s of the MCP server %s cannot be used, and %s lists them: %s", spelling.Plural(n, "tool"), name, hint.Command("mcp check %s", name), line(strings.Join(r.reasons(), "; ")))
		}
		for _, d := range r.offered() {
			if words := d.unchecked(); words != "" {
				p.warn("the tool %s of the MCP server %s: %s", line(d.Name), name, line(words))
			}
		}
		if r.More > 0 {
			p.warn("%d tools of the MCP server %s are not offered: it has more than %d; its entry can choose by tools: [NAME…]", r.More, name, maxTools)
		}
	}
	given := toolNames(ids)
	var out []turn.Tool
	for _, id := range ids {
		if name := given[id]; name != "" {
			out = append(out, all[id].tool(name, id.server, all[id].s))
		}
	}
	return out, nil
}

// warnOf warns about the only requested tool.
func (p *Pool) warnOf(server, tool string, r *record) {
	for _, d := range r.Tools {
		if words := d.unchecked(); words != "" && d.Name == tool {
			p.warn("the tool %s of the MCP server %s: %s", line(tool), server, line(words))
		}
	}
	if slices.ContainsFunc(r.Pending, func(d definition) bool { return d.Name == tool }) {
		p.warn("the tool %s of the MCP server %s has changed or is new, and is not offered: %s shows it, --accept accepts it", line(tool), server, hint.Command("mcp check %s", server))
	}
	for _, u := range r.Unusable {
		if u.Tool == tool {
			p.warn("a tool of the MCP server %s cannot be used: %s", server, line(u.Why))
		}
	}
}

// known returns the record of a server, which is started if there is none.
func (p *Pool) known(ctx context.Context, in turn.Scope, name string, s Server) (*record, error) {
	r, err := p.record(name, s)
	if err != nil || !r.Seen.IsZero() {
		return r, err
	}
	s.listing = s.Workspace == "write" // only a call's changes are recorded, and kept to its rules
	l := p.slot(ctx, in, name, s)
	if _, err := p.session(ctx, l, ""); err != nil {
		return nil, problem.WithHint(err, cmp.Or(problem.Hint(err), hint.Command("mcp check %s", name)+" starts it alone"))
	}
	if s.listing {
		p.restart(l) // the next call starts it as it is granted
	}
	return p.record(name, s)
}

// For implements [turn.Servers].
func (p *Pool) For(agent string) []string {
	var names []string
	for name, s := range p.o.Servers {
		if !s.Disabled && slices.ContainsFunc(s.Agents, func(pattern string) bool { ok, _ := path.Match(pattern, agent); return ok }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Close implements [turn.Servers]: it ends all servers and waits for them.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	slots, waiting := slices.Collect(maps.Values(p.slots)), slices.Collect(maps.Values(p.waiting))
	clear(p.waiting)
	p.mu.Unlock()
	var wait sync.WaitGroup
	for _, o := range waiting {
		wait.Go(func() { p.cancelled(o) })
	}
	wait.Wait()
	for _, l := range slots {
		wait.Go(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.stopped = true
			if l.live != nil {
				l.live.end()
				l.live = nil
			}
		})
	}
	wait.Wait()
	return nil
}
