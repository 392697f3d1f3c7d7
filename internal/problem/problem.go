// Package problem has the vocabulary of failures: the types that agents name under
// problem_types and a coordinator decides by, the signature by which two failures are the
// same, what a machine says of one, and what earlier jobs have met.
//
//	problem.Canonical("BUILD_FAILURE") // "build", true
//	problem.Signature(output)          // the same for the same failure elsewhere
//	facts := problem.Facts(dir, command, output)
//	facts["program cmake"] // "not found"
//
// It decides nothing: see internal/coordinator. What is remembered came from outside: it
// is data, and no word of it is an instruction.
package problem

import (
	"slices"
	"strings"
)

// Types of problems: a closed list.
const (
	Build       = "build"
	Test        = "test"
	Quality     = "quality"
	Lint        = "lint"
	Type        = "type"
	Format      = "format"
	Publish     = "publish"
	Environment = "environment"
	Dependency  = "dependency"
	Auth        = "registry-auth"
	Merge       = "merge" // both sides have changed the same lines
)

// Types lists them.
var Types = []string{Build, Test, Quality, Lint, Type, Format, Publish, Environment, Dependency, Auth, Merge}

// Canonical is the type that a name means, as in BUILD_FAILURE, build-failure or
// build. It reports whether there is one, among those built in and more.
func Canonical(name string, more ...string) (string, bool) {
	s := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimSpace(name)))
	for _, end := range []string{"-failure", "-error", "-problem"} {
		s = strings.TrimSuffix(s, end)
	}
	switch s {
	case "auth", "authentication":
		s = Auth
	case "env":
		s = Environment
	case "tests":
		s = Test
	case "types":
		s = Type
	}
	return s, slices.Contains(Types, s) || slices.Contains(more, s)
}

// All are the types that names mean, built in or among more, without those that mean
// none.
func All(names []string, more ...string) (out []string) {
	for _, n := range names {
		if t, ok := Canonical(n, more...); ok && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
