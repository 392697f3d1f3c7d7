package git

import "testing"

func TestParseRemote(t *testing.T) {
	for in, want := range map[string]Remote{
		"https://github.com/o/n.git":            {"github.com", "o/n"},
		"https://user:pw@GitHub.com/o/n":        {"github.com", "o/n"},
		"git@github.com:o/n.git":                {"github.com", "o/n"},
		"ssh://git@ssh.github.com:443/o/n.git/": {"ssh.github.com", "o/n"},
		"github.com:o/n":                        {"github.com", "o/n"},
	} {
		if got, err := parseRemote(in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "../n", "/srv/git/n.git", "file:///srv/n.git", "https://github.com/", "ext::sh -c x"} {
		if got, err := parseRemote(in); err == nil && got.Host != "" && got.Path != "" && got.Host != "ext" {
			t.Errorf("%q: %v", in, got)
		}
	}
}
