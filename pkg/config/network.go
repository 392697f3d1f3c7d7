package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/adroit-run/adroit/pkg/guard/netguard"
)

// A networkSection limits which addresses tools reach. See netguard.Guard.
type networkSection struct {
	Allow     []string      `yaml:"allow"`
	Timeout   time.Duration `yaml:"timeout"`
	MaxBody   int           `yaml:"max_body"` // MB
	Redirects int           `yaml:"redirects" least:"-1"`
}

// guard is the network guard of tools.
func (n networkSection) guard() netguard.Guard {
	return netguard.Guard{Allow: n.Allow, Timeout: n.Timeout, MaxBody: int64(n.MaxBody) << 20, Redirects: n.Redirects}
}

func (n networkSection) check(at place) error {
	for i, entry := range n.Allow {
		if err := (netguard.Guard{Allow: []string{entry}}).Check(); err != nil {
			return fail(fmt.Errorf("%s: network.allow: %w", at("network", "allow", strconv.Itoa(i)), err), "an entry without a port stands for every port")
		}
	}
	switch {
	case n.MaxBody > 1<<10:
		return fail(fmt.Errorf("%s: network.max_body is %d", at("network", "max_body"), n.MaxBody), "it is a number of MB, 1024 at most")
	case n.Redirects > 20:
		return fail(fmt.Errorf("%s: network.redirects is %d", at("network", "redirects"), n.Redirects), "it is -1 for none, or 20 at most")
	}
	return nil
}
