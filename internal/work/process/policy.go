package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"golang.org/x/sys/unix"
)

// policy returns the policy of one command in dir, and the state to check after it has ended.
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
	found, err := protect(scans, c.beside, cmp.Or(c.outer.top, root), c.baselines(), level == sandbox.Landlock)
	if err != nil {
		return nil, nil, err
	}
	c.keepStores(found)
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

// baselines returns the directory in which the commands of all processes record their baselines.
func (c *runnerSandbox) baselines() string {
	return filepath.Join(cmp.Or(c.Cache, c.base.Private), "baselines")
}

// caches returns the build caches of one command. alone leaves out the user's: it is for
// long-lived commands, since the kernel remembers the first view of a lower layer that others
// write to, and go would then miss files in it.
func (c *runnerSandbox) caches(level sandbox.Level, p *sandbox.Policy, alone bool) ([]sandbox.Overlay, *slot, error) {
	if level != sandbox.Full {
		dir := filepath.Join(p.Private, "go-build")
		if c.Cache != "" {
			dir = filepath.Join(c.Cache, cacheName(p.Write[0]))
		}
		return []sandbox.Overlay{{Lower: dir, Upper: dir, Alone: true}}, nil, nil
	}
	lower := userCache()
	if rootfs.Within(p.Write[0], lower) {
		lower = ""
	}
	if lower != "" && !alone {
		s, err := takeSlot(filepath.Join(p.Private, "caches"))
		if err != nil {
			return nil, nil, fmt.Errorf("preparing the build cache: %w", err)
		}
		if s != nil {
			return []sandbox.Overlay{{Lower: lower, Upper: s.upper()}}, s, nil
		}
	}
	// Go itself keeps its commands from harming each other in one directory.
	dir := filepath.Join(p.Private, "go-build")
	return []sandbox.Overlay{{Lower: cmp.Or(lower, dir), Upper: dir, Alone: true}}, nil, nil
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
		c.scans[dir].repo = dir == c.outer.git
	}
	if top := c.outer.top; top != "" && c.beside == nil {
		t, err := rootfs.Open(top)
		if err != nil {
			return nil, err
		}
		c.beside = newScan(t, names)
		c.beside.except, _ = rootfs.Joined(top, ".", c.base.Write[0])
	}
	var out []*scan
	for i, dir := range c.base.Write {
		if s := c.scans[dir]; s != nil && !slices.Contains(c.base.Write[:i], dir) {
			out = append(out, s)
		}
	}
	return out, nil
}

// apply adds the findings to the policy of a command.
func (p *protection) apply(to *sandbox.Policy) {
	to.Mask, to.Fix, to.Pin, to.Expect = slices.Clone(to.Mask), slices.Clone(to.Fix), nil, map[string]rootfs.ID{}
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

// build makes the part of the policy that is the same for all commands.
func (c *runnerSandbox) build(level sandbox.Level, root string) (*sandbox.Policy, error) {
	private, err := c.privateDir()
	if err != nil {
		return nil, err
	}
	p := &sandbox.Policy{Write: []string{root}, Private: private, NetOpen: c.NetOpen, Limits: c.Limits}
	for _, w := range c.Write {
		w = realPath(w)
		if w == "" {
			return nil, errors.New("a directory that commands may change is not there")
		}
		p.Write = append(p.Write, w)
	}
	p.Write = c.see(root, p.Write)
	c.cover(p, root)
	if u := userCache(); u != "" && slices.ContainsFunc(p.Write, func(w string) bool { return rootfs.Within(w, u) }) {
		p.Fix = append(p.Fix, u)
	}
	if level != sandbox.Full && c.Cache != "" {
		tidyCaches(c.Cache, cacheName(root), time.Now())
	}
	if err := commitSettings(filepath.Join(private, "home"), root); err != nil {
		return nil, err
	}
	return p, nil
}

// see adds the repository outside of the workspace to the paths that commands see. For a work tree
// that we made, the parts that it may change are there already.
func (c *runnerSandbox) see(root string, write []string) []string {
	c.outer = outerRepoOf(root)
	if c.outer.top != "" {
		c.Show = append(slices.Clip(c.Show), c.outer.top)
	}
	if c.outer.git == "" || slices.ContainsFunc(write, func(w string) bool { return rootfs.Within(c.outer.git, w) }) {
		c.outer.git = ""
		return write
	}
	return append(write, c.outer.git)
}

// privateDir makes the directory of the commands' own files.
func (c *runnerSandbox) privateDir() (string, error) {
	dir := c.Private
	if dir == "" {
		made, err := os.MkdirTemp("", "adroit-sandbox-")
		if err != nil {
			return "", err
		}
		c.scratch, dir = made, made
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir = realPath(dir); dir == "" {
		return "", fmt.Errorf("%s cannot be found", c.Private)
	}
	if c.removed.dir = c.Removed; c.removed.dir == "" && c.scratch == "" {
		c.removed.dir = filepath.Join(dir, "removed")
	}
	return dir, nil
}

// cover hides the homes of the user and other paths that commands must not read, and shows the
// toolchains in them.
func (c *runnerSandbox) cover(p *sandbox.Policy, root string) {
	// A workspace that is the home, or around it, is the operator's choice.
	if home := realPath(os.Getenv("HOME")); home != "" && home != "/" && !rootfs.Within(root, home) {
		p.Home = home
	}
	for _, h := range c.Hide {
		if h = realPath(h); h != "" && h != "/" && h != root {
			p.Hide = append(p.Hide, h)
		}
	}
	// HOME may be another, as after sudo or in a build: secrets in the account's own home are
	// hidden all the same.
	own := ""
	if u, err := user.Current(); err == nil {
		own = realPath(u.HomeDir)
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
}

// environ returns the environment of a command; env is its environment without a sandbox.
func (c *runnerSandbox) environ(level sandbox.Level, p *sandbox.Policy, env []string) []string {
	out := p.Environ(level, env)
	if c.outer.top != "" { // the workspace is a mount of its own
		out = append(out, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1")
	}
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
	// HOME moved: directories that are found by it stay where they were.
	for name, sub := range map[string]string{"GOPATH": "go", "CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "NVM_DIR": ".nvm", "PYENV_ROOT": ".pyenv"} {
		given := slices.ContainsFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if d := filepath.Join(home, sub); !given && rootfs.Exists(d) {
			out = append(out, name+"="+d)
		}
	}
	slices.Sort(out)
	return out
}

// Hides reports whether a file that exists cannot be seen by the command, since it lies
// in a home directory, in a directory for temporary files or where secrets are.
func (p *Process) Hides(path string) bool {
	real := realPath(path)
	if p.policy == nil || p.level == sandbox.Off || real == "" {
		return false
	}
	in := func(dirs ...string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return d != "" && rootfs.Within(d, real) })
	}
	if in(p.policy.Mask...) {
		return true
	}
	covered := append([]string{"/tmp", "/var/tmp", "/run", p.policy.Home}, p.policy.Hide...)
	return in(covered...) && !in(p.policy.Show...) && !in(p.policy.Write...)
}

// toolchains lists the places below home in which programs and their sources usually lie. Places
// that also contain credentials are included only in part.
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

// commitKeys are the settings of git that commands get from the user's: who commits, and what
// becomes of a file's content on its way into a commit and out of it.
var commitKeys = map[string]string{"user": " name email ", "core": " autocrlf eol ", "filter": " clean smudge process required "}

// gitSettings returns the settings that git reads in root, with what they include there; none where it fails, which it
// reports itself when it works.
func gitSettings(root string) []rootfs.GitSetting {
	var list bytes.Buffer
	env := append(rootfs.UserConfig(), "GIT_CONFIG_NOSYSTEM=0")
	_ = rootfs.RunGit(context.Background(), root, env, nil, &list, "config", "--list", "--show-scope", "--includes", "-z")
	return rootfs.ListedSettings(list.String())
}

// commitFiles returns those of the user's git settings, for commands in root, that commits need, with the
// files that they name, by the names in a home. Nothing else is given, which may hold tokens.
// A filter whose program the sandbox hides would let a file through as it is, so that each is required,
// whosever it is, and has both ways.
func commitFiles(root string) map[string]string {
	var out strings.Builder
	filters, files := map[string]string{}, map[string]string{".gitattributes": "attributes", ".gitignore": "ignore"}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	head := func(section, name string) {
		if name != "" {
			section += ` "` + escape.Replace(name) + `"`
		}
		fmt.Fprintf(&out, "[%s]\n", section)
	}
	for _, s := range gitSettings(root) {
		if s.Section == "filter" && s.Value != "" {
			filters[s.Name] += " " + s.Key
		}
		switch {
		case s.Scope != "global":
		case s.Section == "core" && s.Key == "attributesfile":
			files[".gitattributes"] = s.Value
		case s.Section == "core" && s.Key == "excludesfile":
			files[".gitignore"] = s.Value
		case strings.Contains(commitKeys[s.Section], " "+s.Key+" "):
			head(s.Section, s.Name)
			fmt.Fprintf(&out, "\t%s = \"%s\"\n", s.Key, escape.Replace(s.Value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		head("filter", name)
		out.WriteString("\trequired = true\n")
		for _, way := range []string{"clean", "smudge"} {
			if !strings.Contains(filters[name], " process") && !strings.Contains(filters[name], " "+way) {
				fmt.Fprintf(&out, "\t%s = cat\n", way)
			}
		}
	}
	found := map[string]string{}
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(os.Getenv("HOME"), ".config"))
	for name, file := range files {
		if below, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(os.Getenv("HOME"), below)
		} else if !filepath.IsAbs(file) {
			file = filepath.Join(config, "git", file)
		}
		if b, err := readSmall(realPath(file)); err == nil {
			found[name] = string(b)
		}
	}
	if _, ok := found[".gitattributes"]; ok {
		out.WriteString("[core]\n\tattributesFile = ~/.gitattributes\n")
	}
	if _, ok := found[".gitignore"]; ok {
		out.WriteString("[core]\n\texcludesFile = ~/.gitignore\n")
	}
	if out.Len() > 0 {
		found[".gitconfig"] = out.String()
	}
	return found
}

// commitSettings writes [commitFiles] into the home of commands.
func commitSettings(home, root string) error {
	files := commitFiles(root)
	if len(files) == 0 {
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
	for name, content := range files {
		if err := errors.Join(rootfs.RemoveAt(dir, name), rootfs.CreateAt(dir, name, strings.NewReader(content), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// resolver returns the file by which names are looked up, if it is a link into /run, as it often
// is.
func resolver() []string {
	if f, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && rootfs.Within("/run", f) {
		return []string{f}
	}
	return nil
}
