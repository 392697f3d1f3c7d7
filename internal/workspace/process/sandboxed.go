package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/overlay"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

// A SandboxOptions says how the commands of a Runner are confined. What a command may
// change is the workspace, Write, a /tmp and home of its own, and nothing else.
// See [sandbox] for the levels.
//
// The names that the file tools refuse cannot be read in the workspace either,
// and the files that make git, agents and editors run something (.git/hooks,
// .git/config, .claude, .vscode and the like) cannot be changed. Those that do
// not exist are looked for when the command has ended: what it made of them is
// put aside, and Output.Note says so. While it runs they are there.
type SandboxOptions struct {
	Level   sandbox.Level // Auto if empty
	Private string        // keeps /tmp, home and build caches of the commands; empty: a temporary directory
	Removed string        // keeps what commands must not leave in the workspace; empty: a directory of Private, or a temporary one that stays
	Cache   string        // build caches of workspaces, where Private's cannot have the user's below them
	Write   []string      // besides the workspace
	Show    []string      // read-only, although in the user's home
	Hide    []string      // seen as empty: adroit's own directories
	NetOpen bool          // the network of this machine
	Limits  sandbox.Limits
}

// An Option changes how a Runner runs commands.
type Option func(*Runner)

// WithSandbox puts every command of a Runner into the sandbox. If the level cannot
// be had, every command is refused. Without this option there is no sandbox.
func WithSandbox(c SandboxOptions) Option {
	return func(r *Runner) {
		r.sandbox = &runnerSandbox{SandboxOptions: c, scans: map[string]*scan{}, mentioned: map[string]bool{}}
	}
}

// A runnerSandbox is the sandbox of one Runner. It is safe for concurrent use.
type runnerSandbox struct {
	SandboxOptions

	mu        sync.Mutex
	report    *sandbox.Report
	base      *sandbox.Policy
	scratch   string           // to be removed in the end
	removed   removed          // what commands must not leave
	scans     map[string]*scan // by tree
	mentioned map[string]bool  // hidden files that a note has named
	sized     time.Time        // when the size of a build cache was looked at
	sizing    time.Duration    // what that cost

	overlays overlay.Support
}

// level is the one in force, found out at the first call.
func (c *runnerSandbox) level() (sandbox.Level, error) {
	if c == nil {
		return sandbox.Off, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report == nil {
		r := sandbox.Choose(cmp.Or(c.Level, sandbox.Auto))
		c.report = &r
	}
	return c.report.Level, c.report.Err()
}

// Sandbox is the level in force for commands, "refused" if none runs.
func (r *Runner) Sandbox() string {
	level, err := r.sandbox.level()
	switch {
	case err != nil:
		return "refused"
	case level != sandbox.Off && r.sandbox.NetOpen:
		return string(level) + ", network open"
	}
	return string(level)
}

// policy is that of one command in dir, and what to look at when it has ended.
func (c *runnerSandbox) policy(level sandbox.Level, root, dir string, names *rootfs.DenyList, lasts bool) (*sandbox.Policy, *commandSandbox, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base == nil {
		p, err := c.build(level, root)
		if err != nil {
			return nil, nil, fmt.Errorf("preparing the sandbox: %w", err)
		}
		c.base = p
	}
	scans, err := c.look(names)
	if err != nil {
		return nil, nil, err
	}
	found, err := protect(scans, level == sandbox.Landlock)
	if err != nil {
		return nil, nil, err
	}
	st := &commandSandbox{protection: found}
	p := *c.base
	p.Dir = dir
	found.apply(&p)
	if level != sandbox.Landlock {
		for _, f := range found.secret {
			st.hidden = append(st.hidden, f.rel)
		}
	}
	if p.Caches, st.slot, err = c.caches(level, c.base, lasts); err != nil {
		found.Close()
		return nil, nil, err
	}
	return &p, st, nil
}

// look returns the scans of the trees that commands may change, not up to date.
func (c *runnerSandbox) look(names *rootfs.DenyList) ([]*scan, error) {
	for i, dir := range c.base.Write {
		if slices.Contains(c.base.Write[:i], dir) || c.scans[dir] != nil {
			continue
		}
		t, err := rootfs.Open(dir)
		if errors.Is(err, syscall.ENOTDIR) {
			continue // a file
		}
		if err != nil {
			return nil, err
		}
		c.scans[dir] = newScan(t, names)
	}
	var out []*scan
	for i, dir := range c.base.Write {
		if s := c.scans[dir]; s != nil && !slices.Contains(c.base.Write[:i], dir) {
			out = append(out, s)
		}
	}
	return out, nil
}

// apply adds what was found to the policy of a command.
func (p *protection) apply(to *sandbox.Policy) {
	to.Mask, to.Fix, to.Pin, to.Expect = slices.Clone(to.Mask), slices.Clone(to.Fix), nil, map[string]sandbox.ID{}
	for _, s := range p.scans {
		var st unix.Stat_t
		if err := unix.Fstat(s.tree.FD(), &st); err == nil {
			to.Expect[s.tree.Dir] = rootfs.FileID(&st)
		}
	}
	add := func(list *[]string, all []found) {
		for _, f := range all {
			if _, twice := to.Expect[f.rel]; !twice || !slices.Contains(*list, f.rel) {
				*list = append(*list, f.rel)
				to.Expect[f.rel] = f.id
			}
		}
	}
	// What is hidden is covered already, with the command's own below it.
	add(&to.Mask, slices.DeleteFunc(slices.Clone(p.secret), func(f found) bool {
		return slices.ContainsFunc(to.Hide, func(h string) bool { return rootfs.Within(h, f.rel) })
	}))
	add(&to.Fix, p.fixed)
	add(&to.Pin, p.pinned)
}

// A commandSandbox is what one command has of the cell, to be settled when it has ended.
type commandSandbox struct {
	protection *protection
	slot       *slot
	hidden     []string // in the workspace, where the level hides it
}

// build makes the part of the policy that is the same for all commands.
func (c *runnerSandbox) build(level sandbox.Level, root string) (*sandbox.Policy, error) {
	real := func(path string) string {
		if p, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(p) {
			return p
		}
		return ""
	}
	private := c.Private
	if private == "" {
		dir, err := os.MkdirTemp("", "adroit-sandbox-")
		if err != nil {
			return nil, err
		}
		c.scratch, private = dir, dir
	}
	if err := os.MkdirAll(private, 0o700); err != nil {
		return nil, err
	}
	if private = real(private); private == "" {
		return nil, fmt.Errorf("%s cannot be found", c.Private)
	}
	if c.removed.dir = c.Removed; c.removed.dir == "" && c.scratch == "" {
		c.removed.dir = filepath.Join(private, "removed")
	}
	p := &sandbox.Policy{Write: []string{root}, Private: private, NetOpen: c.NetOpen, Limits: c.Limits}
	for _, w := range c.Write {
		w = real(w)
		if w == "" {
			return nil, errors.New("a directory that commands may change is not there")
		}
		p.Write = append(p.Write, w)
	}
	// A workspace that is the home, or around it, is what the operator chose.
	if home := real(os.Getenv("HOME")); home != "" && home != "/" && !rootfs.Within(root, home) {
		p.Home = home
	}
	for _, h := range c.Hide {
		if h = real(h); h != "" && h != "/" && h != root {
			p.Hide = append(p.Hide, h)
		}
	}
	// HOME may be another, as after sudo or in a build: what the account itself
	// keeps is a secret all the same.
	own := ""
	if u, err := user.Current(); err == nil {
		own = real(u.HomeDir)
	}
	if own == "/" || own == p.Home || rootfs.Within(root, own) {
		own = ""
	}
	if own != "" && !slices.Contains(p.Hide, own) {
		p.Hide = append(p.Hide, own)
	}
	covered := slices.Concat([]string{"/tmp", "/var/tmp", "/run"}, p.Hide)
	if p.Home != "" {
		covered = append(covered, p.Home)
	}
	for _, s := range slices.Concat(toolchains(os.Getenv, p.Home), toolchains(os.Getenv, own), c.Show) {
		s = filepath.Clean(s)
		hidden := slices.ContainsFunc(covered, func(h string) bool { return s != h && rootfs.Within(h, s) })
		ours := slices.ContainsFunc(p.Write, func(w string) bool { return rootfs.Within(w, s) })
		if hidden && !ours && !slices.Contains(p.Show, s) {
			p.Show = append(p.Show, s)
		}
	}
	if p.NetOpen {
		p.Show = append(p.Show, resolver()...)
	}
	for _, name := range []string{"credentials", "credentials.toml"} {
		for _, d := range []string{os.Getenv("CARGO_HOME"), filepath.Join(p.Home, ".cargo")} {
			if f := filepath.Join(d, name); filepath.IsAbs(f) && rootfs.Exists(f) {
				p.Mask = append(p.Mask, f)
			}
		}
	}
	if u := userCache(); u != "" && slices.ContainsFunc(p.Write, func(w string) bool { return rootfs.Within(w, u) }) {
		p.Fix = append(p.Fix, u)
	}
	if level != sandbox.Full && c.Cache != "" {
		tidyCaches(c.Cache, cacheName(root), time.Now())
	}
	if err := identity(filepath.Join(private, "home")); err != nil {
		return nil, err
	}
	return p, nil
}

// environ is what a command finds, given what it would find without a sandbox.
func (c *runnerSandbox) environ(level sandbox.Level, p *sandbox.Policy, env []string) []string {
	out := p.Environ(level, env)
	home := p.Home
	switch {
	case home == "":
		// The workspace is around it.
		if home = os.Getenv("HOME"); !filepath.IsAbs(home) || home == "/" {
			return out
		}
	case level == sandbox.Full || level == sandbox.Bubblewrap:
		return out
	}
	// HOME moved: what is found by it stays where it was.
	for name, sub := range map[string]string{"GOPATH": "go", "CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "NVM_DIR": ".nvm", "PYENV_ROOT": ".pyenv"} {
		given := slices.ContainsFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if d := filepath.Join(home, sub); !given && rootfs.Exists(d) {
			out = append(out, name+"="+d)
		}
	}
	slices.Sort(out)
	return out
}

// confine settles what a command may touch.
func (r *Runner) confine(p *Process, c Cmd) error {
	level, err := r.sandbox.level()
	if err != nil {
		return err
	}
	p.level, p.sandbox = level, r.Sandbox()
	if level == sandbox.Off {
		return nil
	}
	r.mu.Lock()
	t := r.tree
	r.mu.Unlock()
	if t == nil {
		return errors.New("no command can be started: the job is ending")
	}
	root := filepath.FromSlash(t.Dir)
	p.plan = func() error {
		if p.policy, p.confined, err = r.sandbox.policy(level, root, p.cmd.Dir, r.DenyList, c.Interactive); err != nil {
			return err
		}
		if c.Net && !p.policy.NetOpen {
			p.policy.NetOpen, p.sandbox = true, string(level)+", network open"
			p.policy.Show = append(slices.Clone(p.policy.Show), resolver()...)
		}
		if p.overlay != nil {
			p.policy.Collect = p.overlay.Path()
		}
		return nil
	}
	if err := p.plan(); err != nil {
		return err
	}
	if err := r.collect(p, root); err != nil {
		return err
	}
	if p.disks, err = disks(p.policy, r.sandbox.Limits.FreeMB); err != nil {
		return err
	}
	// What the caller set wins, also over where the sandbox puts things.
	p.cmd.Env = append(r.sandbox.environ(level, p.policy, p.cmd.Env), c.Env...)
	return nil
}

// collect gives a command an overlay for its changes, if it records them, is
// waited for, and can have one. A command in the background has none: it and the
// job's other tools have to see each other's changes at once. For the same reason
// no other command has one meanwhile.
func (r *Runner) collect(p *Process, root string) error {
	if p.snap == nil {
		return nil
	}
	if !p.awaited || r.background() || p.confined.protection.nested() {
		return nil
	}
	if usable(p.level, root, r.led.Dir, &r.sandbox.overlays) != "" || r.sandbox.overlays.Fits(root, p.policy.Write) != "" {
		return nil
	}
	var err error
	if p.overlay, err = overlay.New(p.snap.Ledger, p.snap); err != nil {
		return err
	}
	p.policy.Collect = p.overlay.Path()
	return nil
}

// background reports whether a recorded command runs that nobody waits for.
func (r *Runner) background() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.procs {
		if p.recorded && !p.awaited && p.running() {
			return true
		}
	}
	return false
}

// resolver is the file by which names are looked up, where it is a link into
// /run, as it often is.
func resolver() []string {
	if f, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && rootfs.Within("/run", f) {
		return []string{f}
	}
	return nil
}

// attempts is how often a command is started whose workspace changes meanwhile.
const attempts = 3

// launch starts the command, in its sandbox or not at all. If something else lies
// where the policy expects a file, the workspace is looked at again.
func (r *Runner) launch(p *Process) error {
	plain := *p.cmd
	for n := 1; ; n++ {
		cmd := plain
		cmd.SysProcAttr = rootfs.SessionAttr()
		p.cmd = &cmd
		st, err := sandbox.Wrap(p.cmd, p.level, p.policy)
		if err != nil {
			return err
		}
		if err = st.Started(p.cmd.Start()); err != nil && p.cmd.Process != nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait() // what went wrong has been said
		}
		if n == attempts || !errors.Is(err, sandbox.ErrChanged) {
			return err
		}
		r.sandbox.abandon(p.confined)
		p.confined = nil
		if err := p.plan(); err != nil {
			return err
		}
	}
}

// finish does what is left when the command has ended, and says what that was.
// unseen is whether some of its output went elsewhere.
func (c *runnerSandbox) finish(s *commandSandbox, o *Output, unseen bool) string {
	if s == nil {
		return ""
	}
	c.release(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	note := s.protection.check(&c.removed)
	s.protection = nil
	if o.Code != 0 {
		if h := c.covered(s, o.Text, unseen); h != "" && note != "" {
			note += "; " + h
		} else if h != "" {
			note = h
		}
	}
	return note
}

// mostNamed bounds how many hidden files a note names.
const mostNamed = 8

// mentions reports whether a text has a file's name in it, as more than a part of
// another word: process.env is not .env.
func mentions(text, name string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] == '-' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= 0x80)
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if !letter(i-1) && !letter(end) && !(end < len(text) && text[end] == '.' && letter(end+1)) {
			return true
		}
		from = i + 1
	}
}

// covered explains to who reads about a command that failed which files it could
// not read, if that may be why. Each is named once in a job.
func (c *runnerSandbox) covered(s *commandSandbox, text string, unseen bool) string {
	root := c.base.Write[0]
	var named, rest []string
	for _, f := range s.hidden {
		if c.mentioned[f] {
			continue
		}
		if mentions(text, filepath.Base(f)) {
			named = append(named, f)
		} else {
			rest = append(rest, f)
		}
	}
	lower := strings.ToLower(text)
	if len(named) == 0 && (unseen || strings.Contains(lower, "permission denied") || strings.Contains(lower, "eacces")) {
		named = rest
	}
	if len(named) == 0 {
		return ""
	}
	more := ""
	if n := len(named) - mostNamed; n > 0 {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	for i, f := range named {
		c.mentioned[f] = true
		if rel, err := filepath.Rel(root, f); err == nil && filepath.IsLocal(rel) {
			named[i] = filepath.ToSlash(rel)
		}
	}
	return "commands cannot read " + strings.Join(named, ", ") + more +
		", which by their names may be secrets: permission denied there is no fault of the code; the person who runs you can allow a name with secrets.allow in the configuration"
}

// abandon gives back what a command had that did not run.
func (c *runnerSandbox) abandon(s *commandSandbox) {
	if s == nil {
		return
	}
	s.protection.Close()
	c.release(s)
}

// release gives back the build cache of a command, whether it ran or not. Looking at the
// size of a cache is kept to a twentieth of the time.
func (c *runnerSandbox) release(s *commandSandbox) {
	if s == nil || s.slot == nil {
		return
	}
	began, limit := time.Now(), int64(0)
	c.mu.Lock()
	if began.Sub(c.sized) > 20*c.sizing {
		c.sized, limit = began, maxCache
	}
	c.mu.Unlock()
	s.slot.free(limit)
	s.slot = nil
	if limit > 0 {
		c.mu.Lock()
		c.sizing = time.Since(began)
		c.mu.Unlock()
	}
}

func (c *runnerSandbox) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for dir, s := range c.scans {
		err = errors.Join(err, s.tree.Close())
		delete(c.scans, dir)
	}
	if c.scratch != "" {
		err = errors.Join(err, rootfs.RemoveAll(c.scratch))
	}
	return err
}

// toolchains are the places below home in which programs and what they are
// built from usually lie. Those with credentials beside it are not among them
// whole.
func toolchains(getenv func(string) string, home string) []string {
	var out []string
	add := func(paths ...string) {
		for _, p := range paths {
			if filepath.IsAbs(p) && p != home && rootfs.Exists(p) {
				out = append(out, p)
				if r, err := filepath.EvalSymlinks(p); err == nil && r != p {
					out = append(out, r)
				}
			}
		}
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		add(dir)
		// npm's programs are links into the modules beside them.
		if up := filepath.Dir(dir); filepath.Base(up) == "node_modules" {
			add(up)
		} else {
			add(filepath.Join(up, "lib", "node_modules"))
		}
	}
	add(filepath.SplitList(getenv("GOPATH"))...)
	for _, name := range []string{"GOROOT", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "JAVA_HOME"} {
		add(getenv(name))
	}
	if home == "" {
		return out
	}
	for _, sub := range []string{"go", "sdk", ".cargo", ".rustup", ".pyenv", ".rbenv", ".nvm", ".asdf", ".volta", ".bun", ".deno", ".sdkman", "miniconda3", "anaconda3",
		".local/bin", ".local/lib", ".local/share/pnpm", ".local/share/fnm", ".local/share/mise", ".local/share/uv", ".local/pipx", ".local/share/pipx"} {
		add(filepath.Join(home, sub))
	}
	return out
}

// identity gives commands the name and address that the user commits under,
// and nothing else of the user's git settings, which may hold tokens.
func identity(home string) error {
	b, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"))
	if err != nil {
		return nil // none: git says itself what it lacks
	}
	var out strings.Builder
	in := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = strings.EqualFold(line, "[user]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if in && ok && (key == "name" || key == "email") {
			fmt.Fprintf(&out, "\t%s = %s\n", key, strings.TrimSpace(value))
		}
	}
	if out.Len() == 0 {
		return nil
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	// Commands of an earlier run of the job have written here: nothing is followed.
	dir, err := unix.Open(home, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := rootfs.RemoveAt(dir, ".gitconfig"); err != nil {
		return err
	}
	return rootfs.CreateAt(dir, ".gitconfig", strings.NewReader("[user]\n"+out.String()), 0o600)
}
