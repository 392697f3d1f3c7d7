package git

import (
	"context"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/workspace/process"
)

const (
	// historyTimeout bounds the search of a history; then the last commit alone is
	// searched.
	historyTimeout = 5 * time.Second
	// maxEnvVersions bounds how many versions of environment files are read.
	maxEnvVersions = 500
)

// EnvSecrets finds the secrets in the environment files (.env and the like) of
// dir: those that are there, and those that its repository has in any commit of
// any branch, because a command can print these too. What cannot be read is
// left out.
func EnvSecrets(ctx context.Context, dir string) []secret.Known {
	known := secret.DotenvIn(dir)
	real, err := rootfs.Real(dir)
	if err != nil {
		return known
	}
	if _, ok := rootfs.Repository(real); !ok {
		return known
	}
	g := OnHost(dir)
	for _, object := range g.envObjects(ctx) {
		// An object that is large is no environment file.
		if b, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"cat-file", "blob", object}}); err == nil && len(b) <= 256<<10 {
			known = append(known, secret.Dotenv(string(b))...)
		}
	}
	return known
}

// envObjects are the contents that environment files have or had.
func (g *Repo) envObjects(ctx context.Context) []string {
	seen := map[string]bool{}
	var out []string
	add := func(object, name string) {
		if i := strings.LastIndexByte(name, '/'); !secret.Dotfile(name[i+1:]) || seen[object] || len(out) == maxEnvVersions || strings.Trim(object, "0") == "" {
			return
		}
		seen[object] = true
		out = append(out, object)
	}
	// ":mode mode object object status NUL path NUL", of all branches and the last commit.
	b, err := g.RunPlumbing(ctx, [][2]string{{"log.showRoot", "true"}, {"diff.relative", "false"}}, process.Cmd{Args: []string{"log", "--all", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--no-ext-diff", "-z",
		"--", ":(top,glob)**/.env*"}, Timeout: historyTimeout})
	if err == nil {
		fields := strings.Split(string(b), "\x00")
		for i := 0; i+1 < len(fields); i++ {
			if meta := strings.Fields(fields[i]); len(meta) == 5 && strings.HasPrefix(meta[0], ":") {
				add(meta[2], fields[i+1])
				add(meta[3], fields[i+1])
				i++
			}
		}
		return out
	}
	// It took too long or is too much: "mode blob object TAB path", of the last commit.
	b, err = g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"ls-tree", "-r", "-z", "--full-tree", "HEAD"}})
	if err != nil {
		return out
	}
	for entry := range strings.SplitSeq(string(b), "\x00") {
		meta, name, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[1] == "blob" {
			add(f[2], name)
		}
	}
	return out
}
