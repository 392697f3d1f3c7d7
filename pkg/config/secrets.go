package config

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/internal/rootfs"
)

// secrets configure what no tool may see.
type secrets struct {
	Deny  []string `yaml:"deny"`  // more names of files that no tool may touch
	Allow []string `yaml:"allow"` // names of the built-in list that may be used after all
	Known []string `yaml:"known"` // fingerprints of findings that are no secrets
}

// check checks the names and fingerprints.
func (s secrets) check(where string) error {
	for _, name := range append(slices.Clone(s.Deny), s.Allow...) {
		if err := rootfs.CheckPattern(name); err != nil {
			return fail(fmt.Errorf("%s: secrets: %w", where, err), "a name may hold * and ?; it is matched with the end of a path: *.tfvars, config/prod.yaml")
		}
	}
	for _, f := range s.Known {
		if !fingerprint.MatchString(f) {
			return fail(fmt.Errorf("%s: secrets.known has %q, which is no fingerprint", where, f), "git_commit prints one beside each finding: sixteen letters and digits")
		}
	}
	return nil
}

var fingerprint = lazyregexp.New(`^[0-9a-f]{16}$`)
