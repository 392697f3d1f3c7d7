package process

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// toolchains are the places below home in which programs and what they are
// built from usually lie. Those with credentials beside it are not among them
// whole.
func toolchains(getenv func(string) string, home string) []string {
	var out []string
	add := func(paths ...string) {
		for _, p := range paths {
			if filepath.IsAbs(p) && p != home && rootfs.Exists(p) {
				out = append(out, p)
				if r, err := filepath.EvalSymlinks(p); err == nil && r != p {
					out = append(out, r)
				}
			}
		}
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		add(dir)
		// npm's programs are links into the modules beside them.
		if up := filepath.Dir(dir); filepath.Base(up) == "node_modules" {
			add(up)
		} else {
			add(filepath.Join(up, "lib", "node_modules"))
		}
	}
	add(filepath.SplitList(getenv("GOPATH"))...)
	for _, name := range []string{"GOROOT", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "JAVA_HOME"} {
		add(getenv(name))
	}
	if home == "" {
		return out
	}
	for _, sub := range []string{"go", "sdk", ".cargo", ".rustup", ".pyenv", ".rbenv", ".nvm", ".asdf", ".volta", ".bun", ".deno", ".sdkman", "miniconda3", "anaconda3",
		".local/bin", ".local/lib", ".local/share/pnpm", ".local/share/fnm", ".local/share/mise", ".local/share/uv", ".local/pipx", ".local/share/pipx"} {
		add(filepath.Join(home, sub))
	}
	return out
}

// identity gives commands the name and address that the user commits under,
// and nothing else of the user's git settings, which may hold tokens.
func identity(home string) error {
	// Those that git reads, the last one wins. Without any, git says itself what it lacks.
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(os.Getenv("HOME"), ".config"))
	files := []string{filepath.Join(config, "git", "config"), filepath.Join(os.Getenv("HOME"), ".gitconfig")}
	if one, ok := os.LookupEnv("GIT_CONFIG_GLOBAL"); ok {
		files = []string{one}
	}
	var b []byte
	for _, f := range files {
		text, _ := os.ReadFile(f)
		b = append(append(b, text...), '\n')
	}
	var out strings.Builder
	in := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = strings.EqualFold(line, "[user]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if in && ok && (key == "name" || key == "email") {
			fmt.Fprintf(&out, "\t%s = %s\n", key, strings.TrimSpace(value))
		}
	}
	if out.Len() == 0 {
		return nil
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	// Commands of an earlier run of the job have written here: nothing is followed.
	dir, err := unix.Open(home, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := rootfs.RemoveAt(dir, ".gitconfig"); err != nil {
		return err
	}
	return rootfs.CreateAt(dir, ".gitconfig", strings.NewReader("[user]\n"+out.String()), 0o600)
}

// resolver is the file by which names are looked up, where it is a link into
// /run, as it often is.
func resolver() []string {
	if f, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && rootfs.Within("/run", f) {
		return []string{f}
	}
	return nil
}
