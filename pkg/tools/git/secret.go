package git

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// A shape is what a well-known secret looks like. The list is short and
// precise: a commit refused for nothing teaches people to go around it.
type shape struct {
	name string
	re   *regexp.Regexp
}

var shapes = []shape{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
	{"an AWS access key", regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"a GitHub token", regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})`)},
	{"a GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abprs]-[0-9A-Za-z-]{20,}`)},
	{"a Google API key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}\b`)},
	{"an API key", regexp.MustCompile(`\bsk-(proj-|ant-|or-)?[A-Za-z0-9_-]{32,}`)},
}

func secretIn(line string) string {
	for _, s := range shapes {
		if s.re.MatchString(line) {
			return s.name
		}
	}
	return ""
}

// leak refuses a commit whose new lines hold something shaped like a secret.
// The message names the place and not the secret. Names that are secret by
// themselves are refused by [workspace.Git.Commit].
func leak(ctx context.Context, g *workspace.Git, files *workspace.Files, s *workspace.Status, paths []string) error {
	o := workspace.DiffOptions{Staged: true, Context: 1}
	if len(paths) > 0 && s.Commit != "" {
		o = workspace.DiffOptions{From: "HEAD", Paths: paths, Context: 1}
	}
	diff, err := g.Diff(ctx, o)
	if err != nil {
		return explain(err)
	}
	file := ""
	for l := range strings.SplitSeq(diff, "\n") {
		if name, ok := strings.CutPrefix(l, "+++ b/"); ok {
			file = name
			continue
		}
		if what := secretIn(l); what != "" && strings.HasPrefix(l, "+") {
			return refused(file, what)
		}
	}
	for _, e := range s.Entries {
		if !e.Untracked || len(paths) == 0 || !within(e.Path, paths) {
			continue
		}
		b, err := fs.ReadFile(files.FS(), e.Path)
		if err != nil {
			continue // a name that may not be read may not be committed: Commit says so
		}
		for l := range strings.SplitSeq(string(b), "\n") {
			if what := secretIn(l); what != "" {
				return refused(e.Path, what)
			}
		}
	}
	return nil
}

func within(name string, paths []string) bool {
	for _, p := range paths {
		if covers(p, name) {
			return true
		}
	}
	return false
}

func refused(file, what string) error {
	return fmt.Errorf("%s holds what looks like %s: take it out before committing. If it is meant to be there, the person who runs you has to commit it", file, what)
}
