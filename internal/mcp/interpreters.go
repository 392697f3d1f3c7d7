package mcp

import (
	"path/filepath"
	"slices"
	"strings"
)

// preloads are options of Node, and of programs that take its options, that name modules
// which are loaded first.
var preloads = []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "--preload"}

// nodeCode are options behind which code of Node stands.
var nodeCode = []string{"-e", "--eval", "-p", "--print", "-pe"}

// interpreted pins the files that interpreters load because of their options: modules that are
// preloaded or run by name, and imports of code in an option. fields are the single words, words
// the original arguments.
func (c *pinning) interpreted(fields, words []string, env map[string]string) {
	for _, dir := range filepath.SplitList(env["NODE_PATH"]) {
		c.node = append(c.node, c.at(dir))
	}
	c.preloaded(strings.Fields(strings.NewReplacer(`"`, " ", "'", " ").Replace(env["NODE_OPTIONS"])))
	for _, list := range [][]string{fields, words} {
		c.preloaded(list)
		for i, word := range list {
			if name := filepath.Base(word); strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy") {
				c.pythonOptions(list[i+1:], env["PYTHONPATH"])
			}
			if slices.Contains(nodeCode, word) && i+1 < len(list) {
				for _, m := range quoted.FindAllStringSubmatch(list[i+1], -1) {
					c.preload(m[1])
				}
			}
		}
	}
}

// preloaded pins the modules that options name.
func (c *pinning) preloaded(words []string) {
	for i, word := range words {
		flag, value, joined := strings.Cut(word, "=")
		switch {
		case joined && slices.Contains(preloads, flag):
			c.preload(value)
		case slices.Contains(preloads, word) && i+1 < len(words):
			c.preload(words[i+1])
		case strings.HasPrefix(word, "-r") && len(word) > 2:
			c.preload(word[2:])
		}
	}
}

// preload pins a module as Node finds it from the directory that it starts in.
func (c *pinning) preload(name string) {
	if filepath.IsAbs(strings.TrimPrefix(name, "file://")) || strings.HasPrefix(name, ".") {
		c.each(name, c.nodeModule)
		return
	}
	if name == "" {
		return
	}
	for _, dir := range append([]string{c.root}, c.dirs...) {
		c.imported(dir, name)
	}
}

// pythonOptions pins the module of -m, and the imports of the code of -c, also in combined
// options, as in -Im NAME. Directories that -E, -I and -P exclude are searched nevertheless.
func (c *pinning) pythonOptions(words []string, paths string) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case !strings.HasPrefix(word, "-") || len(word) < 2:
			return // the script
		case word[1] == '-':
			if word == "--check-hash-based-pycs" {
				i++
			}
			continue
		}
		at := strings.IndexAny(word[1:], "mcWX")
		if at < 0 {
			continue
		}
		value := word[at+2:]
		if value == "" {
			if i++; i == len(words) {
				return
			}
			value = words[i]
		}
		switch word[at+1] {
		case 'm':
			c.module(value, paths)
			return
		case 'c':
			c.pythonCode(value, paths)
			return
		}
	}
}

// pythonCode pins the imports of code in an option.
func (c *pinning) pythonCode(code, paths string) {
	lines := strings.NewReplacer(";", "\n").Replace(code)
	for _, dir := range append(append([]string{c.root}, c.dirs...), filepath.SplitList(paths)...) {
		if dir = c.at(dir); dir == "/" {
			continue
		}
		c.shadows(dir)
		for _, m := range pythonImport.FindAllStringSubmatch(lines, -1) {
			c.pythonModules(dir, m[1:])
		}
	}
}

// module pins the module of python -m.
func (c *pinning) module(name, paths string) {
	top, _, _ := strings.Cut(name, ".")
	for _, dir := range append(append([]string{c.root}, c.dirs...), filepath.SplitList(paths)...) {
		if dir = c.at(dir); dir == "/" {
			continue
		}
		c.pythonModule(dir, top)
		c.tree(filepath.Join(dir, top))
		c.shadows(dir)
	}
}
