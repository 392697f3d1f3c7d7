package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/keyfile"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/listen"
)

// served is the address of the server that runs jobs, "" for this process.
func (a *app) served() string {
	if a.local {
		return ""
	}
	return cmp.Or(a.server, a.Getenv("ADROIT_SERVER"))
}

// remote is a client of a server.
func (a *app) remote(base string) (adroit.Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, exit.Usagef("for example http://127.0.0.1:7420, as adroit serve prints it", "the server %q is not an http address", base)
	}
	here := listen.Loopback(u.Host)
	if !here && u.Scheme != "https" {
		return nil, exit.Usagef("https encrypts it; ssh -L 7420:127.0.0.1:7420 HOST makes it an address of this machine", "the token is not sent to %s without encryption", u.Host)
	}
	token := a.Getenv("ADROIT_TOKEN")
	if token == "" && !here {
		return nil, exit.Usagef("the server's user reads it from the file that adroit serve prints", "ADROIT_TOKEN does not have the token of %s", u.Host)
	}
	if token == "" {
		conf, err := a.config()
		if err != nil {
			return nil, err
		}
		dir, err := conf.Data()
		if err != nil {
			return nil, err
		}
		switch token, err = keyfile.Token(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, exit.Usagef("adroit serve makes it; ADROIT_TOKEN has that of a server with another data directory", "there is no token in %s", dir)
		case err != nil:
			return nil, exit.Fail(err, "")
		}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for one address
	return api.NewClient(base, &http.Client{Transport: listen.Bearer(token), CheckRedirect: stay}), nil
}

// localCommands work with the files of this machine, not with a client.
var localCommands = map[string]bool{
	"adroit backup": true, "adroit restore": true, "adroit demo": true, "adroit bench": true, "adroit init": true, "adroit login": true, "adroit logout": true,
	"adroit config": true, "adroit serve": true, "adroit mcp add": true, "adroit mcp remove": true, "adroit mcp login": true, "adroit mcp logout": true,
}

// stayLocal has local commands ignore ADROIT_SERVER and refuse --server.
func (a *app) stayLocal(cmd *cobra.Command, _ []string) error {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if !localCommands[c.CommandPath()] {
			continue
		}
		if a.local = true; a.server != "" {
			return exit.Usagef("run it where the server is, without --server", "%s works with the files of this machine, not with a server", c.CommandPath())
		}
	}
	return nil
}
