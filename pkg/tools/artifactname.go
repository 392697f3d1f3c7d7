package tools

import "strings"

// TestCommand names the artifact that has the command line which runs the
// project's tests, where the operator has configured one. It is given to tools
// that have it in Metadata.Uses, and no tool, input or agent can set it.
const TestCommand = "test_command"

// IsFamily reports whether name in Produces, Consumes or Uses stands for a family
// of artifacts, as section/* does for section/intro and section/end: parts that
// calls make one by one, beside each other.
func IsFamily(name string) bool { return strings.HasSuffix(name, "/*") }

// Matches reports whether an artifact is the one that name stands for, or one
// of its family.
func Matches(name, artifact string) bool {
	prefix, family := strings.CutSuffix(name, "*")
	if !family || !strings.HasSuffix(prefix, "/") {
		return name == artifact
	}
	return strings.HasPrefix(artifact, prefix) && len(artifact) > len(prefix)
}
