package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// maxFollowed bounds the number of files that are pinned because others load them.
const maxFollowed = 2000

// builders maps programs that build what they run to the files by which they recognise the source
// directory.
var builders = map[string][]string{
	"go": {"go.mod"}, "cargo": {"Cargo.toml"}, "swift": {"Package.swift"}, "mix": {"mix.exs"}, "sbt": {"build.sbt"}, "bundle": {"Gemfile"},
	"gradle": gradleFiles, "gradlew": gradleFiles, "mvn": {"pom.xml"}, "mvnw": {"pom.xml"},
	"docker": composeFiles, "docker-compose": composeFiles, "podman": composeFiles, "podman-compose": composeFiles,
}

var (
	gradleFiles  = []string{"settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"}
	composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile", "Containerfile"}
)

// built pins the directories out of which the builders of a command line build.
func (c *pinning) built(fields []string) {
	for _, program := range fields {
		names := builders[filepath.Base(program)]
		if names == nil {
			continue
		}
		for _, word := range fields {
			_, value, _ := strings.Cut(word, "=")
			if name := cmp.Or(value, word); slices.Contains(names, filepath.Base(name)) {
				c.each(name, func(path string) { c.tree(filepath.Dir(path)) })
			}
		}
		for _, dir := range append(slices.Clone(c.dirs), c.root) {
			for ; dir != "/"; dir = filepath.Dir(dir) {
				if slices.ContainsFunc(names, func(name string) bool { return isFile(filepath.Join(dir, name)) }) {
					c.tree(dir)
					break
				}
				if !c.writable(filepath.Dir(dir)) {
					break
				}
			}
		}
	}
}

var (
	scriptEnds   = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"}
	quoted       = lazyregexp.New("[\"'`]([^\"'`\\s]{1,200})[\"'`]")
	loadedJSON   = lazyregexp.New("(?:require|import|from)[ \\t]*\\(?[ \\t]*[\"'`](\\.[^\"'`\\s]{1,200}\\.json)[\"'`]")
	pythonImport = lazyregexp.New(`(?m)^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w., \t]+))`)
)

// follow pins the files that an executed file loads, as far as its text names them: imported
// modules, sourced scripts, scripts that a task starts.
func (c *pinning) follow(path, text string) {
	if c.followed++; c.followed > maxFollowed {
		return
	}
	dir := filepath.Dir(path)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>\"'`=,:{}[]", r) }) {
		if strings.HasPrefix(word, "$") {
			_, word, _ = strings.Cut(word, "/")
		}
		if word = strings.TrimLeft(word, "/"); strings.ContainsAny(word, "./") && strings.Trim(word, "./") != "" {
			c.file(filepath.Join(dir, word), true)
		}
	}
	first, _, _ := strings.Cut(text, "\n")
	switch end := strings.ToLower(filepath.Ext(path)); {
	case slices.Contains(scriptEnds, end), strings.HasPrefix(first, "#!") && strings.Contains(first, "node"):
		c.scope(dir, "package.json")
		if strings.Contains(end, "ts") {
			c.scope(dir, "tsconfig.json")
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			c.imported(dir, m[1])
		}
		for _, m := range loadedJSON.FindAllStringSubmatch(text, -1) {
			c.content(filepath.Join(dir, m[1]), false)
		}
	case end == ".py", strings.HasPrefix(first, "#!") && strings.Contains(first, "python"):
		c.shadows(dir)
		for _, m := range pythonImport.FindAllStringSubmatch(text, -1) {
			c.pythonModules(dir, m[1:])
		}
	case end == ".sh", end == ".bash", strings.HasPrefix(first, "#!"):
		fields := strings.Fields(text)
		for i, word := range fields {
			if (word == "." || word == "source") && i+1 < len(fields) {
				c.file(filepath.Join(dir, strings.Trim(fields[i+1], `"'`)), false)
			}
		}
	}
}

// imported pins the files of a module that a Node module imports by name.
func (c *pinning) imported(dir, name string) {
	if strings.HasPrefix(name, ".") || filepath.IsAbs(name) {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		c.nodeModule(at)
		for _, end := range scriptEnds {
			c.file(strings.TrimSuffix(at, filepath.Ext(at))+end, true) // ./x.js of TypeScript is x.ts
		}
		return
	}
	parts := strings.SplitN(name, "/", 3)
	if name = parts[0]; strings.HasPrefix(name, "@") && len(parts) > 1 {
		name += "/" + parts[1]
	}
	if strings.ContainsAny(name, "$*\\") || strings.HasPrefix(name, "..") {
		return
	}
	for ; ; dir = filepath.Dir(dir) {
		if at := filepath.Join(dir, "package.json"); name[0] == '#' && !c.seen[at+"#"] {
			c.seen[at+"#"] = true
			c.content(at, false) // it states what names stand for
			if text, err := os.ReadFile(at); err == nil {
				c.follow(at, string(text))
			}
		}
		at := filepath.Join(dir, "node_modules", name)
		for _, end := range nodeEnds {
			c.file(at+end, false) // is found before the directory
		}
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			c.installed(at)
			return
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range c.node {
		at := filepath.Join(dir, name)
		c.nodeModule(filepath.Join(append([]string{dir}, parts...)...))
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			c.installed(at)
		}
	}
}

// nodeEnds are the extensions with which Node completes a name.
var nodeEnds = []string{".js", ".json", ".node", ".cjs", ".mjs"}

// nodeModule pins the file that Node finds for a path: a file, with or without its extension, or
// the file named in a directory's package.json, or the directory's index.
func (c *pinning) nodeModule(at string) {
	c.script(at)
	c.content(at+".json", false)
	text, ok := c.content(filepath.Join(at, "package.json"), false)
	if ok {
		c.follow(filepath.Join(at, "package.json"), text)
	}
	var names struct {
		Main string `json:"main"`
	}
	if json.Unmarshal([]byte(text), &names) == nil && names.Main != "" && filepath.Clean(names.Main) != "." {
		main := filepath.Join(at, names.Main)
		c.script(main)
		c.index(main)
	}
	c.index(at)
}

// index pins the index file that Node finds in a directory.
func (c *pinning) index(dir string) {
	for _, end := range slices.Concat(scriptEnds, nodeEnds) {
		c.file(filepath.Join(dir, "index"+end), false)
	}
}

// scope pins the nearest file of settings of that name, from a directory upwards, and those
// that it extends.
func (c *pinning) scope(dir, name string) {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if at := filepath.Join(dir, name); isFile(at) {
			text, _ := c.content(at, false)
			for _, m := range quoted.FindAllStringSubmatch(text, -1) {
				if name != "package.json" && strings.HasSuffix(m[1], ".json") {
					c.content(filepath.Join(dir, m[1]), false)
				}
			}
			return
		}
	}
}

// installed pins a package that npm has installed, and those that it needs.
func (c *pinning) installed(at string) {
	if c.seen[at] || c.fixed(real(at)) {
		return
	}
	c.tree(at)
	text, err := os.ReadFile(filepath.Join(at, "package.json"))
	var needs struct {
		Dependencies         map[string]string `json:"dependencies"`
		OptionalDependencies map[string]string `json:"optionalDependencies"`
		PeerDependencies     map[string]string `json:"peerDependencies"`
	}
	if err != nil || json.Unmarshal(text, &needs) != nil {
		return
	}
	for _, list := range []map[string]string{needs.Dependencies, needs.OptionalDependencies, needs.PeerDependencies} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			c.imported(at, name)
		}
	}
}

// pythonModules pins the modules of an import statement. m has the dots and the name after from,
// the names after import, and the names of an import without from.
func (c *pinning) pythonModules(dir string, m []string) {
	split := func(list string) []string {
		return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	}
	var names []string
	switch {
	case m[3] != "":
		names = split(m[3])
	case m[1] != "":
		names = append(names, m[1])
	}
	for _, name := range split(m[2]) {
		names = append(names, strings.Trim(m[1]+"."+name, "."))
	}
	dirs := append([]string{dir}, c.python...)
	if up := len(m[0]); up > 0 {
		dirs = []string{filepath.Join(dir, strings.Repeat("../", up-1))}
	}
	for _, name := range names {
		parts := strings.Split(name, ".")
		for _, base := range dirs {
			at := base
			for _, part := range parts {
				c.pythonModule(at, part)
				at = filepath.Join(at, part)
			}
		}
	}
}

// pythonPath finds the directories where Python looks for modules besides the directory of a
// script: those in PYTHONPATH, and the packages installed in the environment of a program.
func (c *pinning) pythonPath(paths string) {
	for _, dir := range append(slices.Clone(c.dirs), filepath.SplitList(paths)...) {
		c.python = append(c.python, c.at(dir))
	}
	for _, dir := range filepath.SplitList(paths) {
		c.shadows(c.at(dir))
	}
	home := filepath.Dir(filepath.Dir(c.program))
	if !isFile(filepath.Join(home, "pyvenv.cfg")) {
		return
	}
	c.file(filepath.Join(home, "pyvenv.cfg"), false)
	libraries, _ := filepath.Glob(filepath.Join(home, "lib", "python*", "site-packages")) // the pattern is valid
	for _, dir := range libraries {
		c.tree(dir)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
