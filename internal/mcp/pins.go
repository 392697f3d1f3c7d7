package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
)

// A pin is the content of the files that an entry starts, as a person has accepted them:
// when the server was first started, or when they were asked since.
type pin struct {
	Digest string    `json:"digest"`
	Files  []pinFile `json:"files"`
}

// A pinFile is a pinned file. Text is the content of a short one, to show later differences.
type pinFile struct {
	Name string `json:"name"` // with ${workspace} for the directory of the job
	Hash string `json:"sha256"`
	Text string `json:"text,omitempty"`
}

// Bounds of the pinned files.
const (
	maxPins       = 8 // contents of the same files, as branches have them
	maxPinText    = 128 << 10
	maxPinEntries = 20_000 // of a directory
	maxPinBytes   = 512 << 20
)

// installed are directories of programs that come with the system: no job writes there, unless
// it works in one of them. The rest of /usr and /opt, such as /usr/src, may have people's projects.
var installed = []string{"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libexec/", "/usr/share/", "/usr/local/bin/", "/usr/local/sbin/", "/usr/local/lib/", "/usr/local/lib64/", "/usr/local/libexec/", "/usr/local/share/", "/usr/local/go/", "/usr/local/Cellar/", "/opt/homebrew/", "/nix/store/", "/snap/", "/System/", "/Library/", "/Applications/", "/dev/", "/proc/"}

// codeNames are ends of names of files that programs execute.
var codeNames = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".py", ".pyz", ".rb", ".pl", ".php", ".sh", ".bash", ".lua", ".jar", ".class", ".go", ".rs", ".so", ".node", ".wasm"}

// launchers are programs whose first argument may be a directory with the program to run.
var launchers = []string{"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "uvx", "uv", "pipx", "node", "nodejs", "deno", "go", "cargo", "python", "python3", "tsx", "ts-node"}

// dirFlags are their options that name such a directory.
var dirFlags = []string{"--from", "--with", "--with-editable", "--directory", "--prefix", "--project", "--cwd", "-C", "--package", "-p", "--dir"}

// taskFiles are the files that task runners look for, in their directory and above it.
var taskFiles = map[string][]string{
	"make": makefiles, "gmake": makefiles,
	"just":    {"justfile", "Justfile", ".justfile"},
	"task":    taskfiles,
	"go-task": taskfiles,
	"rake":    {"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"},
	"npm":     {"package.json"},
	"pnpm":    {"package.json"},
	"yarn":    {"package.json"},
	"bun":     {"package.json"},
	"deno":    {"deno.json", "deno.jsonc"},
	"mise":    {"mise.toml", ".mise.toml"},
}

var (
	makefiles = []string{"GNUmakefile", "makefile", "Makefile"}
	taskfiles = []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"}
)

// taskFlags are their options that name such a file.
var taskFlags = []string{"-f", "--file", "--makefile", "--justfile", "--rakefile", "-t", "--taskfile", "--config"}

// wrappers are programs that start the command line that they are given.
var wrappers = []string{"env", "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "nice", "nohup", "setsid", "stdbuf", "timeout", "sudo", "xargs", "mise", "direnv", "dotenv"}

// goFlags are options, and commands of shells, that name the directory to go to.
var goFlags = []string{"cd", "pushd", "-C", "--chdir", "--directory", "--cwd", "--prefix", "--dir", "-d", "--working-directory"}

// pins returns the files that an entry, whose references are filled in, starts: its program,
// scripts that a word or a variable names, the module of python -m, the package of npx ./DIR, the
// Makefile of make, the directory out of which cargo builds, and the files that those load by
// literal names. Jobs may write in dir and in write, wherever those are.
func (s Server) pins(dir string, write ...string) (pin, error) {
	if s.URL != "" {
		return pin{}, nil
	}
	c := pinning{dir: dir, root: "/", seen: map[string]bool{}, shadowsIn: map[string]bool{}}
	for _, w := range append(write, dir) {
		if w != "" {
			c.write = append(c.write, w, real(w))
		}
	}
	if s.Workspace == "write" {
		c.root = dir
	}
	words := slices.Concat(s.Command, s.Args)
	if len(words) == 0 {
		return pin{}, nil
	}
	fields := c.fields(words)
	c.program = c.at(words[0])
	found := true
	if !strings.Contains(words[0], "/") {
		at, err := hostexec.InSandbox(words[0])
		if found = err == nil; found {
			c.program = at
		}
	}
	c.pythonPath(s.Env["PYTHONPATH"])
	if found {
		c.file(c.program, false)
	}
	c.interpreted(fields, words, s.Env)
	c.launched(fields)
	if slices.Contains(wrappers, filepath.Base(words[0])) {
		for i := range fields[1:] {
			c.launched(fields[1+i:])
		}
	}
	c.tasks(fields)
	c.built(fields)
	for _, word := range words[1:] {
		c.named(word)
	}
	for _, value := range s.Env {
		c.named(value)
	}
	slices.SortFunc(c.files, func(a, b pinFile) int { return strings.Compare(a.Name, b.Name) })
	if c.followed > maxFollowed {
		c.files = append(c.files, pinFile{Name: fmt.Sprintf("not compared: what is loaded beyond %d files", maxFollowed)})
	}
	h := sha256.New()
	for _, f := range c.files {
		fmt.Fprintf(h, "%q %s\n", f.Name, f.Hash)
	}
	return pin{hex.EncodeToString(h.Sum(nil)), c.files}, c.err
}

// A pinning collects files.
type pinning struct {
	dir, root string   // of the job; that the program starts in
	dirs      []string // besides root, that the command goes to
	write     []string // directories in which jobs may write, with and without links
	seen      map[string]bool
	files     []pinFile
	err       error

	python    []string        // directories in which Python looks for modules
	node      []string        // and Node, behind those that it finds by itself
	program   string          // that is started, with its directory
	shadowsIn map[string]bool // directories that were looked at
	shadowed  map[string]bool // see shadows; nil until it is asked for
	followed  int             // files that were read for what they load
}

// fields returns the words of a command, splitting the text of a shell, and adds the directories
// that the command changes to to dirs.
func (c *pinning) fields(words []string) (fields []string) {
	for i, word := range words {
		if i > 0 && strings.ContainsAny(word, " \t\n") {
			fields = append(fields, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>\"'`", r) })...)
		} else {
			fields = append(fields, word)
		}
	}
	for i, word := range fields {
		flag, value, ok := strings.Cut(word, "=")
		switch {
		case ok && slices.Contains(goFlags, flag):
		case slices.Contains(goFlags, word) && i+1 < len(fields):
			value = fields[i+1]
		case strings.HasPrefix(word, "-C") && len(word) > 2:
			value = word[2:]
		default:
			continue
		}
		if dir := c.at(value); dir != "/" {
			c.dirs = append(c.dirs, dir)
		}
	}
	return fields
}

// tasks pins the files in which the task runners of a command line look for tasks.
func (c *pinning) tasks(fields []string) {
	var names []string
	for _, word := range fields {
		names = append(names, taskFiles[filepath.Base(word)]...)
	}
	if names == nil {
		return
	}
	for i, word := range fields {
		flag, value, ok := strings.Cut(word, "=")
		if !ok && i+1 < len(fields) {
			value = fields[i+1]
		}
		if slices.Contains(taskFlags, flag) {
			c.each(value, func(path string) { c.file(path, false) })
		}
	}
	for _, dir := range append(c.dirs, c.root) {
		for ; dir != "/"; dir = filepath.Dir(dir) {
			for _, name := range names {
				c.file(filepath.Join(dir, name), false)
			}
			if !c.writable(filepath.Dir(dir)) {
				break
			}
		}
	}
}

// each calls f with the paths that a name may refer to: in the directory in which the program
// starts, and in those that it changes to.
func (c *pinning) each(name string, f func(path string)) {
	f(c.at(name))
	if filepath.IsAbs(strings.TrimPrefix(name, "file://")) {
		return
	}
	for _, dir := range c.dirs {
		f(filepath.Join(dir, name))
	}
}

// at resolves a name as the program does.
func (c *pinning) at(name string) string {
	name = strings.TrimPrefix(name, "file://")
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.root, name)
	}
	return filepath.Clean(name)
}

// named pins the scripts that a word names, alone or within a command line or a list.
func (c *pinning) named(word string) {
	c.each(word, c.script)
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>\"'`=,:", r) }) {
		if part != word {
			c.each(part, c.script)
		}
		if len(part) > 2 && part[0] == '-' && part[1] != '-' {
			c.each(part[2:], c.script) // -r./hook
		}
	}
}

// script pins a script. Its name may lack the end, as Node and others complete it.
func (c *pinning) script(path string) {
	c.file(path, true)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() || filepath.Base(path) == "/" {
		return
	}
	for _, end := range codeNames {
		c.file(path+end, true)
	}
}

// launched pins the directory that a launcher is to run.
func (c *pinning) launched(words []string) {
	program := filepath.Base(words[0])
	if !slices.Contains(launchers, program) && !strings.HasPrefix(program, "python") {
		return
	}
	first := true
	for i := 1; i < len(words); i++ {
		word := words[i]
		flag, value, hasValue := strings.Cut(word, "=")
		switch {
		case slices.Contains(dirFlags, flag) && hasValue:
			c.each(value, c.tree)
		case slices.Contains(dirFlags, word) && i+1 < len(words):
			i++
			c.each(words[i], c.tree)
		case strings.HasPrefix(word, "-"), !first:
		case slices.Contains([]string{"exec", "x", "dlx", "run", "tool"}, word):
		default:
			first = false
			c.each(word, c.tree)
		}
	}
}

// name returns a path for a record that also applies to another copy of the workspace.
func (c *pinning) name(path string) string {
	if c.dir != "" {
		if rel, err := filepath.Rel(c.dir, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(filepath.Join("${workspace}", rel))
		}
	}
	return path
}

// real returns a path without links, or path itself if they lead nowhere.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// writable reports whether jobs may write at a path.
func (c *pinning) writable(path string) bool {
	return slices.ContainsFunc(c.write, func(dir string) bool { return rootfs.Within(dir, path) })
}

// fixed reports whether no job writes at a path, which is without links.
func (c *pinning) fixed(path string) bool {
	if c.writable(path) {
		return false
	}
	return slices.ContainsFunc(installed, func(dir string) bool {
		return strings.HasPrefix(path+"/", dir) || strings.HasPrefix(dir, path+"/")
	})
}

// file pins a file, with onlyCode only if its name, mode or first line shows that it is executed,
// and the files that it loads.
func (c *pinning) file(path string, onlyCode bool) {
	if text, ok := c.content(path, onlyCode); ok {
		c.follow(path, text)
	}
}

// content pins a file alone. ok reports whether it is new; text is "" of a long one.
func (c *pinning) content(path string, onlyCode bool) (text string, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || c.seen[path] {
		return "", false
	}
	if to := real(path); c.fixed(to) {
		if c.writable(path) { // a link to a program of the system
			c.seen[path] = true
			c.files = append(c.files, pinFile{Name: c.name(path), Hash: digest([]byte("link to " + to))})
		}
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false // the program cannot read it either
	}
	defer f.Close()
	head := make([]byte, 2)
	n, _ := io.ReadFull(f, head)
	if onlyCode && info.Mode().Perm()&0o111 == 0 && string(head[:n]) != "#!" && !slices.Contains(codeNames, strings.ToLower(filepath.Ext(path))) {
		return "", false // data
	}
	c.seen[path] = true
	var short bytes.Buffer
	h := sha256.New()
	whole := io.MultiReader(bytes.NewReader(head[:n]), f)
	if info.Size() <= maxPinText {
		whole = io.TeeReader(whole, &short)
	}
	if _, err := io.Copy(h, whole); err != nil {
		c.err = cmp.Or(c.err, fmt.Errorf("reading %s, which the server starts: %w", path, err))
		return "", false
	}
	p := pinFile{Name: c.name(path), Hash: hex.EncodeToString(h.Sum(nil))}
	if info.Size() <= maxPinText && utf8.Valid(short.Bytes()) {
		p.Text = short.String()
	}
	c.files = append(c.files, p)
	return p.Text, true
}

// tree pins all files of a directory as one, with those that links in it lead to.
func (c *pinning) tree(dir string) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || dir == "/" || c.seen[dir] || c.fixed(real(dir)) {
		return
	}
	c.seen[dir] = true
	w := treeWalk{c: c, h: sha256.New()}
	if err := w.walk(real(dir)); err != nil {
		c.err = cmp.Or(c.err, fmt.Errorf("the directory %s, which the server starts, cannot be compared with what was accepted: %w", dir, err))
		return
	}
	c.files = append(c.files, pinFile{Name: c.name(dir) + "/", Hash: hex.EncodeToString(w.h.Sum(nil))})
}

// A treeWalk hashes directories.
type treeWalk struct {
	c       *pinning
	h       hash.Hash
	roots   []string // that are hashed whole, but for .git
	entries int
	size    int64
}

// walk hashes all that is in a directory, or a file, whose name is without links.
func (w *treeWalk) walk(root string) error {
	w.roots = append(w.roots, root)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" && path != root {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		w.size += info.Size()
		if w.entries++; w.entries > maxPinEntries || w.size > maxPinBytes {
			return fmt.Errorf("with what its links lead to it has more than %d files, or more than %d MB", maxPinEntries, maxPinBytes>>20)
		}
		rel, _ := filepath.Rel(root, path)
		fmt.Fprintf(w.h, "%q %v\n", rel, d.Type())
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(w.h, "%q\n", to)
			return w.link(path)
		case d.Type().IsRegular():
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w.h, f)
			return err
		}
		return nil
	})
}

// link hashes the target of a link, unless it is hashed anyway or no job can write there.
func (w *treeWalk) link(path string) error {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // it leads nowhere
	}
	if w.c.fixed(to) || to == "/" {
		return nil
	}
	for _, root := range w.roots {
		rel, err := filepath.Rel(root, to)
		if err == nil && filepath.IsLocal(rel) && !slices.Contains(strings.Split(rel, "/"), ".git") {
			return nil
		}
	}
	fmt.Fprintf(w.h, "to %q\n", w.c.name(to))
	return w.walk(to)
}

// pinned compares the files that a server starts with the accepted ones, before it is started; the
// error is a *turn.Changed where they differ. They are accepted the first time, and where accepted
// is their digest or "*". The slot is locked.
func (p *Pool) pinned(l *slot, r *record, accepted string) error {
	full, err := l.s.expand(l.dir, p.o.Getenv, os.ReadFile)
	if err != nil {
		return fmt.Errorf("the MCP server %s: %w", l.name, err)
	}
	write := slices.Clone(p.o.Sandbox.Write)
	for _, path := range full.Write {
		write = append(write, p.home(path))
	}
	now, err := full.pins(l.dir, write...)
	if err != nil {
		return fmt.Errorf("the MCP server %s: %w", l.name, err)
	}
	l.pin = now
	if full.URL == "" && len(now.Files) == 0 && len(r.Pins) == 0 {
		p.warn("nothing of the command of the MCP server %s is compared with what was accepted: %s", l.name, nothingCompared)
	}
	if slices.ContainsFunc(r.Pins, func(was pin) bool { return was.Digest == now.Digest }) || len(r.Pins) == 0 && len(now.Files) == 0 {
		return nil
	}
	if len(r.Pins) > 0 && accepted != now.Digest && accepted != anyContent {
		return &turn.Changed{Server: l.name, Digest: now.Digest, Text: now.describeChanges(r.Pins[0]), Reach: l.s.describeReach()}
	}
	r.Pins = append([]pin{now}, r.Pins...)
	r.Pins = r.Pins[:min(len(r.Pins), maxPins)]
	return r.save(p.o.Dir, l.s)
}

// nothingCompared states why an entry has no pins.
const nothingCompared = "no file that it starts was found outside of the directories of the system, so that a change of what it runs is not noticed"

// anyContent accepts the files that a server starts as they are.
const anyContent = "*"

// describeChanges describes, file by file in lines, how a pin differs from an accepted one.
func (p pin) describeChanges(was pin) string {
	var b strings.Builder
	old := map[string]pinFile{}
	for _, f := range was.Files {
		old[f.Name] = f
	}
	for _, f := range p.Files {
		o, had := old[f.Name]
		delete(old, f.Name)
		switch {
		case had && o.Hash == f.Hash:
		case !had:
			fmt.Fprintf(&b, "new: %s, sha256 %s\n", line(f.Name), f.Hash)
			writeLines(&b, "+", splitLines(f.Text))
		case o.Text == "" || f.Text == "":
			fmt.Fprintf(&b, "changed: %s, sha256 %s, was %s\n", line(f.Name), f.Hash, o.Hash)
		default:
			fmt.Fprintf(&b, "changed: %s\n", line(f.Name))
			a, z := splitLines(o.Text), splitLines(f.Text)
			for len(a) > 0 && len(z) > 0 && a[0] == z[0] {
				a, z = a[1:], z[1:]
			}
			for len(a) > 0 && len(z) > 0 && a[len(a)-1] == z[len(z)-1] {
				a, z = a[:len(a)-1], z[:len(z)-1]
			}
			writeLines(&b, "-", a)
			writeLines(&b, "+", z)
		}
	}
	for _, f := range was.Files {
		if _, gone := old[f.Name]; gone {
			fmt.Fprintf(&b, "not started any more: %s\n", line(f.Name))
		}
	}
	if len(p.Files) == 0 {
		fmt.Fprintf(&b, "nothing of the command would be compared any more: %s\n", nothingCompared)
	}
	return b.String()
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func writeLines(b *strings.Builder, mark string, lines []string) {
	for _, l := range lines {
		fmt.Fprintf(b, "%s %s\n", mark, l)
	}
}
