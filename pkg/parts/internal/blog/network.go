package blog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A network is a social network on which a post is announced, with its way of counting.
type network struct {
	name  string
	most  int
	count func(string) int
	bytes int // the most bytes, 0 for no bound
}

// networks lists them by name.
func networks() []network {
	return []network{
		{name: "bluesky", most: 300, count: clusters, bytes: 3000},
		{name: "linkedin", most: 3000, count: func(s string) int { return len(utf16.Encode([]rune(s))) }},
		{name: "mastodon", most: 500, count: mastodon},
		{name: "threads", most: 500, count: threads},
		{name: "x", most: 280, count: weighted},
	}
}

func lookup(name string) (network, bool) {
	for _, n := range networks() {
		if n.name == name {
			return n, true
		}
	}
	return network{}, false
}

func (n network) fits(s string) bool {
	return n.count(s) <= n.most && (n.bytes == 0 || len(s) <= n.bytes)
}

// cut shortens s until it fits, at a word, with an ellipsis. A link in s is
// kept at the end.
func (n network) cut(s, link string) string {
	if n.fits(s) {
		return s
	}
	tail := "…"
	if link != "" && strings.Contains(s, link) {
		s, tail = strings.TrimSpace(strings.ReplaceAll(s, link, "")), "… "+link
	}
	fields := strings.FieldsFunc(s, unicode.IsSpace)
	for len(fields) > 0 {
		if out := strings.TrimRight(strings.Join(fields, " "), ".,;:!?- ") + tail; n.fits(out) {
			return out
		}
		fields = fields[:len(fields)-1]
	}
	runes := []rune(s)
	for len(runes) > 0 && !n.fits(string(runes)+tail) {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + tail
}

var (
	address = lazyregexp.New(`https?://[^\s<>"]+`)
	domain  = lazyregexp.New(`(?i)\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24}\b(?:/[^\s<>"]*)?`)
	mention = lazyregexp.New(`(@[A-Za-z0-9_]+)@[A-Za-z0-9.-]+[A-Za-z0-9]`)
)

// linked is the number of characters that a link of any length counts for where links are
// shortened.
const linked = 23

// weighted counts as X does: most scripts' characters are two, Latin ones and
// the like one, an emoji two, a link 23. A bare name of a host may or may not
// be taken for a link: it counts for the longer of both.
func weighted(s string) int {
	n := 0
	s = address.ReplaceAllStringFunc(s, func(u string) string {
		n += linked
		return tail(u)
	})
	s = domain.ReplaceAllStringFunc(s, func(u string) string {
		n += max(linked, utf8.RuneCountInString(u))
		return ""
	})
	for _, c := range split(s) {
		if emoji(c) {
			n += 2
			continue
		}
		for _, r := range c {
			if r <= 0x10FF || r >= 0x2000 && r <= 0x200D || r >= 0x2010 && r <= 0x201F || r >= 0x2032 && r <= 0x2037 {
				n++
			} else {
				n += 2
			}
		}
	}
	return n
}

// mastodon counts what is seen, a link as 23 and of a mention the part before
// the server.
func mastodon(s string) int {
	n := 0
	s = address.ReplaceAllStringFunc(s, func(u string) string {
		n += linked
		return tail(u)
	})
	return n + clusters(mention.ReplaceAllString(s, "$1"))
}

// threads counts characters, but the bytes of emojis.
func threads(s string) int {
	n := 0
	for _, c := range split(s) {
		if emoji(c) {
			n += len(c)
		} else {
			n += utf8.RuneCountInString(c)
		}
	}
	return n
}

// tail is the punctuation that ends a sentence rather than the link before it.
func tail(u string) string { return u[len(strings.TrimRight(u, ".,;:!?)'")):] }

// clusters counts characters as people see them.
func clusters(s string) int { return len(split(s)) }

// split takes text apart into what is seen as one character: a base with its
// marks, an emoji with its modifiers and what it is joined to, two letters
// that make a flag. Where it is in doubt it counts more rather than less.
func split(s string) []string {
	var out []string
	joined, flag := false, false
	for _, r := range s {
		extends := len(out) > 0 && (unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF || r >= 0xE0020 && r <= 0xE007F)
		half := r >= 0x1F1E6 && r <= 0x1F1FF
		switch {
		case extends || joined || half && flag || r == '\n' && len(out) > 0 && out[len(out)-1] == "\r":
			out[len(out)-1] += string(r)
			flag = false
		default:
			out = append(out, string(r))
			flag = half
		}
		joined = r == 0x200D && len(out) > 0 && emoji(out[len(out)-1])
	}
	return out
}

// emoji reports whether a character as people see it is shown as a picture.
func emoji(cluster string) bool {
	first, _ := utf8.DecodeRuneInString(cluster)
	switch {
	case first >= 0x1F000 && first <= 0x1FAFF:
		return true
	case first >= 0x2600 && first <= 0x27BF, first >= 0x2B00 && first <= 0x2BFF, first >= 0x231A && first <= 0x23FF:
		return true
	}
	return strings.ContainsRune(cluster, 0xFE0F) || strings.ContainsRune(cluster, 0x20E3)
}

// saveInput is the input of save_post.
type saveInput struct {
	Dir string `json:"dir" jsonschema:"minLength=1,description=Folder in the workspace"`
}

// Names of artifacts: the files that were saved, and the folder that the user
// wants them in.
const (
	savedName  = "post_files"
	folderName = "post_folder"
)

// postFile is the name of the post in the folder.
const postFile = "post.md"

// Save is the tool save_post.
var Save = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "save_post", Category: "content", Needs: tools.Read | tools.Write, Effect: tools.Idempotent, Optionality: tools.Optional,
		Paths: []string{"dir"}, Consumes: []string{"content"}, Uses: []string{"social", "published"}, Produces: []string{savedName, "social"},
		Examples: []tools.Example{{Note: "all there is", Args: json.RawMessage(`{"dir":"drafts/journals"}`)}},
	}.ProseIn(descriptions), savePost)
	t.Touches = func(args json.RawMessage) []string {
		var in saveInput
		if json.Unmarshal(args, &in) != nil || in.Dir == "" {
			return nil
		}
		return []string{path.Join(in.Dir, postFile), path.Join(in.Dir, outputs.SocialFile)}
	}
	return t
}()

// rendered returns the files that save_post writes, and the announcements with the
// address of the post.
func rendered(env *tools.Env) ([]outputs.Rendered, announcementList, error) {
	var files []outputs.Rendered
	if text := content(env); text != "" {
		files = append(files, outputs.Rendered{Name: postFile, Data: []byte(text + "\n")})
	}
	social, ok := artifact[announcementList](env, "social")
	if !ok || len(social.Posts) == 0 {
		return files, social, nil
	}
	var posts []outputs.Post
	for i := range social.Posts {
		p := &social.Posts[i]
		var err error
		if p.Text, err = addressed(*p, publishedAt(env)); err != nil {
			return nil, social, err
		}
		posts = append(posts, outputs.Post(*p))
	}
	return append(files, outputs.Social(posts)), social, nil
}

// addressed is the text of an announcement with the address of the post.
func addressed(p announcement, at string) (string, error) {
	text := strings.TrimSpace(p.Text)
	n, ok := lookup(p.Network)
	if at == "" || strings.Contains(text, at) || !ok {
		return text, nil
	}
	if text = n.cut(text+"\n\n"+at, at); !n.fits(text) {
		return "", fmt.Errorf("the address %s alone is longer than %s allows", at, p.Network)
	}
	return text, nil
}

func savePost(_ context.Context, env *tools.Env, in saveInput) (tools.Result, error) {
	files, social, err := rendered(env)
	if err != nil {
		return tools.Result{}, err
	}
	if len(files) == 0 {
		return tools.Result{}, errors.New("there is nothing to save yet: write the post first")
	}
	saved, text, err := outputs.Write(env.Files, in.Dir, files)
	if err != nil {
		return tools.Result{}, err
	}
	r, err := result(text, savedName, saved)
	r.Summary = fmt.Sprintf("%s in %s", spelling.Plural(len(saved), "file"), in.Dir)
	if err == nil && len(social.Posts) > 0 {
		r.Artifacts["social"], err = jsontext.Marshal(social)
	}
	return r, err
}

// inventory lists the files that the job made, and what is wrong with them.
func inventory(env *tools.Env) (made, faults []string, err error) {
	files, _, err := rendered(env)
	if err != nil {
		return nil, nil, err
	}
	saved, _ := artifact[[]outputs.File](env, savedName)
	made, faults = outputs.Check(env.Files, saved, files, "save_post")
	if folder, _ := artifact[string](env, folderName); folder != "" && len(saved) == 0 {
		faults = append(faults, fmt.Sprintf("the user wants the files in %s: call save_post", folder))
	}
	if p, ok := artifact[struct{ At, URL string }](env, "published"); ok {
		made = append(made, "published: "+cmp.Or(p.URL, p.At))
	}
	return made, faults, nil
}

// socialInput is the input of generate_social_posts.
type socialInput struct {
	Networks []string `json:"networks" jsonschema:"minItems=1,maxItems=5,enum=bluesky,enum=linkedin,enum=mastodon,enum=threads,enum=x,description=Where to announce the post"`
	URL      string   `json:"url,omitempty" jsonschema:"description=Of the post; default: where it was published"`
}

// announcementList are the artifact "social".
type announcementList struct {
	Posts []announcement `json:"posts" jsonschema:"minItems=1,maxItems=5,description=One for each network"`
}

// An announcement is a post for one network.
type announcement struct {
	Network string `json:"network" jsonschema:"enum=bluesky,enum=linkedin,enum=mastodon,enum=threads,enum=x,description=Where it goes"`
	Text    string `json:"text" jsonschema:"minLength=1,description=The post"`
}

// Social is the tool generate_social_posts. What it returns keeps to the
// networks' limits, whatever the model wrote.
var Social = tools.New(tools.Metadata{
	Name: "generate_social_posts", Category: "content", Needs: tools.Think, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{"content"}, Uses: []string{"show_notes", "published"}, Produces: []string{"social"},
	Examples: []tools.Example{{Note: "two networks", Args: json.RawMessage(`{"networks":["mastodon","x"],"url":"https://example.com/blog/durable-agents"}`)}},
}.ProseIn(descriptions), social)

func social(ctx context.Context, env *tools.Env, in socialInput) (tools.Result, error) {
	if in.URL == "" {
		in.URL = publishedAt(env)
	}
	if in.URL != "" && address.FindString(in.URL) != in.URL {
		return tools.Result{}, fmt.Errorf("url %q is no address; it begins with https:// and has no spaces", in.URL)
	}
	slices.Sort(in.Networks)
	in.Networks = slices.Compact(in.Networks)
	var limits []string
	for _, name := range in.Networks {
		n, ok := lookup(name)
		if !ok {
			return tools.Result{}, fmt.Errorf("there is no network %q", name)
		}
		limits = append(limits, fmt.Sprintf("%s: at most %d characters", name, n.most))
	}
	kind := "blog post"
	if env.Artifacts.Value("show_notes") != nil {
		kind = "podcast episode"
	}
	data := map[string]any{"Kind": kind, "Limits": limits, "URL": in.URL, "Content": quoted(content(env))}
	tries := 0
	got, err := typed(ctx, env, "social", data, func(a *announcementList) error {
		if tries++; tries > 1 {
			return a.whole(in) // length is put right below
		}
		return errors.Join(a.whole(in), a.fit())
	})
	if err != nil {
		return tools.Result{}, err
	}
	slices.SortFunc(got.Posts, func(a, b announcement) int { return strings.Compare(a.Network, b.Network) })
	var b strings.Builder
	for i := range got.Posts {
		p := &got.Posts[i]
		n, _ := lookup(p.Network)
		whole := strings.TrimSpace(p.Text)
		if p.Text = n.cut(whole, in.URL); !n.fits(p.Text) {
			return tools.Result{}, fmt.Errorf("the link alone is longer than %s allows; pass a shorter url", p.Network)
		}
		fmt.Fprintf(&b, "%s (%d of %d", p.Network, n.count(p.Text), n.most)
		if p.Text != whole {
			b.WriteString(", shortened")
		}
		fmt.Fprintf(&b, "):\n%s\n\n", p.Text)
	}
	return result(strings.TrimSpace(b.String()), "social", got)
}

// whole reports a network without a post, and a post without the link.
func (a *announcementList) whole(in socialInput) error {
	var names []string
	for _, p := range a.Posts {
		if in.URL != "" && !strings.Contains(p.Text, in.URL) {
			return fmt.Errorf("the post for %s lacks the link %s", p.Network, in.URL)
		}
		names = append(names, p.Network)
	}
	slices.Sort(names)
	if !slices.Equal(names, in.Networks) {
		return fmt.Errorf("there must be one post for each of %s", strings.Join(in.Networks, ", "))
	}
	return nil
}

// fit reports the posts that are too long.
func (a *announcementList) fit() error {
	var errs []error
	for _, p := range a.Posts {
		if n, ok := lookup(p.Network); ok && !n.fits(p.Text) {
			errs = append(errs, fmt.Errorf("the post for %s counts %d, at most %d are allowed", p.Network, n.count(p.Text), n.most))
		}
	}
	return errors.Join(errs...)
}
