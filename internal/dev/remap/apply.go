package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"golang.org/x/tools/imports"
)

// apply writes every file in its new place.
func (r *remap) apply() error {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return err
	}
	moved := map[string]string{}
	taken := map[string]string{}
	list := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, name := range list {
		if r.movedPath(name) == name {
			taken[name] = name
		}
	}
	for _, old := range r.plan.order {
		for _, name := range list {
			if moved[name] != "" || r.owner(name) != old {
				continue
			}
			to := r.movedPath(name)
			if taken[to] != "" {
				if strings.HasSuffix(to, ".go") && filepath.Dir(name) == old {
					to = filepath.Join(filepath.Dir(to), strings.TrimSuffix(r.pkgNames[old], "_test")+"_"+filepath.Base(to))
				}
				if taken[to] != "" {
					r.problem("file: %s and %s both go to %s", name, taken[to], to)
					fmt.Println("file:", name, "and", taken[to], "both go to", to)
					to = name
				}
			}
			moved[name], taken[to] = to, name
		}
	}
	for _, name := range list {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		to := name
		if moved[name] != "" {
			to = moved[name]
		}
		if f := r.files[name]; f != nil {
			b = []byte(f.text())
			b = emptyImport.Regexp().ReplaceAll(b, nil)
		}
		if !bytes.ContainsRune(b, 0) && name != "CHANGELOG.md" && !strings.HasPrefix(name, "internal/dev/remap/") {
			b = r.paths(b, moved)
		}
		if strings.HasSuffix(name, ".go") && r.files[name] != nil {
			if nice, err := imports.Process(to, b, &imports.Options{FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8}); err == nil {
				b = nice
			} else {
				fmt.Println("format:", to, err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, b, info.Mode().Perm()); err != nil {
			return err
		}
		if to != name {
			if err := os.Remove(name); err != nil {
				return err
			}
			_ = os.Remove(filepath.Dir(name))
		}
	}
	return nil
}

var emptyImport = lazyregexp.New(`(?m)^import (\(\s*\)|[ \t]*)$`)

// owner is the folder of the map whose files a path is among.
func (r *remap) owner(path string) string {
	for d := filepath.Dir(path); d != "."; d = filepath.Dir(d) {
		if _, ok := r.plan.to[d]; ok {
			return d
		}
		if _, ok := r.pkgNames[d]; ok {
			return ""
		}
	}
	return ""
}

var pathWord = lazyregexp.New(`[A-Za-z0-9_./~-]*(?:internal|pkg|cmd)/[A-Za-z0-9_./-]+`)

// paths rewrites the paths of folders and files that a text names.
func (r *remap) paths(b []byte, moved map[string]string) []byte {
	return pathWord.Regexp().ReplaceAllFunc(b, func(m []byte) []byte {
		s := string(m)
		prefix := ""
		for _, p := range []string{module + "/", "./"} {
			if rest, ok := strings.CutPrefix(s, p); ok {
				prefix, s = p, rest
			}
		}
		if rest, ok := strings.CutPrefix(s, "/"); ok && slices.Contains([]string{"internal", "pkg", "cmd"}, strings.SplitN(rest, "/", 2)[0]) {
			prefix, s = "/", rest
		}
		for strings.HasPrefix(s, "../") {
			prefix, s = prefix+"../", s[3:]
		}
		word := strings.TrimRight(s, "./")
		tail := s[len(word):]
		if to, ok := moved[word]; ok {
			return []byte(prefix + to + tail)
		}
		for d := word; d != "." && d != "/" && d != ""; d = filepath.Dir(d) {
			if to, ok := r.plan.to[d]; ok {
				return []byte(prefix + to.dir + word[len(d):] + tail)
			}
			if slices.Contains([]string{"pkg", "internal", "cmd"}, d) {
				break
			}
			// pkg/adroit.Client: a name of a package
			if i := strings.LastIndexByte(d, '.'); i > strings.LastIndexByte(d, '/') {
				if to, ok := r.plan.to[d[:i]]; ok {
					return []byte(prefix + to.dir + word[i:] + tail)
				}
			}
		}
		return m
	})
}
