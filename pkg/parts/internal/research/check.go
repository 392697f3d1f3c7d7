package research

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

// checkInput is the input of link_check.
type checkInput struct {
	URLs     []string `json:"urls,omitempty" jsonschema:"maxItems=200,description=Addresses to check"`
	File     string   `json:"file,omitempty" jsonschema:"description=Markdown file to check"`
	Artifact string   `json:"artifact,omitempty" jsonschema:"description=Artifact to check: content; section/NAME; show_notes; citations"`
}

// checkable are the artifacts whose links can be checked.
var checkable = []string{"content", "section/*", "social", "show_notes", "citations", "links", "search_results", "feed_items"}

// allowBroken is the artifact by which the user lets links be broken: an input of
// an agent, with the value allow.
const allowBroken = "broken_links"

const (
	mostLinks = 2000
	atOnce    = 8
	perLink   = 20 * time.Second
	maxAnchor = 4 << 20 // bytes of a page in which an anchor is looked for
)

func (d *webTools) checkTool() tools.Tool {
	return tools.New(tools.Metadata{
		Name: "link_check", Category: "research", Needs: tools.Read | tools.Net, Effect: tools.Pure, Paths: []string{"file"},
		Uses: append(slices.Clone(checkable), allowBroken), Produces: []string{"link_report"}, Timeout: 5 * time.Minute,
		Proves: "the links work", ProvesWith: []string{"artifact", "file", "urls"},
		Examples: []tools.Example{{Note: "before a text is published", Args: json.RawMessage(`{"artifact":"content"}`)}},
	}.ProseIn(descriptions), d.check)
}

// A verdict is the result of checking one link.
type verdict struct {
	URL    string `json:"url"`
	OK     bool   `json:"ok"`
	Status int    `json:"status,omitempty"`
	Final  string `json:"final,omitempty"` // where it redirects to
	Fault  string `json:"fault,omitempty"`
	// Refused means that the server is there and does not answer programs: a
	// reader's browser may well get the page.
	Refused bool `json:"refused,omitempty"`
}

func (d *webTools) check(ctx context.Context, env *tools.Env, in checkInput) (tools.Result, error) {
	targets := slices.Clone(in.URLs)
	var texts []string
	if in.File != "" {
		t, err := env.Files.ReadText(in.File)
		if err != nil {
			return tools.Result{}, err
		}
		texts = append(texts, t.Content)
	}
	if in.Artifact != "" {
		v := env.Artifacts.Value(in.Artifact)
		if v == nil {
			return tools.Result{}, fmt.Errorf("there is no artifact %q%s", spelling.Clip(in.Artifact, 60), spelling.DidYouMean(in.Artifact, env.Artifacts.Names()))
		}
		texts = append(texts, strs(v)...)
	}
	if len(targets)+len(texts) == 0 {
		return tools.Result{}, errors.New("nothing to check: give urls, a file or an artifact")
	}
	for _, text := range texts {
		p, err := markdown.Read(text)
		if err != nil {
			return tools.Result{}, fmt.Errorf("the text %w", err)
		}
		for _, l := range p.Links {
			targets = append(targets, l.Target)
		}
	}
	for i := range targets {
		targets[i] = strings.TrimSpace(targets[i])
	}
	slices.Sort(targets)
	targets = slices.Compact(targets)
	more := max(len(targets)-mostLinks, 0)
	list, err := d.visit(ctx, env, linkPlace(env, in.File), targets[:len(targets)-more])
	if err != nil {
		return tools.Result{}, err
	}
	r, err := report(list, more)
	var allowed string
	if r.Failed && json.Unmarshal(env.Artifacts.Value(allowBroken), &allowed) == nil && allowed == "allow" {
		r.Failed, r.Summary = false, r.Summary+", which the user allows"
	}
	return r, err
}

// visit checks links, a few at once, and answers in their order. Links to one
// page are one visit.
func (d *webTools) visit(ctx context.Context, env *tools.Env, from place, targets []string) ([]verdict, error) {
	out := make([]verdict, len(targets))
	pages := map[string][]int{} // address without anchor -> those who point there
	for i, t := range targets {
		out[i] = verdict{URL: t}
		u, err := url.Parse(t)
		switch {
		case err != nil:
			out[i].Fault = "is not an address"
		case u.Scheme == "mailto" || u.Scheme == "tel" || u.Scheme == "data":
			out[i].OK = true
		case u.Scheme == "" && u.Host == "":
			out[i] = from.local(env, u, t)
			if at := from.online(u); !out[i].OK && at != "" {
				pages[at] = append(pages[at], i)
			}
		case from.own(u):
			out[i].OK = true
		default:
			if _, err := fetch.ParseURL(t); err != nil {
				out[i].Fault = err.Error()
				continue
			}
			u.Fragment, u.RawFragment = "", ""
			pages[u.String()] = append(pages[u.String()], i)
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, p := range slices.Sorted(maps.Keys(pages)) {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			within, cancel := context.WithTimeout(ctx, perLink)
			defer cancel()
			d.page(within, env, p, pages[p], out)
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// page visits one address and fills in its verdicts, which no other goroutine
// writes.
func (d *webTools) page(ctx context.Context, env *tools.Env, at string, which []int, out []verdict) {
	anchors := map[int]string{}
	for _, i := range which {
		if u, err := url.Parse(out[i].URL); err == nil && u.Fragment != "" && !strings.HasPrefix(u.Fragment, ":~:") {
			anchors[i] = u.Fragment
		}
	}
	status, final, body, err := 0, "", []byte(nil), error(nil)
	if len(anchors) == 0 {
		status, final, _, err = request(ctx, env, http.MethodHead, at)
	}
	// Many servers do not take HEAD, or answer it with what is not true of GET.
	if len(anchors) > 0 || err != nil || status >= 400 {
		status, final, body, err = request(ctx, env, http.MethodGet, at)
	}
	ids := map[string]bool{}
	if err == nil && status < 400 && body != nil {
		ids = anchorsOf(body)
	}
	for _, i := range which {
		v := &out[i]
		v.Status, v.Fault = status, ""
		if final != at {
			v.Final = final
		}
		a, wants := anchors[i]
		switch {
		case err != nil:
			v.Fault = fetch.PlainError(err).Error()
		case refuses(status):
			v.OK, v.Refused = true, true
		case status >= 400:
			v.Fault = fmt.Sprintf("%d %s", status, http.StatusText(status))
		case wants && body != nil && !ids[a] && !ids["user-content-"+a]:
			v.Fault = fmt.Sprintf("the page is there, and has no anchor #%s", spelling.Clip(a, 80))
		default:
			v.OK = true
		}
	}
}

// request requests a page. The body is nil unless the method is GET and the page is HTML.
func request(ctx context.Context, env *tools.Env, method, at string) (status int, final string, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return 0, at, nil, err
	}
	req.Header.Set("User-Agent", fetch.Agent)
	req.Header.Set("Accept", "text/html, */*;q=0.8")
	resp, err := env.HTTP.Do(req)
	if err != nil {
		return 0, at, nil, err
	}
	defer resp.Body.Close()
	final = resp.Request.URL.String()
	if kind, _ := fetch.Media(resp.Header.Get("Content-Type")); method == http.MethodGet && resp.StatusCode < 400 && (kind == "text/html" || kind == "application/xhtml+xml") {
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnchor))
		if err != nil {
			return 0, final, nil, fmt.Errorf("its body breaks off: %w", fetch.PlainError(err))
		}
	}
	return resp.StatusCode, final, body, nil
}

func anchorsOf(body []byte) map[string]bool {
	ids := map[string]bool{"top": true}
	z := html.NewTokenizer(strings.NewReader(string(body)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ids
		case html.StartTagToken, html.SelfClosingTagToken:
			for {
				k, v, more := z.TagAttr()
				if s := string(k); s == "id" || s == "name" {
					ids[string(v)] = true
				}
				if !more {
					break
				}
			}
		}
	}
}

func report(list []verdict, more int) (tools.Result, error) {
	bad, first := 0, ""
	var b strings.Builder
	for _, v := range list {
		switch {
		case !v.OK:
			bad++
			one := fmt.Sprintf("%s: %s", spelling.Clip(v.URL, 300), fetch.OneLine(v.Fault, 300))
			first = cmp.Or(first, ": "+one)
			b.WriteString("broken: " + one + "\n")
		case v.Refused:
			fmt.Fprintf(&b, "not checked: %s: the server refuses programs (%d)\n", spelling.Clip(v.URL, 300), v.Status)
		case v.Final != "":
			fmt.Fprintf(&b, "moved: %s now leads to %s\n", spelling.Clip(v.URL, 300), spelling.Clip(v.Final, 300))
		}
	}
	head := fmt.Sprintf("%s checked: %d good, %d broken", spelling.Plural(len(list), "link"), len(list)-bad, bad)
	if more > 0 {
		head += fmt.Sprintf("; %d more were not checked: no more than %d are at once", more, mostLinks)
	}
	return turn.Bind(tools.Result{Text: head + "\n" + b.String(), Failed: bad+more > 0, Summary: head + first}, "link_report", list)
}

// strs collects the texts in a JSON value, in order.
func strs(v json.RawMessage) []string {
	var all any
	if json.Unmarshal(v, &all) != nil {
		return nil
	}
	var out []string
	var walk func(x any)
	walk = func(x any) {
		switch x := x.(type) {
		case string:
			out = append(out, x)
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				walk(x[k])
			}
		}
	}
	walk(all)
	return out
}

// A place is the place of a text with links: a file, and if the workspace is a static
// site, a page of it.
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

// online returns the public address of a link within the site, "" if the site's address
// is not known.
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
		if err != nil {
			v.Fault = err.Error()
			break
		}
		p, err := markdown.Read(t.Content)
		if v.OK = p.Anchors[u.Fragment] || p.Anchors[strings.ToLower(u.Fragment)]; err != nil {
			v.Fault = spelling.Clip(name, 200) + " " + err.Error()
		} else if !v.OK {
			v.Fault = fmt.Sprintf("%s has no heading for #%s", spelling.Clip(name, 200), spelling.Clip(u.Fragment, 80))
		}
	default:
		v.OK = true
	}
	return v
}
