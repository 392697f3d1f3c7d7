package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pythonModule pins what Python may find for a module that it looks for in a directory: a
// compiled one, an extension, a source or a package.
func (c *pinning) pythonModule(dir, name string) {
	for _, at := range []string{dir, filepath.Join(dir, name)} {
		entries, err := os.ReadDir(at)
		if err != nil {
			continue
		}
		want := name
		if at != dir {
			want = "__init__"
		}
		for _, e := range entries {
			if n, ok := importable(e.Name()); ok && n == want {
				c.file(filepath.Join(at, e.Name()), false)
			}
		}
	}
}

// importable is the name of the module that a file is, as Python finds it by its end.
func importable(file string) (module string, ok bool) {
	module, rest, _ := strings.Cut(file, ".")
	return module, slices.Contains([]string{"py", "pyc", "pyw"}, rest) || strings.HasSuffix("."+rest, ".so") || strings.HasSuffix("."+rest, ".pyd")
}

// shadows pins the modules of a directory that Python finds before those of its library
// with the same names, and what it runs at its start.
func (c *pinning) shadows(dir string) {
	if c.shadowsIn[dir] {
		return
	}
	c.shadowsIn[dir] = true
	if c.shadowed == nil {
		c.shadowed = library(c.program)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || c.fixed(real(dir)) {
		return
	}
	for _, e := range entries {
		name, ok := importable(e.Name())
		if e.IsDir() {
			name, ok = e.Name(), true
		}
		if ok && c.shadowed[name] {
			c.pythonModule(dir, name)
		}
		if strings.HasSuffix(e.Name(), ".pth") {
			c.file(filepath.Join(dir, e.Name()), false)
		}
	}
}

// library has the names of the modules that come with an interpreter and with the system.
func library(interpreter string) map[string]bool {
	names := map[string]bool{"sitecustomize": true, "usercustomize": true}
	for _, prefix := range []string{filepath.Dir(filepath.Dir(real(interpreter))), filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "versions", "*"), "/usr", "/usr/local"} {
		homes, _ := filepath.Glob(filepath.Join(prefix, "lib*", "python3*")) // a pattern that is not valid finds none
		for _, home := range homes {
			for _, sub := range []string{"", "lib-dynload", "dist-packages", "site-packages"} {
				entries, err := os.ReadDir(filepath.Join(home, sub))
				if err != nil {
					continue
				}
				for _, e := range entries {
					if name, ok := importable(e.Name()); ok {
						names[name] = true
					} else if e.IsDir() {
						names[e.Name()] = true
					}
				}
			}
		}
	}
	return names
}
