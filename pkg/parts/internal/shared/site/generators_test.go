package site

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// A generator is one of other people, which builds sites.
type generator struct {
	style string
	build func(t *testing.T, sites []builtSite)
	sites map[string]map[string]string // files by name, without the posts
	posts map[string]string            // front matter by the name of the file below where posts are
	at    string                       // where posts are
	body  string                       // of a post with a word; behind it the page has its address, and a §
	root  string                       // what comes before it
}

// A builtSite is a site in a directory, and the directory it is built into.
type builtSite struct {
	name, dir, out string
	words          map[string]string // of its posts, by name
}

// files writes them below a directory.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// compareBuilt builds each site and compares where its posts are with the
// addresses that we know for them. Each post has a word of its own, and behind it
// the generator writes the address.
func compareBuilt(t *testing.T, g generator) {
	var sites []builtSite
	for name, files := range g.sites {
		s := builtSite{name, t.TempDir(), t.TempDir(), map[string]string{}}
		writeFiles(t, s.dir, files)
		for post, matter := range g.posts {
			word := fmt.Sprintf("word%dend", len(s.words)+1)
			s.words[path.Join(g.at, post)] = word
			writeFiles(t, s.dir, map[string]string{path.Join(g.at, post): "---\n" + matter + "---\n\n" + fmt.Sprintf(g.body, word)})
		}
		sites = append(sites, s)
	}
	g.build(t, sites)
	for _, site := range sites {
		t.Run(site.name, func(t *testing.T) {
			pages := pagesOf(t, site.out)
			if len(pages) == 0 {
				t.Fatal("no page was built")
			}
			s := Open(os.DirFS(site.dir), Settings{})
			if s.Style != g.style || s.Posts != g.at {
				t.Fatalf("it is known as %s with posts in %s", s.Style, s.Posts)
			}
			for post, word := range site.words {
				want := ""
				for _, text := range pages {
					if _, own, ok := strings.Cut(text, word+" "); ok {
						want, _, _ = strings.Cut(own, "§")
					}
				}
				got, err := url.PathUnescape(s.Address(s.Load(post)))
				want, _ = url.PathUnescape(want)
				if err != nil || want == "" || got != g.root+want {
					t.Errorf("%s: %q, it was built as %q", post, got, want)
				}
			}
		})
	}
}

// buildEach builds the sites one after the other by a command of each.
func buildEach(command func(t *testing.T, s builtSite) *exec.Cmd) func(*testing.T, []builtSite) {
	return func(t *testing.T, sites []builtSite) {
		for _, s := range sites {
			cmd := command(t, s)
			cmd.Dir = s.dir
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", s.name, err, text)
			}
		}
	}
}

func pagesOf(t *testing.T, out string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(out), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(out, name))
		pages[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// jekyllBuilds runs jekyll build, in a process for each pair of directories. They share
// the loading of Ruby's libraries, which takes longer than the build.
const jekyllBuilds = `require "jekyll"
ARGV.each_slice(2) do |dir, out|
  Process.wait(fork { Dir.chdir(dir); Jekyll::Commands::Build.process("destination" => out, "quiet" => true, "disable_disk_cache" => true) })
  $?.success? or abort "jekyll failed in #{dir}"
end`

// TestAddressesOfJekyll compares the addresses of posts with those that a real
// Jekyll gives them.
func TestAddressesOfJekyll(t *testing.T) {
	testenv.NeedsProgram(t, "jekyll")
	sites := map[string]map[string]string{}
	for _, permalink := range []string{"", "date", "pretty", "ordinal", "none", "weekdate", "/:categories/:slug/", "/:year/:short_year/:i_month/:i_day/:title/", "/w/:title", "/:year-:month/:title.html"} {
		config := "url: https://x.example\nbaseurl: /sub\ntimezone: Europe/Berlin\nfuture: true\n"
		if permalink != "" {
			config += "permalink: " + permalink + "\n"
		}
		sites["permalink "+permalink] = map[string]string{"_config.yml": config}
	}
	compareBuilt(t, generator{
		style: Jekyll, at: "_posts", sites: sites, root: "https://x.example/sub", body: "%s {{ page.url }}§\n",
		build: func(t *testing.T, sites []builtSite) {
			cmd := exec.Command("ruby", "-e", jekyllBuilds)
			for _, s := range sites {
				cmd.Args = append(cmd.Args, s.dir, s.out)
			}
			cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		},
		posts: map[string]string{
			"2026-11-05-my-post.md":           "title: Other words\n",
			"2026-01-09-My_Post v1.2.md":      "title: T\n",
			"2026-01-10-slug.md":              "title: T\nslug: My Slug\n",
			"2026-01-11-own.md":               "title: T\npermalink: /own/place/\n",
			"2026-01-12-own-file.md":          "title: T\npermalink: /own/file.html\n",
			"2026-01-13-category.md":          "title: T\ncategory: Two Words\n",
			"2026-01-14-categories.md":        "title: T\ncategories: one Two\n",
			"2026-01-15-list.md":              "title: T\ncategories: [One, Two Words]\n",
			"2026-01-16-dated.md":             "title: T\ndate: 2025-03-04\n",
			"2026-01-17-evening.md":           "title: T\ndate: 2026-02-28 23:30:00 -0500\n",
			"2026-01-18-local.md":             "title: T\ndate: 2026-02-28 23:30:00\n",
			"2026-01-19-zulu.md":              "title: T\ndate: 2026-02-28T23:30:00Z\n",
			"2026-01-20-Straße-und-Übung.md":  "title: T\n",
			"2026-01-21-c++.md":               "title: T\n",
			"2026-01-22-why-not.markdown":     "title: T\n",
			"2026-01-23-both.md":              "title: T\ncategory: a\ncategories: [b]\n",
			"area/2026-01-24-in-directory.md": "title: T\n",
		},
	})
}

// TestAddressesOfEleventy and TestAddressesOfAstro do the same with what
// internal/dev/e2e/install.sh installs.
func TestAddressesOfEleventy(t *testing.T) {
	compareBuilt(t, generator{
		style: Eleventy, at: "posts", root: "https://x.example", body: "%s {{ page.url }}§\n",
		sites: map[string]map[string]string{
			"root":  {"eleventy.config.js": "export default function () {}\n", "_data/metadata.json": `{"url": "https://x.example/"}`, "package.json": `{"type": "module"}`},
			"input": {".eleventy.js": "module.exports = function () { return { dir: { input: 'posts' } }; };\n", "posts/_data/metadata.json": `{}`, "_data/metadata.json": `{"url": "https://x.example/"}`},
		},
		build: buildEach(func(t *testing.T, s builtSite) *exec.Cmd {
			return npmProgram(t, "@11ty/eleventy/cmd.cjs", "--quiet", "--output="+s.out)
		}),
		posts: map[string]string{
			"my-post.md":                 "title: T\n",
			"2026-01-09-dated.md":        "title: T\n",
			"My Post.md":                 "title: T\n",
			"a_b.v1.md":                  "title: T\n",
			"Straße.md":                  "title: T\n",
			"deep/er/post.md":            "title: T\n",
			"folder/index.md":            "title: T\n",
			"same/same.md":               "title: T\n",
			"2026-01-10-folder/index.md": "title: T\n",
			"2026-01-11-f/post.md":       "title: T\n",
			"own.md":                     "title: T\npermalink: /own/place/\n",
			"own-file.md":                "title: T\npermalink: /own/file.html\n",
			"own-relative.md":            "title: T\npermalink: own/relative/\n",
			"slug.md":                    "title: T\nslug: other\n",
		},
	})
}

func TestAddressesOfAstro(t *testing.T) {
	page := func(collection string) string {
		return fmt.Sprintf(`---
import { getCollection, render } from 'astro:content';
export async function getStaticPaths() {
  return (await getCollection('%s')).map((entry) => ({ params: { slug: entry.id }, props: { entry } }));
}
const { Content } = await render(Astro.props.entry);
---
<html><body><Content /><p>{Astro.props.entry.body.trim()} {Astro.url.pathname}§</p></body></html>
`, collection)
	}
	content := "import { defineCollection } from 'astro:content';\nimport { glob } from 'astro/loaders';\nexport const collections = { blog: defineCollection({ loader: glob({ pattern: '**/*.md', base: './src/content/blog' }) }) };\n"
	site := func(config string) map[string]string {
		return map[string]string{
			"astro.config.mjs": "export default {\n  site: 'https://x.example', cacheDir: './.cache', vite: { cacheDir: './.vite' },\n" + config + "};\n", "package.json": `{"type": "module"}`,
			"src/content.config.ts": content, "src/pages/blog/[...slug].astro": page("blog"),
		}
	}
	compareBuilt(t, generator{
		style: Astro, at: "src/content/blog", root: "https://x.example", body: "%s\n",
		sites: map[string]map[string]string{
			"plain":                  site(""),
			"base and never a slash": site("  base: '/sub',\n  trailingSlash: 'never',\n"),
			"files":                  site("  build: { format: 'file' },\n"),
		},
		build: buildEach(func(t *testing.T, s builtSite) *exec.Cmd {
			if err := os.Symlink(filepath.Join(os.Getenv("SITE_GENERATORS"), "node_modules"), filepath.Join(s.dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			return npmProgram(t, "astro/astro.js", "build", "--outDir", s.out)
		}),
		posts: map[string]string{
			"my-post.md":          "title: T\n",
			"2026-01-09-dated.md": "title: T\n",
			"Two Words.md":        "title: T\n",
			"a_b.v1.md":           "title: T\n",
			"Straße über.md":      "title: T\n",
			"c++ & d.md":          "title: T\n",
			"deep/Er/post.md":     "title: T\n",
			"folder/index.md":     "title: T\n",
			"slug.md":             "title: T\nslug: other/Words\n",
		},
	})
}

// npmProgram is a command of what SITE_GENERATORS names.
func npmProgram(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := testenv.NeedsVariable(t, "SITE_GENERATORS", "install.sh sites")
	node, err := filepath.Glob(filepath.Join(dir, "node_modules/node-linux-*/bin/node"))
	if err != nil || len(node) == 0 {
		node = []string{"node"}
	}
	cmd := exec.Command(node[0], append([]string{filepath.Join(dir, "node_modules", filepath.FromSlash(name))}, args...)...)
	cmd.Env = append(os.Environ(), "ASTRO_TELEMETRY_DISABLED=1", "NO_COLOR=1")
	return cmd
}
