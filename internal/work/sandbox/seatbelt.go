package sandbox

import (
	"slices"
	"strings"
)

// SeatbeltProfile is a policy in the language of macOS's sandbox-exec. Later
// rules win there, so it goes from the general to the particular.
func (p *Policy) SeatbeltProfile() string {
	var b strings.Builder
	rule := func(verb, filter string, paths ...string) {
		paths = slices.DeleteFunc(slices.Clone(paths), func(s string) bool { return s == "" })
		if len(paths) == 0 {
			return
		}
		b.WriteString("(" + verb)
		for _, path := range paths {
			b.WriteString("\n  (" + filter + " " + quote(path) + ")")
		}
		b.WriteString(")\n")
	}
	b.WriteString("(version 1)\n(deny default)\n" +
		"(allow process-fork process-exec)\n(allow signal (target same-sandbox))\n(allow process-info* (target same-sandbox))\n" +
		"(allow sysctl-read)\n(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n" +
		"(allow ipc-posix-sem)\n(allow file-read*)\n")
	rule("allow file-write*", "literal", "/dev/null", "/dev/zero", "/dev/tty")
	rule("deny file-read-data", "subpath", slices.Concat([]string{p.Home, "/private/tmp", "/private/var/tmp", "/private/var/run"}, p.Hide)...)
	rule("allow file-read*", "subpath", p.Show...)
	rule("allow file-read* file-write*", "subpath", p.writable(Seatbelt)...)
	rule("deny file-write*", "subpath", p.Fix...)
	// A pinned directory may be written but not moved away with what it protects.
	rule("deny file-write-unlink", "literal", p.Pin...)
	rule("deny file-read* file-write*", "subpath", p.Mask...)
	if p.NetOpen {
		b.WriteString("(allow network*)\n(allow system-socket)\n")
	} else {
		b.WriteString("(allow network* (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n")
	}
	// Docker and the agents of ssh and gpg listen on sockets that have a path.
	b.WriteString("(deny network-outbound (remote unix-socket))\n")
	return b.String()
}

// quote writes a string as the profile's language does, in which a path with a
// quote in it could otherwise add rules.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
