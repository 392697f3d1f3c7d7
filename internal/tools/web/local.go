package web

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	reader "github.com/adroit-run/adroit/internal/tools/internal/markdown"
	"github.com/adroit-run/adroit/internal/tools/internal/site"
	"github.com/adroit-run/adroit/pkg/tools"
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

// own reports whether an address is one of the site that will be there once the
// site is built: of a file or page of the workspace.
func (p place) own(u *url.URL) bool {
	if p.site.URL == "" || !strings.HasPrefix(u.String(), p.site.URL+"/") {
		return false
	}
	_, ok := p.site.File(u.EscapedPath())
	return ok
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

// local checks a link without a host: to a file beside the one it stands in, or
// to a file or page of the site.
func (p place) local(env *tools.Env, u *url.URL, as string) verdict {
	v := verdict{URL: as}
	switch {
	case p.file != "":
		v = p.beside(env, u, as)
	case u.Path == "":
		v.OK = true // within a text that is no file
	case p.site.Found:
		v.Fault = "no file or page of the site is there"
	default:
		v.Fault = "is relative, and there is no file that it could be relative to"
	}
	if !v.OK && p.site.Found && (p.file == "" || strings.HasPrefix(u.Path, "/")) {
		if _, ok := p.site.File(as); ok {
			v = verdict{URL: as, OK: true}
		}
	}
	return v
}

// beside checks a link to a file from the one it stands in.
func (p place) beside(env *tools.Env, u *url.URL, as string) verdict {
	v, name := verdict{URL: as}, p.file
	if u.Path != "" {
		name = path.Join(path.Dir(p.file), u.Path)
		if strings.HasPrefix(u.Path, "/") {
			name = strings.TrimPrefix(path.Clean(u.Path), "/")
		}
	}
	info, err := env.Files.Stat(name)
	switch {
	case err != nil:
		v.Fault = "there is no file " + spelling.Clip(name, 200)
	case u.Fragment != "" && info.Mode().IsRegular() && strings.HasSuffix(strings.ToLower(name), ".md"):
		t, err := env.Files.ReadText(name)
		anchors := reader.Read(t.Content).Anchors
		if v.OK = err == nil && (anchors[u.Fragment] || anchors[strings.ToLower(u.Fragment)]); !v.OK {
			v.Fault = fmt.Sprintf("%s has no heading for #%s", spelling.Clip(name, 200), spelling.Clip(u.Fragment, 80))
		}
	default:
		v.OK = true
	}
	return v
}
