// Package lazyregexp provides regular expressions for package variables that are not compiled
// before main. A pattern is compiled when it is first used:
//
//	var semver = lazyregexp.New(`^v\d+\.\d+\.\d+$`)
//
// It is not for patterns that are made at run time; those may be wrong, and regexp.Compile reports
// that.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Regexp is a [regexp.Regexp] that is compiled at its first use. Its methods match those of
// regexp.Regexp, and it is safe for concurrent use.
type Regexp struct {
	pattern string
	once    sync.Once
	re      *regexp.Regexp
}

// New returns the pattern as a Regexp. A wrong pattern panics at its first
// use; in a test binary, New itself panics, so that the tests of any package
// that imports the variable fail.
func New(pattern string) *Regexp {
	r := &Regexp{pattern: pattern}
	if inTest {
		r.Regexp()
	}
	return r
}

// inTest does not ask testing.Testing, which would link that package.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test") //flowvet:ignore it decides when a pattern is compiled, not what it matches

// Regexp returns the compiled expression, for functions that take one.
func (r *Regexp) Regexp() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.pattern) })
	return r.re
}

func (r *Regexp) Match(b []byte) bool         { return r.Regexp().Match(b) }
func (r *Regexp) SubexpNames() []string       { return r.Regexp().SubexpNames() }
func (r *Regexp) SubexpIndex(name string) int { return r.Regexp().SubexpIndex(name) }
func (r *Regexp) String() string              { return r.pattern }
func (r *Regexp) MatchString(s string) bool   { return r.Regexp().MatchString(s) }
func (r *Regexp) FindString(s string) string  { return r.Regexp().FindString(s) }

func (r *Regexp) FindStringIndex(s string) []int { return r.Regexp().FindStringIndex(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.Regexp().FindStringSubmatch(s) }

func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.Regexp().FindSubmatch(b) }

func (r *Regexp) FindAllString(s string, n int) []string { return r.Regexp().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.Regexp().FindAllStringSubmatch(s, n)
}

func (r *Regexp) ReplaceAllString(s, repl string) string {
	return r.Regexp().ReplaceAllString(s, repl)
}

func (r *Regexp) ReplaceAllStringFunc(s string, repl func(string) string) string {
	return r.Regexp().ReplaceAllStringFunc(s, repl)
}
