package tools

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// A Checker reports whether the host has a capability such as git or ffmpeg: nil,
// or an error that reports what to do.
type Checker func(capability string) error

// OnPath is the Checker that looks for a program on PATH. A capability that
// goes by several programs has it if one of them is there. config:KEY stands
// for a key of the configuration: a tool that has what it needs no longer
// requires it.
func OnPath(capability string) error {
	if key, ok := strings.CutPrefix(capability, "config:"); ok {
		return fmt.Errorf("%s is not configured; adroit config show says where the file is, docs/config.md what it takes", key)
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
		if _, err := exec.LookPath(p); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is not on PATH; install it or leave out the tools that need it", strings.Join(programs, " or "))
}

// Missing asks checker, [OnPath] if nil, for everything the tools of set
// require. It returns what the host lacks, by capability, with an error that
// names the tools concerned; an empty map if nothing is missing.
func Missing(set *Set, checker Checker) map[string]error {
	if checker == nil {
		checker = OnPath
	}
	users := map[string][]string{}
	for t := range set.All() {
		for _, c := range t.Requires {
			users[c] = append(users[c], t.Name)
		}
	}
	missing := map[string]error{}
	for _, c := range slices.Sorted(maps.Keys(users)) {
		if err := checker(c); err != nil {
			missing[c] = fmt.Errorf("%w (needed by %s)", err, strings.Join(users[c], ", "))
		}
	}
	return missing
}
