package workspace

import (
	"path"
	"strings"
	"unicode"
)

// The names no tool may read or write, whatever it was granted. A pattern is
// matched against each component of the name with its links followed and its
// spelling folded (see fold); one with a slash against the end of the name.
// The list is short on purpose: what it refuses, a person can still do by hand.
var (
	// secretNames are refused for reading and writing.
	secretNames = []string{
		".git", "git~1", // a repository's own files: hooks and config run code, config may hold tokens
		".env*", // and .envrc
		"*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".pgpass",
		".ssh", ".gnupg", ".aws", ".azure",
		".kube/config", ".docker/config.json", ".config/gcloud",
	}
	// openNames are examples that only look like secrets.
	openNames = []string{".env.example", ".env.sample", ".env.template", ".env.dist"}
	// guardedNames may be read but not written: each is taken as instruction or
	// configuration by adroit, another agent or an editor, some without asking.
	guardedNames = []string{".adroit", ".claude", ".mcp.json", ".vscode", ".idea"}
)

// fold gives the spellings that some file system takes for one name a single
// form: case, full-width letters, characters that are not seen, NTFS streams,
// trailing dots and spaces.
func fold(part string) string {
	part = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r), unicode.Is(unicode.Variation_Selector, r), r == 0x034f:
			return -1
		case r >= 0xff01 && r <= 0xff5e:
			r -= 0xfee0
		}
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return unicode.ToLower(least)
	}, part)
	if name, _, ok := strings.Cut(part, ":"); ok && name != "" {
		part = name
	}
	return strings.TrimRight(part, ". ")
}

// deny returns an error if the list above forbids p, a clean name.
func deny(name, p string, write bool) error {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = fold(parts[i])
	}
	if listed(parts, secretNames) {
		return &PathError{Name: name, Reason: "is on the list of secrets and repository internals that no tool may touch; ask the person who runs you"}
	}
	if write && listed(parts, guardedNames) {
		return &PathError{Name: name, Reason: "configures agents or editors and may be read but not changed; ask the person who runs you"}
	}
	return nil
}

func listed(parts []string, patterns []string) bool {
	for i, part := range parts {
		open := false
		for _, o := range openNames {
			open = open || part == o
		}
		if open {
			continue
		}
		for _, pattern := range patterns {
			subject := part
			if n := strings.Count(pattern, "/"); n > 0 {
				if i < n {
					continue
				}
				subject = strings.Join(parts[i-n:i+1], "/")
			}
			if ok, _ := path.Match(pattern, subject); ok {
				return true
			}
		}
	}
	return false
}
