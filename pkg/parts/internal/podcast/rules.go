package podcast

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/mail"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
)

const (
	maxDescription = 4000 // bytes, of Apple
	maxFaults      = 20
)

// language is a code of ISO 639 with a region, as feeds write it.
var language = lazyregexp.New(`^[A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?$`)

// A element is a part of a feed as encoding/xml reads it.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Inner   []element  `xml:",any"`
}

func (e element) all(space, name string) []element {
	var out []element
	for _, c := range e.Inner {
		if c.XMLName.Local == name && spaceOf(c.XMLName.Space) == space {
			out = append(out, c)
		}
	}
	return out
}

func (e element) first(space, name string) element { return append(e.all(space, name), element{})[0] }

func (e element) text(space, name string) string {
	return strings.TrimSpace(e.first(space, name).Text)
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// directoryFaults lists why Apple Podcasts or Spotify would refuse a feed, or
// could not tell whose it is: Apple's "Podcast RSS feed requirements" and "A
// podcaster's guide to RSS", Spotify's "Podcast delivery specification", and
// PSP-1 of the Podcast Standards Project, to which both refer.
func directoryFaults(feed []byte) []string {
	var doc element
	if err := xml.Unmarshal(bytes.TrimPrefix(feed, []byte("\xef\xbb\xbf")), &doc); err != nil {
		return []string{"it is not well-formed XML: " + err.Error()}
	}
	r := &rules{}
	ch := doc.first("", "channel")
	r.check(doc.attr("version") == "2.0", "<rss> needs version=\"2.0\"")
	r.channel(ch)
	items := ch.all("", "item")
	r.check(len(items) > 0, "there is no episode in it")
	seen := map[string]bool{}
	for i, it := range items {
		name := it.text("", "title")
		if name == "" {
			name = fmt.Sprintf("episode %d", i+1)
		}
		r.item(fmt.Sprintf("%q: ", name), it)
		for _, key := range []string{"guid " + it.text("", "guid"), "enclosure " + it.first("", "enclosure").attr("url")} {
			r.check(!seen[key], "%q: another episode has the same %s", name, key)
			seen[key] = true
		}
	}
	return spelling.First(r.faults, maxFaults)
}

// rules collects what a feed violates.
type rules struct{ faults []string }

func (r *rules) check(ok bool, format string, a ...any) {
	if !ok {
		r.faults = append(r.faults, fmt.Sprintf(format, a...))
	}
}

func (r *rules) channel(ch element) {
	r.check(ch.text("", "title") != "", "the channel has no <title>")
	r.check(web(ch.text("", "link")), "the channel has no <link> to the page of the show")
	d := ch.text("", "description")
	r.check(d != "" && len(d) <= maxDescription, "the channel needs a <description> of at most %d bytes", maxDescription)
	r.check(language.MatchString(ch.text("", "language")), "the channel needs a <language> like en or de-AT")
	r.check(ch.text(itunes, "author") != "", "the channel has no <itunes:author>")
	_, err := mail.ParseAddress(ch.first(itunes, "owner").text(itunes, "email"))
	r.check(err == nil, "the channel has no <itunes:owner> with an <itunes:email>; Spotify sends a code there")
	image := ch.first(itunes, "image").attr("href")
	r.check(web(image) && imageName(image), "the channel needs <itunes:image href=…>, a .jpg or .png of 1400 to 3000 pixels")
	category := ch.first(itunes, "category")
	r.check(isCategory(category.attr("text"), category.first(itunes, "category").attr("text")), "the channel needs an <itunes:category> of Apple's list, not %q", category.attr("text"))
	r.check(yesOrNo(ch.text(itunes, "explicit")), "the channel needs <itunes:explicit>, true or false")
	self := slices.ContainsFunc(ch.all(atomNS, "link"), func(l element) bool { return l.attr("rel") == "self" && web(l.attr("href")) })
	r.check(self, "the channel has no <atom:link rel=\"self\"> with its own address")
}

func (r *rules) item(name string, it element) {
	r.check(it.text("", "title") != "", "%sit has no <title>", name)
	e := it.first("", "enclosure")
	u, err := url.Parse(e.attr("url"))
	r.check(err == nil && web(e.attr("url")), "%s<enclosure> has no url", name)
	if err == nil {
		r.check(slices.Contains(enclosureTypes[strings.ToLower(path.Ext(u.Path))], e.attr("type")), "%s<enclosure> is %q of type %q; Apple plays .mp3, .m4a, .mp4, .m4v and .mov with their own types", name, path.Base(u.Path), e.attr("type"))
	}
	n, err := strconv.ParseInt(e.attr("length"), 10, 64)
	r.check(err == nil && n > 0, "%s<enclosure> has no length in bytes", name)
	r.check(it.text("", "guid") != "", "%sit has no <guid>", name)
	_, err = mail.ParseDate(it.text("", "pubDate"))
	r.check(err == nil, "%sit has no <pubDate> like Fri, 01 May 2026 06:00:00 +0000", name)
	_, whole := strconv.Atoi(it.text(itunes, "duration"))
	_, clock := transcript.ParseTime(it.text(itunes, "duration"))
	r.check(whole == nil || clock, "%sit has no <itunes:duration>", name)
	if s := it.text(itunes, "explicit"); s != "" {
		r.check(yesOrNo(s), "%s<itunes:explicit> is %q, not true or false", name, s)
	}
	if s := it.text(itunes, "episode"); s != "" {
		n, err := strconv.Atoi(s)
		r.check(err == nil && n > 0, "%s<itunes:episode> is %q, not a number from 1", name, s)
	}
	if s := it.text(itunes, "episodeType"); s != "" {
		r.check(slices.Contains([]string{"full", "trailer", "bonus"}, strings.ToLower(s)), "%s<itunes:episodeType> is %q, not full, trailer or bonus", name, s)
	}
	r.check(len(it.text("", "description")) <= 10_000, "%s<description> has more than 10,000 bytes", name)
}

// enclosureTypes are the types that Apple accepts for a file, by extension.
var enclosureTypes = map[string][]string{
	".mp3": {"audio/mpeg"}, ".m4a": {"audio/x-m4a", "audio/mp4"}, ".mp4": {"video/mp4"}, ".m4v": {"video/x-m4v", "video/mp4"}, ".mov": {"video/quicktime"},
}

func yesOrNo(s string) bool {
	return slices.Contains([]string{"true", "false", "yes", "no", "clean", "explicit"}, strings.ToLower(s))
}

func imageName(s string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains([]string{".jpg", ".jpeg", ".png"}, strings.ToLower(path.Ext(u.Path)))
}

func isCategory(parent, sub string) bool {
	subs, ok := appleCategories[parent]
	return ok && (sub == "" || slices.Contains(subs, sub))
}

// appleCategories are the categories of Apple Podcasts with their parts.
var appleCategories = map[string][]string{
	"Arts":                    {"Books", "Design", "Fashion & Beauty", "Food", "Performing Arts", "Visual Arts"},
	"Business":                {"Careers", "Entrepreneurship", "Investing", "Management", "Marketing", "Non-Profit"},
	"Comedy":                  {"Comedy Interviews", "Improv", "Stand-Up"},
	"Education":               {"Courses", "How To", "Language Learning", "Self-Improvement"},
	"Fiction":                 {"Comedy Fiction", "Drama", "Science Fiction"},
	"Government":              nil,
	"Health & Fitness":        {"Alternative Health", "Fitness", "Medicine", "Mental Health", "Nutrition", "Sexuality"},
	"History":                 nil,
	"Kids & Family":           {"Education for Kids", "Parenting", "Pets & Animals", "Stories for Kids"},
	"Leisure":                 {"Animation & Manga", "Automotive", "Aviation", "Crafts", "Games", "Hobbies", "Home & Garden", "Video Games"},
	"Music":                   {"Music Commentary", "Music History", "Music Interviews"},
	"News":                    {"Business News", "Daily News", "Entertainment News", "News Commentary", "Politics", "Sports News", "Tech News"},
	"Religion & Spirituality": {"Buddhism", "Christianity", "Hinduism", "Islam", "Judaism", "Religion", "Spirituality"},
	"Science":                 {"Astronomy", "Chemistry", "Earth Sciences", "Life Sciences", "Mathematics", "Natural Sciences", "Nature", "Physics", "Social Sciences"},
	"Society & Culture":       {"Documentary", "Personal Journals", "Philosophy", "Places & Travel", "Relationships"},
	"Sports":                  {"Baseball", "Basketball", "Cricket", "Fantasy Sports", "Football", "Golf", "Hockey", "Rugby", "Running", "Soccer", "Swimming", "Tennis", "Volleyball", "Wilderness", "Wrestling"},
	"Technology":              nil,
	"True Crime":              nil,
	"TV & Film":               {"After Shows", "Film History", "Film Interviews", "Film Reviews", "TV Reviews"},
}
