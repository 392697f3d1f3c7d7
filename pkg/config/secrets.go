package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/config/internal/provider"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// secrets configure what no tool may see.
type secrets struct {
	Deny  []string `yaml:"deny"`  // more names of files that no tool may touch
	Allow []string `yaml:"allow"` // names of the built-in list that may be used after all
	Known []string `yaml:"known"` // fingerprints of findings that are no secrets
}

// check checks the names and fingerprints.
func (s secrets) check(at place) error {
	check := func(key string, names []string, check func(string) error) error {
		for i, name := range names {
			if err := check(name); err != nil {
				return fail(fmt.Errorf("%s: secrets.%s: %w", at("secrets", key, strconv.Itoa(i)), key, err), "a name may hold * and ?; it is matched with the end of a path: *.tfvars, config/prod.yaml")
			}
		}
		return nil
	}
	if err := all(check("deny", s.Deny, rootfs.CheckPattern), check("allow", s.Allow, rootfs.CheckAllowed)); err != nil {
		return err
	}
	for i, f := range s.Known {
		if !fingerprint.MatchString(f) {
			return fail(fmt.Errorf("%s: secrets.known has %q, which is no fingerprint", at("secrets", "known", strconv.Itoa(i)), f), "git_commit prints one beside each finding: sixteen letters and digits")
		}
	}
	return nil
}

var fingerprint = lazyregexp.New(`^[0-9a-f]{16}$`)

// Redactor knows every key of a configuration and of the environment, and
// those given. A configuration that could not be read is nil: it works as well
// as it can without.
func Redactor(c *Config, getenv func(string) string, more ...secret.Known) *secret.Redactor {
	var known []secret.Known
	add := func(name, value string) {
		known = append(known, secret.Known{Name: name, Value: value})
	}
	o := secret.Options{}
	if c != nil {
		o.Allow = c.Secrets.Known
		for _, name := range slices.Sorted(maps.Keys(c.keys)) {
			add("key of "+name, c.keys[name])
			for _, token := range mcp.Tokens(name, c.keys[name]) {
				add("login at "+name, token)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
			e := c.Endpoints[name]
			if e.KeyEnv != "" {
				add(e.KeyEnv, getenv(e.KeyEnv))
			}
			for _, h := range slices.Sorted(maps.Keys(e.Headers)) {
				value := e.Headers[h]
				// Of "Bearer KEY" it is the key alone that others echo.
				if _, key, ok := strings.Cut(value, " "); ok && len(key) >= secret.MinKnown {
					add("header "+h, key)
				}
				add("header "+h, value)
			}
		}
		for _, name := range slices.Concat(c.Publish.targets().Secrets(), c.GitHub.target().Secrets()) {
			add(name, getenv(name))
		}
		if name := c.Transcription.KeyEnv; name != "" {
			add(name, getenv(name))
		}
	}
	for _, name := range provider.KeyVariables() {
		add(name, getenv(name))
	}
	var environ []string
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		environ = append(environ, key+"="+getenv(key))
	}
	o.Known = slices.Concat(known, secret.Environ(environ), more)
	return secret.NewRedactor(o)
}
