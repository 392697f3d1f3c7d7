package schema

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// formats are the formats that are checked; others are not rules.
var formats = map[string]func(string) bool{
	"date-time":             isDateTime,
	"date":                  func(s string) bool { return parses(time.DateOnly, s) },
	"time":                  func(s string) bool { return isDateTime("2000-12-31T" + s) },
	"duration":              func(s string) bool { return duration.MatchString(s) && s != "P" && !strings.HasSuffix(s, "T") },
	"email":                 isEmail,
	"hostname":              isHostname,
	"ipv4":                  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
	"ipv6":                  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
	"uri":                   isURI,
	"iri":                   isURI,
	"uri-reference":         isReference,
	"iri-reference":         isReference,
	"uri-template":          template.MatchString,
	"uuid":                  uuid.MatchString,
	"json-pointer":          pointer.MatchString,
	"relative-json-pointer": relative.MatchString,
	"regex":                 func(s string) bool { _, err := regexp.Compile(s); return err == nil },
}

var (
	duration = lazyregexp.New(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)
	hostname = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	local    = lazyregexp.New("^([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*|\"[^\"\\\\]*\")$")
	template = lazyregexp.New(`^([^{}]|\{[^{}]+\})*$`)
	uuid     = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	pointer  = lazyregexp.New(`^(/([^~/]|~[01])*)*$`)
	relative = lazyregexp.New(`^(0|[1-9]\d*)(#|(/([^~/]|~[01])*)*)$`)
)

func parses(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil && !strings.Contains(s, ",")
}

// isDateTime reports whether s is a time of RFC 3339, which may be a leap second.
func isDateTime(s string) bool {
	s = strings.ToUpper(s)
	if len(s) > 19 && s[16:19] == ":60" {
		t, err := time.Parse(time.RFC3339, s[:16]+":59"+s[19:])
		return err == nil && t.UTC().Hour() == 23 && t.UTC().Minute() == 59
	}
	return parses(time.RFC3339, s)
}

func isEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	if i < 1 || i > 64 || !local.MatchString(s[:i]) {
		return false
	}
	host, ok := strings.CutPrefix(s[i+1:], "[")
	if !ok {
		return isHostname(host)
	}
	_, err := netip.ParseAddr(strings.TrimPrefix(strings.TrimSuffix(host, "]"), "IPv6:"))
	return err == nil && strings.HasSuffix(host, "]")
}

func isHostname(s string) bool { return len(s) <= 253 && hostname.MatchString(s) }

func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && !strings.Contains(s, `\`)
}

func isReference(s string) bool {
	_, err := url.Parse(s)
	return err == nil && !strings.Contains(s, `\`)
}
