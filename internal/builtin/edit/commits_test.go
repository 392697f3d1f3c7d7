package edit_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// A commit is a step of a repository's history.
type commit struct {
	name  string
	files []pair
}

// A pair is a file before and after a commit.
type pair struct{ path, was, is string }

const (
	mostFiles = 6         // of a commit that is sampled
	mostBytes = 200 << 10 // of a file
)

// usable reports whether p is a change of a text file of ordinary size.
func (p pair) usable() bool {
	for _, s := range []string{p.was, p.is} {
		if len(s) > mostBytes || strings.ContainsAny(s, "\x00\r") || !utf8.ValidString(s) {
			return false
		}
	}
	return p.was != p.is && p.was != "" && p.is != ""
}

// history samples n commits of the Git repository at dir: none where there is
// no Git or no repository, few where the clone is shallow.
func history(t *testing.T, rnd *rand.Rand, dir string, n int) []commit {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		return string(out), err
	}
	list, err := git("rev-list", "--no-merges", "--min-parents=1", "HEAD")
	if err != nil {
		t.Logf("no history at %s: %v", dir, err)
		return nil
	}
	ids := strings.Fields(list)
	rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var out []commit
	for _, id := range ids {
		if len(out) == n {
			break
		}
		raw, err := git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--diff-filter=M", "--no-commit-id", id)
		if err != nil {
			continue // the parent is beyond the end of a shallow clone
		}
		c := commit{name: filepath.Base(strings.TrimSuffix(dir, "/repo")) + "@" + id[:10]}
		fields := strings.Split(raw, "\x00")
		for i := 0; i+1 < len(fields) && len(c.files) < mostFiles; i += 2 {
			f := strings.Fields(fields[i]) // :mode mode blob blob M
			if len(f) < 5 || !strings.HasPrefix(f[0], ":100") || !strings.HasPrefix(f[1], "100") {
				continue
			}
			was, err1 := git("cat-file", "blob", f[2])
			is, err2 := git("cat-file", "blob", f[3])
			if p := (pair{fields[i+1], was, is}); err1 == nil && err2 == nil && p.usable() {
				c.files = append(c.files, p)
			}
		}
		if len(c.files) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// pinned are versions of small modules, in order. What is between two of them
// stands for a commit: larger changes than people make at once.
var pinned = []struct {
	path     string
	versions []string
}{
	{"github.com/BurntSushi/toml", []string{"v1.3.2", "v1.4.0", "v1.5.0"}},
	{"github.com/spf13/cobra", []string{"v1.7.0", "v1.8.0", "v1.8.1", "v1.9.1", "v1.10.1"}},
	{"github.com/spf13/pflag", []string{"v1.0.5", "v1.0.6", "v1.0.7", "v1.0.9"}},
	{"github.com/rogpeppe/go-internal", []string{"v1.11.0", "v1.12.0", "v1.13.1", "v1.14.1"}},
	{"github.com/yuin/goldmark", []string{"v1.7.0", "v1.7.4", "v1.7.8", "v1.7.12"}},
	{"golang.org/x/mod", []string{"v0.17.0", "v0.20.0", "v0.24.0", "v0.28.0"}},
}

// modules samples n steps between versions of modules. What is neither in the
// module cache nor on the proxy is left out.
func modules(t *testing.T, rnd *rand.Rand, n int) []commit {
	dir := t.TempDir()
	tree := func(module string) string {
		cmd := exec.Command("go", "mod", "download", "-json", module)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if testing.Short() {
			cmd.Env = append(cmd.Env, "GOPROXY=off")
		}
		b, _ := cmd.Output()
		var m struct{ Dir string }
		if json.Unmarshal(b, &m) != nil || m.Dir == "" {
			t.Logf("%s is not to be had", module)
		}
		return m.Dir
	}
	steps := 0
	for _, p := range pinned {
		steps += len(p.versions) - 1
	}
	var all []commit
	for range min(n, steps) { // a step each, or all of them
		p := pinned[rnd.IntN(len(pinned))]
		i := rnd.IntN(len(p.versions) - 1)
		was, is := tree(p.path+"@"+p.versions[i]), tree(p.path+"@"+p.versions[i+1])
		if was == "" || is == "" {
			continue
		}
		c := commit{name: p.path + "@" + p.versions[i+1]}
		_ = filepath.WalkDir(was, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel := strings.TrimPrefix(name, was+"/")
			a, err1 := os.ReadFile(name)
			b, err2 := os.ReadFile(filepath.Join(is, rel))
			if p := (pair{rel, string(a), string(b)}); err1 == nil && err2 == nil && p.usable() {
				c.files = append(c.files, p)
			}
			return nil
		})
		rnd.Shuffle(len(c.files), func(i, j int) { c.files[i], c.files[j] = c.files[j], c.files[i] })
		if c.files = c.files[:min(len(c.files), mostFiles)]; len(c.files) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// made returns commits to files full of siblings: blocks that differ in a name and are
// alike in the lines below it, in code, configuration, Markdown and prose. There an edit
// is most likely to land in the wrong place.
func made(rnd *rand.Rand, n int) []commit {
	kinds := []struct{ path, block string }{
		{"a.go", "func NAME(ctx context.Context) error {\n\tif err := check(ctx); err != nil {\n\t\treturn err\n\t}\n\tlimit := NUM\n\tfor i := range limit {\n\t\trun(ctx, i)\n\t}\n\treturn nil\n}\n\n"},
		{"b.yaml", "- name: NAME\n  image: base\n  replicas: NUM\n  env:\n    - key: MODE\n      value: fast\n"},
		{"c.md", "## NAME\n\nInstall it:\n\n```sh\nmake NAME\nmake install\n```\n\nThe limit is NUM.\n\n"},
		{"d.json", "  {\n    \"tool\": \"NAME\",\n    \"decision\": \"allow\",\n    \"priority\": NUM\n  },\n"},
		{"e.py", "class NAME(Base):\n    limit = NUM\n\n    def run(self):\n        return self.limit\n\n    def stop(self):\n        self.done = True\n\n"},
		{"f.txt", "fn NAME\nx=NUM\ny=2\n"},
		{"g.ts", "  it('handles NAME', () => {\n    const rule = rules.find((r) => r.name === 'NAME');\n    expect(rule).toEqual({\n      decision: ALLOW,\n      priority: NUM,\n    });\n  });\n\n"},
	}
	word := func() string {
		return []string{"Alpha", "Beta", "Gamma", "Delta", "Policy", "Remote"}[rnd.IntN(6)] + strconv.Itoa(rnd.IntN(30))
	}
	var out []commit
	for i := range n {
		k := kinds[rnd.IntN(len(kinds))]
		var b strings.Builder
		for range 3 + rnd.IntN(8) {
			b.WriteString(strings.NewReplacer("NAME", word(), "NUM", strconv.Itoa(10*rnd.IntN(4))).Replace(k.block))
		}
		p := pair{k.path, b.String(), ""}
		ls := strings.SplitAfter(p.was, "\n")
		for range 1 + rnd.IntN(3) {
			at := rnd.IntN(len(ls))
			switch rnd.IntN(5) {
			case 0: // lines of another place come here
				from := rnd.IntN(len(ls))
				ls[at] += strings.Join(ls[from:min(len(ls), from+1+rnd.IntN(20))], "")
			case 1:
				ls[at] = ""
			case 2:
				ls[at] += strings.Replace(ls[at], ":", ": new", 1) + strings.Repeat("added line\n", rnd.IntN(3))
			default:
				ls[at] = strings.NewReplacer("0", "7", "e", "E").Replace(ls[at])
			}
		}
		if p.is = strings.Join(ls, ""); p.usable() {
			out = append(out, commit{fmt.Sprint("made/", i), []pair{p}})
		}
	}
	return out
}
