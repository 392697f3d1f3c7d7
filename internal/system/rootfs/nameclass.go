package rootfs

import (
	"path"
	"slices"
)

// A Class is why an entry needs protection.
type Class int

const (
	GitEntry     Class = iota + 1 // named .git: a directory, a file or a link
	SecretName                    // not to be read by commands
	ConfigName                    // not to be made or changed by commands
	secretConfig                  // neither
)

func (c Class) Secret() bool { return c == SecretName || c == secretConfig }
func (c Class) Config() bool { return c == ConfigName || c == secretConfig }

// Suspects tell apart quickly the many names that need no protection. What they
// let through is judged as the file tools do.
type Classifier struct {
	names *DenyList
	*nameList
}

func NewClassifier(n *DenyList) *Classifier {
	patterns := slices.Concat(secretNames, guardedNames, askedNames)
	if n != nil {
		patterns = slices.Concat(patterns, n.quick())
	}
	return &Classifier{n, newNameList(patterns)}
}

// Class is that of a name relative to the tree, 0 if it needs no protection.
func (s *Classifier) Class(rel string) Class {
	parts := foldedParts(rel)
	secret := s.names.secret(rel, parts)
	switch {
	case secret && listed(parts, startNames):
		return secretConfig
	case secret:
		return SecretName
	case listed(parts, guardedNames), listed(parts, askedNames):
		return ConfigName
	}
	return 0
}

// Refusal is the reason why a command may not leave a file of that name.
func Refusal(rel string) string {
	if NeedsApproval(rel) {
		return needsYes
	}
	return ConfiguresPrograms
}

// RefuseConfig is refuses where what was there before the command is not known.
func RefuseConfig(names *DenyList) func(dir int, rel string) string {
	s := NewClassifier(names)
	return func(_ int, rel string) string {
		if path.Base(rel) == ".git" || s.Maybe(Fold(path.Base(rel))) && s.Class(rel).Config() {
			return Refusal(rel)
		}
		return ""
	}
}

const (
	ConfiguresPrograms = "configures programs that run outside of the sandbox"
	needsYes           = "says what runs later without a question; write it with a file tool, which asks for approval"
)
