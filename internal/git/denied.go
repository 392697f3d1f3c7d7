package git

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

const (
	// maxDeniedLines bounds how many lines of denied files are looked for in texts, the
	// newest first.
	maxDeniedLines = 5000
	// openTimeout bounds the search for those that stand in other files too.
	openTimeout = 3 * time.Second
)

// FileSecrets finds the secrets in the files of dir that a command can print though no tool
// may read them: the values of environment files (.env and the like), and the lines of the
// files that names denies and git knows, as they are and as they are or were in the index
// and in any commit of any branch. What cannot be read is left out, and so are lines that
// stand in another file of the last commit as well: they tell nothing.
func FileSecrets(ctx context.Context, dir string, names *rootfs.DenyList) []secret.Known {
	known := secret.DotenvIn(dir)
	real, err := rootfs.Real(dir)
	if err != nil {
		return known
	}
	top, ok := rootfs.Repository(real)
	if !ok {
		return known
	}
	g := OnHost(dir)
	env := func(name string) bool { return secret.Dotfile(path.Base(name)) }
	versions, err := g.versions(ctx, env, ":(top,glob)**/.env*")
	if err != nil { // It took too long or is too much.
		versions = chosen(g.head(ctx), env)
	}
	for _, v := range versions {
		known = append(known, secret.Dotenv(g.content(ctx, v.object))...)
	}
	return append(known, g.denied(ctx, top, names)...)
}

// denied returns the lines of the files below top that names denies: a command cannot read the
// files, but git prints the versions it stores.
func (g *Repo) denied(ctx context.Context, top string, names *rootfs.DenyList) []secret.Known {
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
	hidden := func(name string) bool {
		for part := range strings.SplitSeq(name, "/") {
			if suspect(part) {
				return class.Class(name).Secret() && !secret.Dotfile(path.Base(name))
			}
		}
		return false
	}
	index := g.index(ctx)
	all := chosen(slices.Concat(index, g.head(ctx)), hidden)
	var specs []string
	for _, v := range all {
		specs = append(specs, ":(top,literal)"+v.name)
	}
	for _, p := range names.Spelled() {
		specs = append(specs, ":(top,glob,icase)**/"+p, ":(top,glob,icase)**/"+p+"/**")
	}
	if len(specs) == 0 {
		return nil
	}
	if old, err := g.versions(ctx, hidden, slices.Compact(specs)...); err == nil { // else the last commit and the index must do
		all = chosen(slices.Concat(all, old), hidden)
	}
	root, err := os.OpenRoot(top)
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
		add(v.name, regular(root, v.name))
	}
	for _, v := range all {
		add(v.name, g.content(ctx, v.object))
	}
	if len(lines) == 0 {
		return nil
	}
	open := publicLines(root, index, seen, hidden)
	return slices.DeleteFunc(lines, func(k secret.Known) bool { return open[k.Value] })
}

// publicLines returns the subset of lines that also appears in a tracked file that is not hidden.
func publicLines(root *os.Root, index []version, lines map[string]bool, hidden func(name string) bool) map[string]bool {
	open, until := map[string]bool{}, time.Now().Add(openTimeout)
	for _, v := range index {
		if time.Now().After(until) {
			break
		}
		if hidden(v.name) || secret.Dotfile(path.Base(v.name)) {
			continue
		}
		for _, k := range secret.Lines("", regular(root, v.name)) {
			if lines[k.Value] {
				open[k.Value] = true
			}
		}
	}
	return open
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
