package secret

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// named are the variables whose names say that they hold a secret.
var named = regexp.MustCompile(`(?i)(token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|_key$|^key$|_pwd$|_pat$)`)

// about are the variables that say where a secret is or how long, not what.
var about = regexp.MustCompile(`(?i)(_file|_path|_dir|_name|_id|_url|_type|_len|_sock|_helper)$`)

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

// DotenvIn reads the environment files (.env and what begins so) of a workspace:
// no tool may read those, but a program that a tool runs may. What cannot be read
// is left out.
func DotenvIn(dir string) []Known {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	var known []Known
	names, _ := fs.Glob(root.FS(), ".env*") // the pattern is valid
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxEnvFile {
			continue
		}
		if b, err := root.ReadFile(name); err == nil {
			known = append(known, Dotenv(string(b))...)
		}
	}
	return known
}

// maxEnvFile is the size of an environment file that is read, in bytes.
const maxEnvFile = 256 << 10

// Dotenv reads the lines of an environment file as [Environ] reads an
// environment.
func Dotenv(text string) []Known {
	var environ []string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		environ = append(environ, strings.TrimSpace(key)+"="+value)
	}
	return Environ(environ)
}
