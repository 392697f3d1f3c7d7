package podcast

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"
)

// A feedChannel is the show that a feed is for.
type feedChannel struct {
	Title       string `json:"title" jsonschema:"description=Its name"`
	Link        string `json:"link" jsonschema:"description=Its page"`
	Description string `json:"description" jsonschema:"description=What it is about"`
	FeedURL     string `json:"feed_url,omitempty" jsonschema:"description=Address of the feed"`
	Author      string `json:"author,omitempty" jsonschema:"description=Host or company"`
	Email       string `json:"email,omitempty" jsonschema:"description=Of the owner"`
	Image       string `json:"image,omitempty" jsonschema:"description=Address of the cover"`
	Category    string `json:"category,omitempty" jsonschema:"description=Apple's\\, like Arts > Food"`
	Language    string `json:"language,omitempty" jsonschema:"description=Like en or de-AT; default en"`
	Explicit    bool   `json:"explicit,omitempty" jsonschema:"description=For adults"`
	Copyright   string `json:"copyright,omitempty" jsonschema:"description=One line"`
}

func (c feedChannel) check() error {
	var errs []error
	for _, u := range []struct {
		name, value string
		must        bool
	}{{"link", c.Link, true}, {"feed_url", c.FeedURL, false}, {"image", c.Image, false}} {
		if (u.must || u.value != "") && !web(u.value) {
			errs = append(errs, fmt.Errorf("show/%s: %q is no http or https address", u.name, u.value))
		}
	}
	if oneLine(c.Title) == "" || strings.TrimSpace(c.Description) == "" {
		errs = append(errs, errors.New("show: title and description are needed"))
	}
	if len(c.Description) > maxDescription {
		errs = append(errs, fmt.Errorf("show/description: it has %d bytes; Apple takes %d", len(c.Description), maxDescription))
	}
	if _, err := mail.ParseAddress(c.Email); c.Email != "" && err != nil {
		errs = append(errs, fmt.Errorf("show/email: %q isn't an e-mail address", c.Email))
	}
	if c.Category != "" {
		if parent, sub := c.category(); !isCategory(parent, sub) {
			errs = append(errs, fmt.Errorf("show/category: Apple has no category %q; %s", c.Category, suggest(parent)))
		}
	}
	if c.Language != "" && !language.MatchString(c.Language) {
		errs = append(errs, fmt.Errorf("show/language: %q is no code like en or de-AT", c.Language))
	}
	return errors.Join(errs...)
}

// category splits "Arts > Food".
func (c feedChannel) category() (parent, sub string) {
	parent, sub, _ = strings.Cut(c.Category, ">")
	return strings.TrimSpace(parent), strings.TrimSpace(sub)
}

// suggest lists the categories that fit the first part of a wrong one.
func suggest(parent string) string {
	if subs := appleCategories[parent]; len(subs) > 0 {
		return fmt.Sprintf("below %s there are %s", parent, strings.Join(subs, ", "))
	}
	return "the first part is one of " + strings.Join(slices.Sorted(maps.Keys(appleCategories)), ", ")
}

// parts are the elements of the channel, in order.
func (c feedChannel) parts() []part {
	var out []part
	add := func(space, name, text string, attrs ...string) {
		if text != "" || len(attrs) > 0 {
			out = append(out, part{space: space, name: name, attrs: attrs, text: text})
		}
	}
	add("", "title", oneLine(c.Title))
	add("", "link", c.Link)
	if c.FeedURL != "" {
		add(atomNS, "link", "", "href", c.FeedURL, "rel", "self", "type", "application/rss+xml")
	}
	add("", "description", strings.TrimSpace(c.Description))
	add("", "language", strings.ToLower(cmp.Or(c.Language, "en")))
	add("", "copyright", oneLine(c.Copyright))
	add(itunes, "author", oneLine(c.Author))
	if c.Email != "" {
		out = append(out, part{space: itunes, name: "owner", inner: []part{
			{space: itunes, name: "name", text: cmp.Or(oneLine(c.Author), oneLine(c.Title))}, {space: itunes, name: "email", text: c.Email}}})
	}
	if c.Image != "" {
		add(itunes, "image", "", "href", c.Image)
	}
	if parent, sub := c.category(); parent != "" {
		p := part{space: itunes, name: "category", attrs: []string{"text", parent}}
		if sub != "" {
			p.inner = []part{{space: itunes, name: "category", attrs: []string{"text", sub}}}
		}
		out = append(out, p)
	}
	add(itunes, "explicit", fmt.Sprint(c.Explicit))
	add(itunes, "type", "episodic")
	add(podcastNS, "medium", "podcast")
	if c.FeedURL != "" {
		_, rest, _ := strings.Cut(c.FeedURL, "://")
		add(podcastNS, "guid", uuid5(rest))
	}
	add(podcastNS, "locked", "no")
	return out
}

// feed is a new feed without entries.
func (c feedChannel) feed() []byte {
	o := outline{spaces: map[string]string{"itunes": itunes, "podcast": podcastNS, "atom": atomNS}}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<rss version="2.0" xmlns:itunes="` + itunes +
		`" xmlns:podcast="` + podcastNS + `" xmlns:atom="` + atomNS + `">` + "\n  <channel>\n")
	for _, p := range c.parts() {
		b.WriteString("    " + o.element(p) + "\n")
	}
	b.WriteString("  </channel>\n</rss>\n")
	return []byte(b.String())
}

// complete adds the elements to the channel of a feed that it lacks, and
// leaves those that it has. It returns how many it added.
func (c feedChannel) complete(feed []byte) ([]byte, int, error) {
	o, err := survey(feed)
	if err != nil {
		return nil, 0, err
	}
	at := o.end
	if len(o.items) > 0 {
		at = o.items[0].start
	}
	in := indent(feed, at)
	if len(o.items) == 0 {
		in += "  "
	}
	var b strings.Builder
	n := 0
	for _, p := range c.parts() {
		if !slices.Contains(o.channelNames, [2]string{p.space, p.name}) {
			b.WriteString(o.element(p) + "\n" + in)
			n++
		}
	}
	if n == 0 {
		return feed, 0, nil
	}
	text := b.String()
	if len(o.items) == 0 { // the end tag of the channel follows, less deep
		text = "  " + strings.TrimSuffix(text, "  ")
	}
	return slices.Concat(feed[:at], []byte(text), feed[at:]), n, nil
}

// element writes a part with the prefixes of the feed; a namespace that has
// none is declared where it stands.
func (o *outline) element(p part) string {
	prefix := ""
	if p.space != "" {
		if prefix = prefixOf(o.spaces, p.space); prefix == "" {
			prefix = map[string]string{itunes: "itunes", podcastNS: "podcast", atomNS: "atom"}[p.space]
			p.attrs = slices.Concat(p.attrs, []string{"xmlns:" + prefix, p.space})
		}
		prefix += ":"
	}
	return p.xml(prefix)
}
