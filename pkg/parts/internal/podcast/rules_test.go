package podcast

import (
	"bytes"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// TestDirectories validates a feed that the tool began against the published
// rules of Apple and Spotify, and reads what they want with xmllint.
func TestDirectories(t *testing.T) {
	s := newStudio(t)
	s.ok(setShowNotesTool, `{"title":"Rye","summary":"Ann & Ben talk about <rye> and why it sticks.","topics":[{"time":3,"text":"Why"}],"links":[{"title":"Rye & more","url":"https://example.com/rye?a=1&b=2"}]}`)
	s.ok(processTranscriptTool, `{"path":"ep.vtt"}`)
	s.ok(setChaptersTool, `{"chapters":[{"startTime":0,"title":"Welcome"}]}`)
	text := s.ok(feedEntryTool, `{"feed":"feed.xml","url":"https://example.com/ep.mp3?x=1&y=2","title":"Rye","episode":12,"season":2,"link":"https://example.com/12","image":"https://example.com/12.jpg",
		"chapters_url":"https://example.com/c.json","transcript_url":"https://example.com/t.vtt","show":{"title":"Bread & more","link":"https://example.com","description":"On bread.",
		"feed_url":"https://example.com/feed.xml","author":"Ann Lee","email":"ann@example.com","image":"https://example.com/cover.jpg","category":"Arts > Food","language":"en-GB"}}`)
	if !strings.Contains(text, "It has all that Apple Podcasts and Spotify require.") {
		t.Error(text)
	}
	s.ok(feedEntryTool, `{"feed":"feed.xml","url":"https://example.com/ep13.mp3","title":"More","date":"2026-05-01","explicit":true}`)
	testenv.NeedsProgram(t, "xmllint")
	const it = `*[namespace-uri()="http://www.itunes.com/dtds/podcast-1.0.dtd" and local-name()=`
	for path, want := range map[string]string{
		`/rss/@version`:                                           "2.0",
		`count(/rss/channel/item)`:                                "2",
		`/rss/channel/` + it + `"author"]`:                        "Ann Lee",
		`/rss/channel/` + it + `"owner"]/*[local-name()="email"]`: "ann@example.com",
		`/rss/channel/` + it + `"image"]/@href`:                   "https://example.com/cover.jpg",
		`/rss/channel/` + it + `"category"]/@text`:                "Arts",
		`/rss/channel/` + it + `"category"]/*/@text`:              "Food",
		`/rss/channel/` + it + `"explicit"]`:                      "false",
		`/rss/channel/*[namespace-uri()="http://www.w3.org/2005/Atom" and local-name()="link"][@rel="self"]/@href`: "https://example.com/feed.xml",
		`/rss/channel/language`:                                                                        "en-gb",
		`/rss/channel/item[2]/enclosure/@length`:                                                       s.size("ep.mp3"),
		`/rss/channel/item[2]/enclosure/@type`:                                                         "audio/mpeg",
		`/rss/channel/item[2]/enclosure/@url`:                                                          "https://example.com/ep.mp3?x=1&y=2",
		`/rss/channel/item[2]/guid/@isPermaLink`:                                                       "false",
		`/rss/channel/item[2]/` + it + `"duration"]`:                                                   "10",
		`/rss/channel/item[2]/` + it + `"season"]`:                                                     "2",
		`/rss/channel/item[2]/` + it + `"image"]/@href`:                                                "https://example.com/12.jpg",
		`/rss/channel/item[1]/` + it + `"explicit"]`:                                                   "true",
		`/rss/channel/item[1]/pubDate`:                                                                 "Fri, 01 May 2026 00:00:00 +0000",
		`string-length(/rss/channel/item[2]/pubDate)`:                                                  "31",
		`contains(/rss/channel/item[2]/description, '<a href="https://example.com/rye?a=1&amp;b=2">')`: "true",
	} {
		if got := strings.TrimSpace(s.program("xmllint", "--xpath", "string("+path+")", "feed.xml")); got != want {
			t.Errorf("xmllint reads of %s %q, want %q", path, got, want)
		}
	}
}

// A feed of others without what directories want gets it from show; what it has
// stays, and what is wrong with it is named.
func TestCompleteFeed(t *testing.T) {
	c := feedChannel{Title: "New", Link: "https://example.com", Description: "On bread.", FeedURL: "https://example.com/feed.xml", Author: "Ben", Email: "ben@example.com", Image: "https://example.com/c.png", Category: "Technology"}
	faults := strings.Join(directoryFaults([]byte(odd)), "\n")
	for _, want := range []string{"no <link>", "<itunes:image href", "<itunes:category>", "<language>", "atom:link", "<itunes:email>", `"Old <one>": it has no <pubDate>`, `"episode 2": <enclosure> has no url`} {
		if !strings.Contains(faults, want) {
			t.Errorf("%q is not among\n%s", want, faults)
		}
	}
	out, n, err := c.complete([]byte(odd))
	if err != nil || n < 8 {
		t.Fatal(n, err)
	}
	text := string(out)
	switch {
	case strings.Count(text, "author>") != 2:
		t.Errorf(`strings.Count(text, "author>") is not 2: %s`, out)
	case strings.Count(text, "<title>New") != 0:
		t.Errorf(`strings.Count(text, "<title>New") is not 0: %s`, out)
	case !strings.Contains(text, `<it:category text="Technology"/>`):
		t.Errorf("text lacks `<it:category text=\"Technology\"/>`: %s", out)
	case !strings.Contains(text, `xmlns:atom="http://www.w3.org/2005/Atom"/>`):
		t.Errorf("text lacks `xmlns:atom=\"http://www.w3.org/2005/Atom\"/>`: %s", out)
	}
	if faults := strings.Join(directoryFaults(out), "\n"); strings.Contains(faults, "the channel") {
		t.Errorf("%s\n%s", faults, out)
	}
	if again, n, err := c.complete(out); err != nil || n != 0 || string(again) != text {
		t.Errorf("a second time: %d %v", n, err)
	}
	// Without entries, what is added stands before the end of the channel.
	empty := "<rss version=\"2.0\">\n  <channel>\n    <title>x</title>\n  </channel>\n</rss>\n"
	if out, _, err = c.complete([]byte(empty)); err != nil || !strings.Contains(string(out), "    <title>x</title>\n    <link>https://example.com</link>\n") || !strings.HasSuffix(string(out), "\n  </channel>\n</rss>\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestShowRefused(t *testing.T) {
	ok := feedChannel{Title: "x", Link: "https://example.com", Description: "y"}
	for want, change := range map[string]func(*feedChannel){
		"below Arts there are Books":       func(c *feedChannel) { c.Category = "Arts > Bread" },
		"the first part is one of Arts":    func(c *feedChannel) { c.Category = "Bread" },
		"isn't an e-mail address":          func(c *feedChannel) { c.Email = "ann" },
		"no code like en":                  func(c *feedChannel) { c.Language = "english" },
		"show/image":                       func(c *feedChannel) { c.Image = "cover.jpg" },
		"Apple takes 4000":                 func(c *feedChannel) { c.Description = strings.Repeat("x", 4001) },
		"title and description are needed": func(c *feedChannel) { c.Title = " " },
	} {
		c := ok
		change(&c)
		if err := c.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := ok.check(); err != nil {
		t.Error(err)
	}
}

func FuzzComplete(f *testing.F) {
	f.Add([]byte(odd))
	f.Add([]byte("\xef\xbb\xbf<rss><channel><item><guid>g</guid></item></channel></rss>"))
	f.Add([]byte("<rss xmlns:itunes='x' xmlns:podcast='y'><channel>\r\n\t<item/>\r\n</channel></rss>"))
	c := feedChannel{Title: "New", Link: "https://example.com", Description: "On bread.", FeedURL: "https://example.com/feed.xml", Author: "Ben", Email: "ben@example.com", Image: "https://example.com/c.png", Category: "Arts > Food"}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = directoryFaults(b)
		out, n, err := c.complete(b)
		if err != nil {
			return
		}
		again, m, err := c.complete(out)
		if err != nil || m != 0 || !bytes.Equal(again, out) {
			t.Fatalf("%d elements added, then %d: %v\n%q\n%q", n, m, err, b, out)
		}
	})
}
