package process

import (
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

func TestPlainConfig(t *testing.T) {

	for text, want := range map[string]bool{
		"": true,
		"[core]\n\tbare = false\n[user]\n\tname = a\n":      true,
		"[core]\n\tfsmonitor = x\n":                         false,
		"[core] fsmonitor = x\n":                            false,
		"[core]\n\tbare = false\n[core \"x\"]fsmonitor=x":   false,
		"[core \"x\"]\n\tfsmonitor = x":                     false,
		"[core.x]\n\tbare = x":                              false,
		"[include]\n\tpath = x\n":                           false,
		"[CORE]\n\tFileMode = \\\n[core] fsmonitor = x\n":   false,
		"[core]\n\tbare = false\\\n":                        false,
		"[remote \"a\"]\n\turl = https://example.org/a\n":   true,
		"[remote \"a\"]\n\turl = git@example.org:a.git\n":   true,
		"[remote \"a\"]\n\turl = /srv/a\n":                  true,
		"[remote \"a\"]\n\turl = ext::sh -c evil\n":         false,
		"[remote \"a\"]\n\turl = \"ext:\"\":sh -c evil\"\n": false,
		"[remote \"a\"]\n\turl = helper://a\n":              false,
		"[remote \"a\"]\n\turl = -oProxyCommand=evil\n":     false,
		"[remote \"a\"]\n\turl = ssh://-oProxyCommand=x/\n": false,
		"[remote \"a\"]\n\tuploadpack = evil\n":             false,
		"[remote \"a\"]\n\tvcs = evil\n":                    false,
		"[branch \"a\"]\n\tremote = ext::sh\n":              false,
		"[submodule \"a\"]\n\tupdate = !evil\n":             false,
		"[submodule \"a\"]\n\turl = ./a\n\tactive = true\n": true,
		"[filter \"a\"]\n\tclean = evil\n":                  false,
		"[core]\n\tworktree = ../sub\n":                     true,
		"[core]\n\tworktree = /home/user\n":                 false,
	} {
		inside := func(dir string) bool { return dir == "../sub" }
		if plainConfig([]byte(text), nil, inside) != want {
			t.Errorf("%q: plain is %v", text, !want)
		}
		if !plainConfig([]byte(text), []byte(text), inside) && want {
			t.Errorf("%q: not plain although all of it was there", text)
		}
	}
	was := "[core]\n\tfsmonitor = mine\n[filter \"lfs\"]\n\tclean = git-lfs clean\n"
	if !plainConfig([]byte(was+"[core]\n\tbare = false\n"), []byte(was), nil) {
		t.Error("a plain setting cannot be added to others")
	}
	if plainConfig([]byte("[core]\n\tfsmonitor = evil\n"), []byte(was), nil) {
		t.Error("a setting that runs a program was changed")
	}
}

func TestGitDirOf(t *testing.T) {
	for content, want := range map[string]string{"gitdir: ../.git/modules/a\n": "../.git/modules/a", "gitdir: /a b": "/a b", "gitdir: \n": "", "x": "", "gitdir: a\nb": ""} {
		if got, ok := rootfs.GitDirOf([]byte(content)); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", content, got, ok)
		}
	}
}

func TestJoined(t *testing.T) {
	for _, c := range []struct {
		dir, name, want string
		ok              bool
	}{{"sub", "../a", "a", true}, {"sub", "../../a", "", false}, {".", "/ws/a/../b", "b", true}, {".", "/wsx", "", false}, {"a", "..", ".", true}, {".", "/ws", ".", true}} {
		if got, ok := rootfs.Joined("/ws", c.dir, c.name); got != c.want || ok != c.ok {
			t.Errorf("%s in %s: %q, %v", c.name, c.dir, got, ok)
		}
	}
}
