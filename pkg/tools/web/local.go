package web

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/internal/fetch"
	"github.com/adroit-run/adroit/pkg/tools/internal/site"
)

// A place is where a text with links stands: in a file, and if the workspace is
// a static site, as a page of it.
type place struct {
	file string // "" for a text that is no file
	site site.Site
}

func linkPlace(env *tools.Env, file string) place {
	p := place{file: file}
	if env.Files != nil {
		p.site = site.Open(env.Files.FS(), site.Settings{})
	}
	return p
}

// online is where a link within the site leads to on the net, "" if the site's
// address is not known.
func (p place) online(u *url.URL) string {
	base, err := url.Parse(p.site.URL)
	if err != nil || p.site.URL == "" || !strings.HasPrefix(u.Path, "/") {
		return ""
	}
	to := *base
	to.Path = u.Path
	return to.String()
}

// refuses reports an answer that servers give to programs, and not to readers.
func refuses(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, 999:
		return true
	}
	return false
}

// local checks a link to a file beside the one it stands in.
func (p place) local(env *tools.Env, u *url.URL, as string) verdict {
	file := p.file
	v := verdict{URL: as}
	switch {
	case file == "" && u.Path == "":
		v.OK = true // within a text that is no file
		return v
	case file == "" && !p.site.Found:
		v.Fault = "is relative, and there is no file that it could be relative to"
		return v
	}
	if p.site.Found {
		if _, ok := p.site.File(as); ok {
			v.OK = true
			return v
		}
		if file == "" {
			v.Fault = "no file or page of the site is there"
			return v
		}
	}
	name := file
	if u.Path != "" {
		name = path.Join(path.Dir(file), u.Path)
		if strings.HasPrefix(u.Path, "/") {
			name = strings.TrimPrefix(path.Clean(u.Path), "/")
		}
	}
	info, err := env.Files.Stat(name)
	switch {
	case err != nil:
		v.Fault = "there is no file " + fetch.Clip(name, 200)
	case u.Fragment != "" && info.Mode().IsRegular() && strings.HasSuffix(strings.ToLower(name), ".md"):
		b, err := env.Files.ReadFile(name)
		if v.OK = err == nil && slices.Contains(headings(string(b)), strings.ToLower(u.Fragment)); !v.OK {
			v.Fault = fmt.Sprintf("%s has no heading for #%s", fetch.Clip(name, 200), fetch.Clip(u.Fragment, 80))
		}
	default:
		v.OK = true
	}
	return v
}
