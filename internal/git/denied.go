package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

const (
	// maxDeniedLines bounds how many lines of denied files are looked for in texts, the
	// newest first.
	maxDeniedLines = 5000
	// openTimeout bounds the search for those that stand in other files too.
	openTimeout = 3 * time.Second
)

// A SecretSearch configures FileSecrets.
type SecretSearch struct {
	Names *rootfs.DenyList // the operator's changes to the list of names
	// Data is the data directory, whose cache keeps which versions of files a history has, by the
	// digest of its refs; empty keeps nothing. No content of them is kept.
	Data string
	Warn func(format string, args ...any) // reports a search that is not complete; nil: nobody
}

// FileSecrets finds the secrets in the files of dir that a command can print though no tool
// may read them: the values of environment files (.env and the like), and the lines of the
// files that names denies and git knows, as they are and as they are or were in the index
// and in any commit of any branch. What cannot be read is left out, and so are lines that
// stand in another tracked file as well: they tell nothing.
func FileSecrets(ctx context.Context, dir string, s SecretSearch) []secret.Known {
	known := secret.DotenvIn(dir)
	real, err := rootfs.Real(dir)
	if err != nil {
		return known
	}
	top, ok := rootfs.Repository(real)
	if !ok {
		return known
	}
	f := &finding{SecretSearch: s, Repo: OnHost(dir), ctx: ctx, top: top}
	defer f.report()
	f.common, f.refs, f.staged = storedDigests(top)
	env := func(name string) bool { return secret.Dotfile(path.Base(name)) }
	versions, err := kept(f, "env", f.refs, func() ([]version, error) { return f.versions(ctx, env, ":(top,glob)**/.env*") })
	if err != nil { // It took too long or is too much.
		f.incomplete("environment files", err)
		last, _ := f.head(ctx) // there may be no commit
		versions = chosen(last, env)
	}
	texts, err := f.contents(ctx, versions)
	if err != nil {
		f.incomplete("environment files", err)
	}
	for _, text := range texts {
		known = append(known, secret.Dotenv(text)...)
	}
	return append(known, f.denied()...)
}

// A finding is one call of FileSecrets.
type finding struct {
	SecretSearch
	*Repo
	ctx          context.Context
	top, common  string   // the work tree, and the git directory of its repository
	refs, staged string   // digests of what decides which versions of files there are; empty: not known
	lacks        []string // what was not searched whole
	why          error    // and the first reason
}

func (f *finding) incomplete(what string, err error) {
	if f.ctx.Err() == nil && !errors.Is(err, exec.ErrNotFound) && !slices.Contains(f.lacks, what) { // without git nothing prints it
		f.lacks, f.why = append(f.lacks, what), cmp.Or(f.why, err)
	}
}

// report warns of an incomplete search, once for what is often one cause.
func (f *finding) report() {
	if f.Warn != nil && f.why != nil {
		f.Warn("the history of %s was not searched whole: what only older commits hold of %s would be shown: %s", f.top, strings.Join(f.lacks, " and "), spelling.FirstLine(f.why.Error()))
	}
}

// denied returns the lines of the files below top that Names denies: a command cannot read the
// files, but git prints the versions it stores.
func (f *finding) denied() []secret.Known {
	hidden := hiddenBy(f.Names)
	index, err := kept(f, "index", f.staged, func() ([]version, error) {
		all, err := f.index(f.ctx)
		return chosen(all, hidden), err
	})
	head, bad := kept(f, "head", f.refs, func() ([]version, error) {
		all, err := f.head(f.ctx)
		return chosen(all, hidden), err
	})
	if err != nil || bad != nil && f.hasCommit() {
		f.incomplete("denied files", cmp.Or(err, bad))
	}
	all := chosen(slices.Concat(index, head), hidden)
	var specs []string
	for _, v := range all {
		specs = append(specs, ":(top,literal)"+v.Name)
	}
	for _, p := range f.Names.Spelled() {
		specs = append(specs, ":(top,glob,icase)**/"+p, ":(top,glob,icase)**/"+p+"/**")
	}
	if len(specs) == 0 {
		return nil
	}
	specs = slices.Compact(specs)
	old, err := kept(f, "old\x00"+strings.Join(specs, "\x00"), f.refs, func() ([]version, error) { return f.versions(f.ctx, hidden, specs...) })
	if err != nil { // the last commit and the index must do
		f.incomplete("denied files", err)
	}
	all = chosen(slices.Concat(all, old), hidden)
	root, err := os.OpenRoot(f.top)
	if err != nil {
		return nil
	}
	defer root.Close()
	var lines []secret.Known
	seen := map[string]bool{}
	add := func(name, text string) {
		if strings.Contains(text, "\x00") {
			return
		}
		for _, k := range secret.Lines(path.Base(name), text) {
			if !seen[k.Value] && len(lines) < maxDeniedLines {
				seen[k.Value] = true
				lines = append(lines, k)
			}
		}
	}
	for _, v := range all {
		add(v.Name, regular(root, v.Name))
	}
	texts, err := f.contents(f.ctx, all)
	if err != nil {
		f.incomplete("denied files", err)
	}
	for i, text := range texts {
		add(all[i].Name, text)
	}
	if len(lines) == 0 {
		return nil
	}
	public := f.public(seen, hidden)
	return slices.DeleteFunc(lines, func(k secret.Known) bool { return slices.Contains(public, digest(k.Value)) })
}

// hiddenBy returns what reports whether no tool may read a file that is no environment file.
func hiddenBy(names *rootfs.DenyList) func(name string) bool {
	class := rootfs.NewClassifier(names)
	parts := map[string]bool{} // most are in many names
	suspect := func(part string) bool {
		maybe, ok := parts[part]
		if !ok {
			maybe = class.Maybe(rootfs.Fold(part))
			parts[part] = maybe
		}
		return maybe
	}
	return func(name string) bool {
		for part := range strings.SplitSeq(name, "/") {
			if suspect(part) {
				return class.Class(name).Secret() && !secret.Dotfile(path.Base(name))
			}
		}
		return false
	}
}

// hasCommit reports whether there is a last commit, whose files could be listed.
func (f *finding) hasCommit() bool {
	_, err := f.ResolveCommit(f.ctx, "HEAD")
	return err == nil
}

const (
	// keptForm changes with what is kept, and with the rules by which it is chosen.
	keptForm = "1"
	// maxSearches bounds how many answers the cache keeps, of all repositories.
	maxSearches = 400
)

// kept returns the answer to a question about the state of a repository that has a digest: from
// the cache, or by asking. An error is not kept, nor is an answer that may be about another state.
func kept[T any](f *finding, question, state string, ask func() (T, error)) (answer T, err error) {
	if state == "" {
		return ask()
	}
	file := f.file(question, state)
	if load(file, &answer) {
		return answer, nil
	}
	if answer, err = ask(); err == nil && file != "" {
		if _, refs, staged := storedDigests(f.top); state == refs || state == staged { // nobody has changed it meanwhile
			store(file, answer)
		}
	}
	return answer, err
}

// file names the file in the cache that has the answer to a question, "" if nothing is kept.
func (f *finding) file(question, state string) string {
	if f.Data == "" {
		return ""
	}
	return filepath.Join(f.Data, "cache", "versions", digest(strings.Join([]string{keptForm, f.Names.Digest(), state, question}, "\x00")))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func load(file string, to any) bool {
	b, err := os.ReadFile(file)
	return err == nil && json.Unmarshal(b, to) == nil
}

// store writes a file in the cache. One that is cut short is no JSON, and its question is asked again.
func store(file string, answer any) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	if b, err := json.Marshal(answer); err == nil {
		_ = rootfs.WriteScratch(file, 0o600, append(b, '\n'))
		prune(filepath.Dir(file))
	}
}

// prune removes the oldest answers beyond maxSearches.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxSearches {
		return
	}
	age := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			age[e.Name()] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age[a.Name()], age[b.Name()]) })
	for _, e := range entries[:len(entries)-maxSearches/2] {
		_ = os.Remove(filepath.Join(dir, e.Name())) // another process may have been faster
	}
}

// storedDigests returns the git directory of a repository, and digests of what decides which versions of files the history of a work
// tree has, and which its index has; empty ones if that is not known. They are of content.
func storedDigests(top string) (common, refs, index string) {
	own, common, err := rootfs.GitDirs(top)
	if err != nil {
		return "", "", ""
	}
	h := sha256.New()
	add := func(root *os.Root, name string) error {
		b, err := root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(b))
		h.Write(b)
		return err
	}
	all := func(dir string, names ...string) error {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		for _, name := range names {
			err = errors.Join(err, rootfs.WalkDir(root, name, func(p string, e *rootfs.Entry, err error) error {
				switch {
				case e == nil && errors.Is(err, fs.ErrNotExist):
					return nil
				case err != nil:
					return err
				case e.IsDir():
					return nil
				}
				return add(root, p)
			}))
		}
		return err
	}
	// Each work tree has a HEAD, and may have refs; git log --all goes by those of all. So it does
	// by a history that was cut off, and fetched since.
	names := []string{"HEAD", "packed-refs", "shallow", "refs", "reftable", "info/grafts"}
	err = errors.Join(all(own, "HEAD"), all(common, names...))
	trees, _ := os.ReadDir(filepath.Join(common, "worktrees")) // there may be none
	for _, t := range trees {
		err = errors.Join(err, all(filepath.Join(common, "worktrees", t.Name()), "HEAD", "refs", "reftable"))
	}
	if err == nil {
		refs = hex.EncodeToString(h.Sum(nil))
	}
	h.Reset()
	if err := all(own, "index"); err == nil {
		index = hex.EncodeToString(h.Sum(nil))
	}
	return common, refs, index
}

// A scan records which files were searched for lines, by their content, and in which of them each
// line stands: so a file is searched once, whatever branch or work tree has it.
type scan struct {
	Searched []byte            `json:"searched"` // objects, one behind the other
	Lines    map[string][]byte `json:"lines"`    // by the digest of a line, the objects that have it, the first maxWitnesses
}

// maxWitnesses bounds the files that are noted of a line. Where all of them have changed, the
// line is looked for again.
const maxWitnesses = 20

// public returns the digests of those lines that also stand in a tracked file that is not hidden,
// as the index has it. What there is no time for is not public yet: the next call goes on there.
func (f *finding) public(lines map[string]bool, hidden func(name string) bool) []string {
	all := digest(strings.Join(slices.Sorted(maps.Keys(lines)), "\n"))
	public, _ := kept(f, "public\x00"+all, f.staged, func() (public []string, err error) {
		tracked, err := f.index(f.ctx)
		if err != nil {
			return nil, err
		}
		in := map[string]bool{} // objects
		for _, v := range tracked {
			if raw, err := hex.DecodeString(v.Object); err == nil && !hidden(v.Name) && !secret.Dotfile(path.Base(v.Name)) {
				in[string(raw)] = true
			}
		}
		if len(in) == 0 {
			return nil, nil
		}
		file, now := f.file("scan\x00"+all, f.common), scan{}
		if file == "" || f.common == "" || !load(file, &now) || now.Lines == nil {
			now = scan{Lines: map[string][]byte{}}
		}
		err = f.search(&now, in, lines)
		if f.common != "" {
			store(file, now)
		}
		for line, objects := range now.Lines {
			if slices.ContainsFunc(slices.Collect(slices.Chunk(objects, objectSize(in))), func(o []byte) bool { return in[string(o)] }) {
				public = append(public, line)
			}
		}
		return public, err
	})
	return public
}

// objectSize is the length of the names of objects: all of a repository have the same.
func objectSize(in map[string]bool) int {
	for o := range in {
		return len(o)
	}
	return sha256.Size
}

// search looks for lines in the objects of in that were not searched.
func (f *finding) search(now *scan, in map[string]bool, lines map[string]bool) error {
	size, searched := objectSize(in), map[string]bool{}
	for o := range slices.Chunk(now.Searched, size) {
		searched[string(o)] = true
	}
	for _, objects := range now.Lines { // a line that too many files had, and none of those noted is left
		if len(objects) >= maxWitnesses*size && !slices.ContainsFunc(slices.Collect(slices.Chunk(objects, size)), func(o []byte) bool { return in[string(o)] }) {
			now.Lines, searched = map[string][]byte{}, map[string]bool{}
			break
		}
	}
	var todo []version
	for o := range in {
		if !searched[o] {
			todo = append(todo, version{Object: hex.EncodeToString([]byte(o))})
		}
	}
	if len(searched) > 2*len(in)+10_000 { // most are of other times
		maps.DeleteFunc(searched, func(o string, _ bool) bool { return !in[o] })
	}
	until := time.Now().Add(openTimeout)
	for some := range slices.Chunk(todo, maxVersions) {
		if time.Now().After(until) || f.ctx.Err() != nil {
			break
		}
		texts, err := f.contents(f.ctx, some)
		if err != nil {
			break
		}
		for i, text := range texts {
			raw, _ := hex.DecodeString(some[i].Object) // made by us
			searched[string(raw)] = true
			had := map[string]bool{}
			for value := range secret.LineValues(text) {
				if lines[value] && !had[value] {
					had[value] = true
					if d := digest(value); len(now.Lines[d]) < maxWitnesses*size {
						now.Lines[d] = append(now.Lines[d], raw...)
					}
				}
			}
		}
		todo = todo[len(some):]
	}
	now.Searched = now.Searched[:0]
	for _, o := range slices.Sorted(maps.Keys(searched)) {
		now.Searched = append(now.Searched, o...)
	}
	if len(todo) > 0 {
		return fmt.Errorf("%d files were not searched", len(todo))
	}
	return nil
}

// regular returns the text of a regular file that is not large, or "".
func regular(root *os.Root, name string) string {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSecretFile {
		return ""
	}
	b, err := root.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}
