package config

import (
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/netguard"
)

// A networkSection limits which addresses tools reach. See netguard.Guard.
type networkSection struct {
	Allow     []string      `yaml:"allow"`
	Timeout   time.Duration `yaml:"timeout"`
	MaxBody   int           `yaml:"max_body"` // MB
	Redirects int           `yaml:"redirects"`
}

// guard is the network guard of tools.
func (n networkSection) guard() netguard.Guard {
	return netguard.Guard{Allow: n.Allow, Timeout: n.Timeout, MaxBody: int64(n.MaxBody) << 20, Redirects: n.Redirects}
}

func (n networkSection) check(where string) error {
	if err := n.guard().Check(); err != nil {
		return fail(fmt.Errorf("%s: network.allow: %w", where, err), "an entry without a port stands for every port")
	}
	switch {
	case n.Timeout < 0:
		return fail(fmt.Errorf("%s: network.timeout is negative", where), "leave it out for "+netguard.Guard{}.Limits().Timeout.String())
	case n.MaxBody < 0 || n.MaxBody > 1<<10:
		return fail(fmt.Errorf("%s: network.max_body is %d", where, n.MaxBody), "it is a number of MB, 1024 at most")
	case n.Redirects < -1 || n.Redirects > 20:
		return fail(fmt.Errorf("%s: network.redirects is %d", where, n.Redirects), "it is -1 for none, or 20 at most")
	}
	return nil
}
