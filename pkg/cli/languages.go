package cli

import (
	"os/exec"
	"strings"
)

// examineServers looks for the language servers, without starting them.
func (a *app) examineServers() []finding {
	c, err := a.config()
	if err != nil {
		return nil // examineConfig says so
	}
	var out []finding
	for _, s := range c.LanguageServers() {
		use := strings.Join(s.Files, " ")
		at, err := exec.LookPath(s.Command[0])
		if err != nil {
			out = append(out, finding{s.Name, lacks, s.Command[0] + " is not on PATH", "install it for diagnostics after changes of " + use})
			continue
		}
		out = append(out, finding{s.Name, fine, a.home(at) + " for " + use, ""})
	}
	return out
}
