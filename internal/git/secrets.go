package git

import (
	"context"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/work/process"
)

const (
	// historyTimeout bounds the search of a history; then the last commit alone is
	// searched.
	historyTimeout = 5 * time.Second
	// maxVersions bounds how many versions of environment files are read, and of denied files.
	maxVersions = 500
	// maxSecretFile is the size of a file whose lines are looked at, in bytes.
	maxSecretFile = 256 << 10
)

// A version is content that a file has or had.
type version struct{ object, name string }

// versions are the contents that files have or had, newest first, in any commit of any branch.
func (g *Repo) versions(ctx context.Context, want func(name string) bool, specs ...string) ([]version, error) {
	// ":mode mode object object status NUL path NUL", of all branches and the last commit.
	args := append([]string{"log", "--all", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--no-ext-diff", "-z", "--"}, specs...)
	b, err := g.RunPlumbing(ctx, [][2]string{{"log.showRoot", "true"}, {"diff.relative", "false"}}, process.Cmd{Args: args, Timeout: historyTimeout})
	if err != nil {
		return nil, err
	}
	var all []version
	fields := strings.Split(string(b), "\x00")
	for i := 0; i+1 < len(fields); i++ {
		if meta := strings.Fields(fields[i]); len(meta) == 5 && strings.HasPrefix(meta[0], ":") {
			all = append(all, version{meta[3], fields[i+1]}, version{meta[2], fields[i+1]})
			i++
		}
	}
	return chosen(all, want), nil
}

// chosen are the versions of the files that are wanted, each once.
func chosen(all []version, want func(name string) bool) []version {
	seen := map[string]bool{}
	var out []version
	for _, v := range all {
		if want(v.name) && !seen[v.object] && len(out) < maxVersions && strings.Trim(v.object, "0") != "" {
			seen[v.object] = true
			out = append(out, v)
		}
	}
	return out
}

// head is what the last commit has: "mode blob object TAB path".
func (g *Repo) head(ctx context.Context) []version {
	return g.entries(ctx, func(meta []string) string {
		if meta[1] != "blob" {
			return ""
		}
		return meta[2]
	}, "ls-tree", "-r", "-z", "--full-tree", "HEAD")
}

// index is what the index has: "mode object stage TAB path".
func (g *Repo) index(ctx context.Context) []version {
	return g.entries(ctx, func(meta []string) string { return meta[1] }, "ls-files", "-s", "-z", "--full-name", "--", ":(top)")
}

func (g *Repo) entries(ctx context.Context, object func(meta []string) string, args ...string) []version {
	list, err := g.ListNames(ctx, args...)
	if err != nil {
		return nil
	}
	var out []version
	for _, entry := range list {
		meta, name, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(meta); len(f) == 3 && object(f) != "" {
			out = append(out, version{object(f), name})
		}
	}
	return out
}

// content is that of an object, "" if it cannot be read or is larger than files with secrets are.
func (g *Repo) content(ctx context.Context, object string) string {
	b, err := g.Capture(ctx, nil, process.Cmd{Args: []string{"cat-file", "blob", object}}, maxSecretFile)
	if err != nil {
		return ""
	}
	return string(b)
}
