package tools

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Set is an immutable collection of tools, ordered by name, so that everything derived
// from it is the same byte for byte every time. A nil Set is empty. It is safe for
// concurrent use.
type Set struct {
	tools []Tool // sorted by name
	specs func() []llm.ToolSpec
}

// NewSet checks tools and collects them. The error lists every fault of every
// tool, one sentence a line; the Set is nil then. Tools that ship are checked by
// tests of this module instead.
func NewSet(tools ...Tool) (*Set, error) {
	if err := check(tools); err != nil {
		return nil, err
	}
	return newSet(slices.Clone(tools)), nil
}

// newSet takes tools that have been checked.
func newSet(tools []Tool) *Set {
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	s := &Set{tools: tools}
	s.specs = sync.OnceValue(func() []llm.ToolSpec {
		specs := make([]llm.ToolSpec, len(tools))
		for i, t := range tools {
			specs[i] = llm.ToolSpec{Name: t.Name, Description: t.describe(), Input: t.Input.JSON()}
		}
		return specs
	})
	return s
}

// describe returns the description of the tool for models with native tools.
func (m Metadata) describe() string {
	if m.Optionality == Conditional {
		return m.Description + " Use only when " + strings.TrimSuffix(m.When, ".") + "."
	}
	return m.Description
}

func (s *Set) list() []Tool {
	if s == nil {
		return nil
	}
	return s.tools
}

func (s *Set) index(name string) (int, bool) {
	return slices.BinarySearchFunc(s.list(), name, func(t Tool, name string) int { return strings.Compare(t.Name, name) })
}

// Len returns the number of tools.
func (s *Set) Len() int { return len(s.list()) }

// Lookup returns the tool of exactly that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	i, ok := s.index(name)
	if !ok {
		return Tool{}, false
	}
	return s.tools[i], true
}

// Nearest returns the name of the tool that name most likely means, "" if
// none is close. It is for advice: a call is never redirected.
func (s *Set) Nearest(name string) string { return spelling.Nearest(name, s.Names()) }

// All yields the tools in the order of their names.
func (s *Set) All() iter.Seq[Tool] { return slices.Values(s.list()) }

// Names returns the names in order.
func (s *Set) Names() []string {
	names := make([]string, 0, s.Len())
	for t := range s.All() {
		names = append(names, t.Name)
	}
	return names
}

// Specs returns the tools' specifications for a model, the same slice every time.
// The caller must not change it.
func (s *Set) Specs() []llm.ToolSpec {
	if s == nil || s.specs == nil {
		return nil
	}
	return s.specs()
}

// Only returns the tools that names select. A name may hold the wildcards of
// [path.Match], as in git_*. Each name must select something; the error lists
// those that do not, with the nearest names.
func (s *Set) Only(names ...string) (*Set, error) {
	if err := s.Unknown(names...); err != nil {
		return nil, err
	}
	return s.where(func(t Tool) bool { return selects(names, t.Name) }), nil
}

// Without returns the tools that names, which may contain wildcards, do not select.
// Unknown names are not an error: denying an absent tool is common. [Set.Unknown] finds
// misspelt ones.
func (s *Set) Without(names ...string) *Set {
	return s.where(func(t Tool) bool { return !selects(names, t.Name) })
}

// Unknown returns an error that lists the names which select no tool or are not a valid
// pattern, and nil if there are none.
func (s *Set) Unknown(names ...string) error {
	var errs []error
	for _, name := range names {
		if _, err := path.Match(name, ""); err != nil {
			errs = append(errs, fmt.Errorf("tool pattern %q is malformed; wildcards are *, ? and [a-z]", name))
			continue
		}
		if slices.ContainsFunc(s.list(), func(t Tool) bool { return selects([]string{name}, t.Name) }) {
			continue
		}
		if strings.ContainsAny(name, "*?[") {
			errs = append(errs, fmt.Errorf("no tool matches %q; there are %s", name, joinNames(s.Names())))
		} else if near := s.Nearest(name); near != "" {
			errs = append(errs, fmt.Errorf("unknown tool %q (did you mean %q?)", name, near))
		} else {
			errs = append(errs, fmt.Errorf("unknown tool %q; there are %s", name, joinNames(s.Names())))
		}
	}
	return errors.Join(errs...)
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// selects reports whether one of patterns matches name.
func selects(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// With returns s and more. It fails as [NewSet] does, also for a name that s
// already has.
func (s *Set) With(more ...Tool) (*Set, error) {
	return NewSet(slices.Concat(s.list(), more)...)
}

func (s *Set) where(keep func(Tool) bool) *Set {
	var kept []Tool
	for t := range s.All() {
		if keep(t) {
			kept = append(kept, t)
		}
	}
	return newSet(kept)
}

// OnPath reports whether the program of a capability is on PATH: nil, or an error
// that reports what to do. A capability that goes by several programs is there if
// one of them is. config:KEY stands for a key of the configuration: a tool that has
// what it needs no longer requires it.
func OnPath(capability string) error {
	if key, ok := strings.CutPrefix(capability, "config:"); ok {
		return fmt.Errorf("%s is not configured; %s says where the file is, docs/config.md what it takes", key, hint.Command("config show"))
	}
	if name, ok := strings.CutPrefix(capability, secretOf); ok {
		if os.Getenv(name) == "" {
			return fmt.Errorf("%s is not set in the environment; set it where adroit starts", name)
		}
		return nil
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

// secretOf stands before a variable with a secret, among capabilities.
const secretOf = "secret:"

// Missing asks host, such as [OnPath], for everything the tools of set require, and for
// secret:NAME where they need a secret. It
// returns what the host lacks, by capability, with an error that names the tools
// concerned; an empty map if nothing is missing.
func Missing(set *Set, host func(capability string) error) map[string]error {
	users := map[string][]string{}
	for t := range set.All() {
		for _, c := range t.Requires {
			users[c] = append(users[c], t.Name)
		}
		for _, s := range t.Secrets {
			users[secretOf+s] = append(users[secretOf+s], t.Name)
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
