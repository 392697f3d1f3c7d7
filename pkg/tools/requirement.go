package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
)

// OnPath reports whether the program of a capability is on PATH: nil, or an error
// that reports what to do. A capability that goes by several programs is there if
// one of them is. config:KEY stands for a key of the configuration: a tool that has
// what it needs no longer requires it.
func OnPath(capability string) error {
	if key, ok := strings.CutPrefix(capability, "config:"); ok {
		return fmt.Errorf("%s is not configured; %s says where the file is, docs/config.md what it takes", key, hint.Command("config show"))
	}
	programs := []string{capability}
	switch capability {
	case "python":
		programs = []string{"python3", "python"}
	case "ripgrep":
		programs = []string{"rg"}
	case "docker":
		programs = []string{"docker", "podman"}
	}
	for _, p := range programs {
		if _, err := hostexec.InSandbox(p); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is not on PATH; install it or leave out the tools that need it", strings.Join(programs, " or "))
}

// Missing asks host, such as [OnPath], for everything the tools of set require. It
// returns what the host lacks, by capability, with an error that names the tools
// concerned; an empty map if nothing is missing.
func Missing(set *Set, host func(capability string) error) map[string]error {
	users := map[string][]string{}
	for t := range set.All() {
		for _, c := range t.Requires {
			users[c] = append(users[c], t.Name)
		}
	}
	missing := map[string]error{}
	for _, c := range slices.Sorted(maps.Keys(users)) {
		if err := host(c); err != nil {
			missing[c] = fmt.Errorf("%w (needed by %s)", err, strings.Join(users[c], ", "))
		}
	}
	return missing
}
