package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// rules splits a profile into its rules, and fails where it is not a list of
// them: parentheses balanced, strings ended.
func rules(t *testing.T, profile string) []string {
	t.Helper()
	var out []string
	depth, from, quoted := 0, 0, false
	for i := 0; i < len(profile); i++ {
		switch c := profile[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			if depth == 0 {
				from = i
			}
			depth++
		case c == ')':
			if depth--; depth == 0 {
				out = append(out, strings.Join(strings.Fields(profile[from:i+1]), " "))
			}
		case depth == 0 && c != '\n':
			t.Fatalf("%q is outside of every rule in\n%s", c, profile)
		}
	}
	if depth != 0 || quoted {
		t.Fatalf("the profile does not end as it should:\n%s", profile)
	}
	return out
}

func seatbeltPolicy() *Policy {
	return &Policy{
		Dir: "/Users/a/ws", Write: []string{"/Users/a/ws", "/Users/a/more"}, Private: "/Users/a/data/j1/sandbox", Home: "/Users/a",
		Hide: []string{"/Users/a/data", "/etc/adroit"}, Show: []string{"/Users/a/go", "/Users/a/.cargo"}, Mask: []string{"/Users/a/ws/.env", "/Users/a/.cargo/credentials"},
		Fix: []string{"/Users/a/ws/.git/config", "/Users/a/ws/.git/hooks"}, Pin: []string{"/Users/a/ws/.git"},
		Caches: []Overlay{{Lower: "/Users/a/Library/Caches/go-build", Upper: "/Users/a/data/cache/go-build-1", Alone: true}},
	}
}

// The whole policy is in the profile, and in an order in which restrictions take precedence: the
// last matching rule decides.
func TestSeatbeltProfile(t *testing.T) {
	got := rules(t, seatbeltPolicy().SeatbeltProfile())
	want := []string{
		`(version 1)`,
		`(deny default)`,
		`(allow process-fork process-exec)`,
		`(allow signal (target same-sandbox))`,
		`(allow process-info* (target same-sandbox))`,
		`(allow sysctl-read)`,
		`(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))`,
		`(allow ipc-posix-sem)`,
		`(allow file-read*)`,
		`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))`,
		`(deny file-read-data (subpath "/Users/a") (subpath "/private/tmp") (subpath "/private/var/tmp") (subpath "/private/var/run") (subpath "/Users/a/data") (subpath "/etc/adroit"))`,
		`(allow file-read* (subpath "/Users/a/go") (subpath "/Users/a/.cargo"))`,
		`(allow file-read* file-write* (subpath "/Users/a/ws") (subpath "/Users/a/more") (subpath "/Users/a/data/j1/sandbox/tmp") (subpath "/Users/a/data/j1/sandbox/home") (subpath "/Users/a/data/cache/go-build-1"))`,
		`(deny file-write* (subpath "/Users/a/ws/.git/config") (subpath "/Users/a/ws/.git/hooks"))`,
		`(deny file-write-unlink (literal "/Users/a/ws/.git"))`,
		`(deny file-read* file-write* (subpath "/Users/a/ws/.env") (subpath "/Users/a/.cargo/credentials"))`,
		`(allow network* (local ip "localhost:*"))`,
		`(allow network-outbound (remote ip "localhost:*"))`,
		`(deny network-outbound (remote unix-socket))`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the profile is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The user's own cache is nowhere writable.
	if text := strings.Join(got, "\n"); strings.Contains(text, "Library/Caches") {
		t.Error("the user's build cache is in the profile")
	}
	// No file is allowed to be written after the first one that is denied.
	denied := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "(deny file-write") })
	if late := slices.IndexFunc(got[denied:], func(s string) bool { return strings.HasPrefix(s, "(allow file") }); late >= 0 {
		t.Errorf("%s comes after %s", got[denied+late], got[denied])
	}
}

// An empty path makes no rule: a rule without a path would match everything.
func TestSeatbeltProfileOfLittle(t *testing.T) {
	p := &Policy{Dir: "/ws", Write: []string{"/ws"}, Private: "/p", NetOpen: true}
	got := rules(t, p.SeatbeltProfile())
	for _, r := range got {
		for _, verb := range []string{"(deny file-write*)", "(deny file-write-unlink)", "(deny file-read* file-write*)", "(allow file-read* file-write*)"} {
			if r == verb {
				t.Errorf("the rule %s has no path", r)
			}
		}
		if strings.Contains(r, `""`) {
			t.Errorf("the rule %s has an empty path", r)
		}
	}
	for _, want := range []string{"(allow network*)", "(allow system-socket)", "(deny network-outbound (remote unix-socket))"} {
		if !slices.Contains(got, want) {
			t.Errorf("an open network lacks %s", want)
		}
	}
	if i, j := slices.Index(got, "(allow network*)"), slices.Index(got, "(deny network-outbound (remote unix-socket))"); i > j {
		t.Error("sockets with a path are denied before the network is allowed, so they are allowed")
	}
}

// A path cannot end the string that contains it, whatever characters it has.
func TestSeatbeltQuoting(t *testing.T) {
	for _, odd := range []string{
		`/ws/a b`, `/ws/quote"d`, `/ws/back\slash`, `/ws/both\"`, "/ws/line\nbreak", `/ws/") (allow file-write* (subpath "/`, `/ws/(paren`, `/ws/semi;colon`, `/ws/größe`, `/ws/end\`,
	} {
		p := seatbeltPolicy()
		plain := len(rules(t, p.SeatbeltProfile()))
		p.Write, p.Fix, p.Mask = []string{odd}, []string{odd + "/.git/config"}, []string{odd + "/.env"}
		profile := p.SeatbeltProfile()
		if n := len(rules(t, profile)); n != plain {
			t.Errorf("%q makes %d rules of %d:\n%s", odd, n, plain, profile)
		}
		// Read back as the language does, it is the path again.
		if got := unquote(t, quote(odd)); got != odd {
			t.Errorf("%q is read as %q", odd, got)
		}
	}
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		t.Fatalf("%s is no string", s)
	}
	var out strings.Builder
	for i := 1; i < len(s)-1; i++ {
		switch s[i] {
		case '"':
			t.Fatalf("%s ends in the middle", s)
		case '\\':
			if i++; i == len(s)-1 {
				t.Fatalf("%s does not end", s)
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
