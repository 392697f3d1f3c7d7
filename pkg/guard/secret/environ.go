package secret

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// named are the variables whose names say that they hold a secret.
var named = lazyregexp.New(`(?i)(token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|_key$|^key$|_pwd$|_pat$)`)

// about are the variables that say where a secret is or how long, not what.
var about = lazyregexp.New(`(?i)(_file|_path|_dir|_name|_id|_url|_type|_len|_sock|_helper)$`)

// Environ finds the values of an environment, as os.Environ gives it, whose
// names say that they are secrets. Paths, plain words and short values are
// not: they stand in texts by chance.
func Environ(environ []string) []Known {
	var out []Known
	for _, kv := range environ {
		key, value, _ := strings.Cut(kv, "=")
		if !named.MatchString(key) || about.MatchString(key) || len(value) < minForm || path.IsAbs(value) || plain(value) {
			continue
		}
		out = append(out, Known{Name: key, Value: value})
	}
	return out
}

// plain reports whether a value is a word or a number that could stand
// anywhere.
func plain(value string) bool {
	seen := [3]bool{}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c >= '0' && c <= '9':
			seen[0] = true
		case alnum[c]:
			seen[1] = true
		default:
			seen[2] = true
		}
	}
	kinds := 0
	for _, s := range seen {
		if s {
			kinds++
		}
	}
	return kinds < 2 && len(value) < 20
}

// DotenvIn reads the environment files (.env and what begins so) of a workspace,
// in whatever directory they are: no tool may read those, but a program that a
// tool runs may. What cannot be read is left out, and so are directories of
// installed packages and examples such as .env.example.
func DotenvIn(dir string) []Known { return dotenvIn(dir, maxEnvDirs) }

// DotenvAt reads the environment files of dir itself, not those of directories in it.
func DotenvAt(dir string) []Known { return dotenvIn(dir, 1) }

func dotenvIn(dir string, most int) []Known {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	key, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	names, _ := envFiles.Find(root, fmt.Sprint(most, key), func(s *rootfs.Seen) (names []string, err error) {
		dirs := 0
		err = s.WalkDir(root, ".", func(name string, d *rootfs.Entry, err error) error {
			switch {
			case err != nil:
			case d.IsDir() && (slices.Contains(packages, d.Name()) || dirs == most):
				return fs.SkipDir
			case d.IsDir():
				dirs++
			case Dotfile(d.Name()) && d.Type().IsRegular():
				names = append(names, name)
			}
			return nil
		})
		return names, err
	})
	var known []Known
	for _, name := range names {
		if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxEnvFile {
			continue
		}
		if b, err := root.ReadFile(name); err == nil {
			known = append(known, Dotenv(string(b))...)
		}
	}
	return known
}

// envFiles keeps where the environment files of workspaces are.
var envFiles rootfs.Walks[[]string]

// maxEnvFile is the size of an environment file that is read, in bytes, and
// maxEnvDirs how many directories are searched for them.
const (
	maxEnvFile = 256 << 10
	maxEnvDirs = 50_000
)

// packages are directories that hold what others wrote, or no work at all.
var packages = []string{".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", "target", ".gradle"}

// Dotfile reports whether a file of this name is an environment file that holds
// real values.
func Dotfile(name string) bool {
	return strings.HasPrefix(name, ".env") && !slices.Contains([]string{".env.example", ".env.sample", ".env.template", ".env.dist"}, name)
}

// Dotenv finds the secrets in the lines of an environment file. A file of this
// kind exists to hold them, so every value is one, whatever its name, unless it
// is of a kind that stands in other texts as well: words, numbers, addresses
// without a password, paths.
func Dotenv(text string) []Known {
	var out []Known
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if found := Environ([]string{key + "=" + value}); found != nil {
			out = append(out, found...)
		} else {
			out = append(out, unnamed(key, value)...)
		}
	}
	return out
}

// common are values that stand in other texts as well: names with a number at
// the end, versions and dates, hosts with ports, mail addresses.
var common = lazyregexp.New(`^([A-Za-z]+([-_./: ]?[A-Za-z]+)*([-_./:]?\d{1,5})?|[\d.:/TZ+-]+|[A-Za-z0-9.-]+:\d{1,5}|[^@\s:/]+@[A-Za-z0-9.-]+|v?\d+(\.\d+)+[-+.A-Za-z0-9]*)$`)

var date = lazyregexp.New(`^\d{4}-\d\d-\d\d`)

// unnamed is the value of a variable whose name does not say that it is secret.
func unnamed(key, value string) []Known {
	if len(value) < minForm || path.IsAbs(value) {
		return nil
	}
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
		var out []Known
		if pass, ok := u.User.Password(); ok && len(pass) >= MinKnown {
			out = append(out, Known{Name: key, Value: pass})
		}
		if u.User != nil || u.RawQuery != "" {
			out = append(out, Known{Name: key, Value: value})
		}
		return out
	}
	if (len(value) < 20 || strings.Contains(value, " ") || date.MatchString(value)) && common.MatchString(value) {
		return nil
	}
	return []Known{{Name: key, Value: value}}
}
