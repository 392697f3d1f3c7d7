package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/lsp"
)

// A languageServer is one that the operator adds, or puts in place of one that
// is built in.
type languageServer struct {
	Command []string `yaml:"command" show:"words"`
	Files   []string `yaml:"files" show:"words"`
}

// LanguageServers are the language servers of jobs, the operator's first.
func (c *Config) LanguageServers() []lsp.Server {
	var own []lsp.Server
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		own = append(own, lsp.Server{Name: name, Command: s.Command, Files: s.Files})
	}
	return lsp.Merge(own)
}

func (c *Config) checkServers(at place) error {
	if c.Diagnostics != "" && c.Diagnostics != "on" && c.Diagnostics != "off" {
		return fail(fmt.Errorf("%s: diagnostics is %q", at("diagnostics"), c.Diagnostics), "it is on or off")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		if len(s.Command) == 0 || len(s.Files) == 0 {
			return fail(fmt.Errorf("%s: language_servers.%s needs command and files", at("language_servers", name), name), `for example {command: [rust-analyzer], files: ["*.rs"]}`)
		}
		for i, p := range s.Files {
			if _, err := path.Match(p, ""); err != nil || strings.Contains(p, "/") {
				return fail(fmt.Errorf("%s: language_servers.%s.files: %q is not a pattern of file names", at("language_servers", name, "files", strconv.Itoa(i)), name, p), `a pattern is for example "*.rs"`)
			}
		}
	}
	return nil
}
