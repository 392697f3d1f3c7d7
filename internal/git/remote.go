package git

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/process"
)

// A Remote is where a repository is on a server.
type Remote struct {
	Host string // without a port
	Path string // owner/name, without .git
}

// ErrNoRemote is the error of a repository without a remote of a name.
var ErrNoRemote = errors.New("the repository has no such remote")

var (
	scpLike  = lazyregexp.New(`^(?:[\w.-]+@)?([\w.-]+):([^/].*)$`)
	noRemote = lazyregexp.New(`[^\w.-]`)
)

// Remote is the address of a remote such as origin. It is what the
// repository's settings say, which whoever made the repository has written.
func (g *Repo) Remote(ctx context.Context, name string) (Remote, error) {
	if name == "" || noRemote.MatchString(name) {
		return Remote{}, &ArgError{"remote", name, "is not a remote's name"}
	}
	if _, _, err := g.Locate(ctx); err != nil {
		return Remote{}, err
	}
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"config", "--get", "remote." + name + ".url"}})
	if exit := new(ExitError); errors.As(err, &exit) && exit.Code == 1 {
		return Remote{}, ErrNoRemote
	}
	if err != nil {
		return Remote{}, err
	}
	return parseRemote(strings.TrimSpace(string(out)))
}

func parseRemote(at string) (r Remote, err error) {
	odd := &ArgError{"remote", rootfs.Visible(at), "is not the address of a server"}
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		r = Remote{u.Hostname(), u.Path}
	} else if m := scpLike.FindStringSubmatch(at); m != nil {
		r = Remote{m[1], m[2]}
	} else {
		return r, odd
	}
	r.Host = strings.ToLower(r.Host)
	if r.Path = strings.TrimSuffix(strings.Trim(r.Path, "/"), ".git"); r.Path == "" {
		return r, odd
	}
	return r, nil
}
