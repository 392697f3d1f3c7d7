package netguard

import "net/netip"

// special are the ranges that no public server has, by the registries of
// special-purpose addresses (IANA; RFC 6890 and its updates). What embeds an
// IPv4 address is here whole: it may stand for an inside one.
var special = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a provider's inside (carrier NAT)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address (Teredo and others)"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "an address that embeds another (6to4)"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
}

// global contains the public IPv6 addresses; all others are local, mapped or unassigned.
var global = netip.MustParsePrefix("2000::/3")

// inside reports what keeps ip from being a public address, "" if nothing does.
func inside(ip netip.Addr) string {
	if ip.Zone() != "" {
		return "an address with a zone"
	}
	ip = ip.Unmap()
	for _, s := range special {
		if s.prefix.Contains(ip) {
			return s.kind
		}
	}
	switch {
	case ip.Is4(), global.Contains(ip):
		return ""
	case ip.IsLoopback():
		return "a loopback address"
	case ip.IsPrivate():
		return "a private address"
	case ip.IsLinkLocalUnicast():
		return "a link-local address"
	case ip.IsMulticast():
		return "a multicast address"
	}
	return "not a public address"
}
