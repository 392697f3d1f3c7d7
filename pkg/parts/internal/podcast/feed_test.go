package podcast

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"
)

// odd is a feed as others write them: other prefixes, elements nobody here
// knows, comments, CDATA, Windows line ends in one item.
const odd = `<?xml version="1.0" encoding="utf-8"?>
<!-- made by hand -->
<rss version="2.0" xmlns:it="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/">
  <channel>
    <title>Bread &amp; more</title>
    <it:author>Ann</it:author>
    <item>
      <title><![CDATA[Old <one>]]></title>
      <guid isPermaLink="true"> https://example.com/1 </guid>
      <!-- keep me -->
      <media:content url="https://example.com/1.jpg"><media:title>cover</media:title></media:content>
      <enclosure url="https://example.com/old.mp3" length="1" type="audio/mpeg"/>
      <it:duration>10:00</it:duration>
    </item>
    <item xmlns:podcast="https://podcastindex.org/namespace/1.0"><guid>2</guid><podcast:person role="host">Ann</podcast:person></item>
  </channel>
</rss>
`

func newEntry(t *testing.T, in feedItem, n showNotes) entry {
	t.Helper()
	e, err := in.entry(mediaInfo{Format: "mp3", Size: 1234, Duration: 61.6}, n, time.Date(2026, 5, 2, 6, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSplice(t *testing.T) {
	in := feedItem{URL: "https://example.com/a.mp3?x=1&y=2", Title: "New <one>", Date: "2026-05-01", Chapters: "https://example.com/c.json", Transcript: "https://example.com/t.vtt"}
	e := newEntry(t, in, showNotes{Summary: "About bread & rye, at length.", Guests: []noteGuest{{Name: "Ben"}}})
	out, did, err := splice([]byte(odd), e)
	if err != nil || did != "entry added" {
		t.Fatal(did, err)
	}
	// The new entry stands before the others, and taking it out gives the old feed back.
	at := bytes.Index(out, []byte("<item"))
	end := bytes.Index(out, []byte("</item>")) + len("</item>\n    ")
	if back := string(out[:at]) + string(out[end:]); back != odd {
		t.Errorf("the rest changed:\n%s", back)
	}
	own := string(out[at:end])
	for _, want := range []string{
		"<title>New &lt;one&gt;</title>", `<guid isPermaLink="false">` + e.guid + "</guid>", "<pubDate>Fri, 01 May 2026 00:00:00 +0000</pubDate>",
		`<enclosure url="https://example.com/a.mp3?x=1&amp;y=2" length="1234" type="audio/mpeg"/>`, "<it:duration>62</it:duration>",
		`<item xmlns:podcast="https://podcastindex.org/namespace/1.0">`, `<podcast:chapters url="https://example.com/c.json" type="application/json+chapters"/>`,
		`<podcast:transcript url="https://example.com/t.vtt" type="text/vtt"/>`, `<podcast:person role="guest">Ben</podcast:person>`,
		"&lt;p&gt;About bread &amp;amp; rye, at length.&lt;/p&gt;",
	} {
		if !strings.Contains(own, want) {
			t.Errorf("%s is not in\n%s", want, own)
		}
	}
	again, did, err := splice(out, e)
	if err != nil || did != "entry updated" || !bytes.Equal(again, out) {
		t.Errorf("the same entry once more: %s %v\n%s", did, err, again)
	}
}

// An entry that is there is updated where something is said about it; what it
// has beyond that stays.
func TestSpliceUpdates(t *testing.T) {
	e := newEntry(t, feedItem{URL: "https://example.com/new.mp3", Title: "One", GUID: "https://example.com/1"}, showNotes{})
	out, did, err := splice([]byte(odd), e)
	if err != nil || did != "entry updated" {
		t.Fatal(did, err)
	}
	s := string(out)
	for _, want := range []string{"<!-- keep me -->", `<media:content url="https://example.com/1.jpg"><media:title>cover</media:title></media:content>`,
		"<it:duration>62</it:duration>", "<title>One</title>", "<!-- made by hand -->", `<podcast:person role="host">Ann</podcast:person>`} {
		if strings.Count(s, want) != 1 {
			t.Errorf("%q is %d times in\n%s", want, strings.Count(s, want), s)
		}
	}
	for _, gone := range []string{"Old", "old.mp3", "10:00"} {
		if strings.Contains(s, gone) {
			t.Errorf("%q is still in\n%s", gone, s)
		}
	}
	// The second item declares its own prefix; a guest is added beside the host.
	e = newEntry(t, feedItem{URL: "https://example.com/2.mp3", Title: "Two", GUID: "2"}, showNotes{Guests: []noteGuest{{Name: "Ben"}}})
	if out, _, err = splice(out, e); err != nil {
		t.Fatal(err)
	}
	if s = string(out); !strings.Contains(s, ">Ann</podcast:person>") || !strings.Contains(s, ">Ben</podcast:person>") {
		t.Errorf("persons in\n%s", s)
	}
	if again, _, err := splice(out, e); err != nil || !bytes.Equal(again, out) {
		t.Errorf("the same entry once more: %v\n%s", err, again)
	}
}

func TestSpliceRefuses(t *testing.T) {
	e := newEntry(t, feedItem{URL: "https://example.com/a.mp3", Title: "x", GUID: "2"}, showNotes{})
	for feed, want := range map[string]string{
		"":               "no channel",
		"<rss><channel>": "well-formed",
		"<feed xmlns='http://www.w3.org/2005/Atom'/>":                                                 "not RSS",
		"<rss><channel/></rss>":                                                                       "empty",
		"<rss><channel></channel><channel></channel></rss>":                                           "two channels",
		`<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><channel>&b;</channel></rss>`:      "entities",
		`<?xml version="1.0" encoding="shift_jis"?><rss><channel></channel></rss>`:                    "UTF-8",
		"<rss><channel>" + strings.Repeat("<a>", 200) + "</channel></rss>":                            "deep",
		"<rss><channel><item><guid>2</guid></item><item><guid>2</guid></item></channel></rss>":        "there may be one",
		"<rss><channel><item><guid>2</guid></item><title>\xff</title></channel></rss>":                "UTF-8",
		"<rss><channel><title>" + strings.Repeat("&lol;", 1000) + "</title></channel></rss>":          "well-formed",
		"not xml at all, but a text that is quite long and has nothing to do with feeds of any kind.": "",
	} {
		if out, _, err := splice([]byte(feed), e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v\n%s", feed, err, out)
		}
	}
}

// A feed that is begun holds what it should, and takes more entries.
func TestNewFeed(t *testing.T) {
	feed := feedChannel{Title: "Bread", Link: "https://example.com", Description: "On bread.", FeedURL: "https://example.com/feed.xml"}.feed()
	for _, guid := range []string{"1", "2", "1"} {
		var err error
		if feed, _, err = splice(feed, newEntry(t, feedItem{URL: "https://example.com/a.mp3", Title: "E" + guid, GUID: guid}, showNotes{})); err != nil {
			t.Fatal(err)
		}
	}
	var doc struct {
		Channel struct {
			Title string `xml:"title"`
			Items []struct {
				GUID string `xml:"guid"`
			} `xml:"item"`
		} `xml:"channel"`
	}
	if err := xml.Unmarshal(feed, &doc); err != nil {
		t.Fatal(err)
	}
	if c := doc.Channel; c.Title != "Bread" || len(c.Items) != 2 || c.Items[0].GUID != "2" {
		t.Errorf("%+v\n%s", c, feed)
	}
	// The namespace's documentation has this UUID for this address.
	if got := uuid5("mp3s.nashownotes.com/pc20rss.xml"); got != "917393e3-1b1e-5cef-ace4-edaa54e1f810" {
		t.Errorf("guid %s", got)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte(odd))
	f.Add([]byte("\xef\xbb\xbf<rss><channel><item><guid>g</guid></item></channel></rss>"))
	f.Add([]byte("<rss xmlns:itunes='x' xmlns:podcast='y'><channel>\r\n\t<item/>\r\n</channel></rss>"))
	f.Add([]byte(`<!DOCTYPE x><rss><channel><item xmlns="z"><guid>g</guid><a/></item></channel></rss>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := newEntry(t, feedItem{URL: "https://example.com/a.mp3", Title: "x", GUID: "g", Chapters: "https://example.com/c"}, showNotes{})
		out, _, err := splice(b, e)
		if err != nil {
			return
		}
		again, _, err := splice(out, e)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("a second time: %v\n%q\n%q", err, out, again)
		}
	})
}

// A feed of 50,000 episodes takes an entry and keeps the rest to the byte; what
// is listed of its faults is bounded.
func TestFeedOfManyEpisodes(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>Long</title>`)
	for i := range 50_000 {
		fmt.Fprintf(&b, "<item><title>%d</title><guid>%d</guid></item>\n", i, i)
	}
	b.WriteString("</channel></rss>\n")
	e := newEntry(t, feedItem{URL: "https://example.com/new.mp3", Title: "New"}, showNotes{})
	out, did, err := splice([]byte(b.String()), e)
	if err != nil || did != "entry added" || strings.Count(string(out), "<item") != 50_001 {
		t.Fatalf("%s %v", did, err)
	}
	if faults := directoryFaults(out); len(faults) != maxFaults+1 {
		t.Errorf("%d faults", len(faults))
	}
}

// Whatever a title has, the feed stays XML and has that title: without what XML cannot have, and
// without marks of direction.
func TestTitlesInFeeds(t *testing.T) {
	for title, want := range map[string]string{
		"a ]]> b <![CDATA[c]]>": "a ]]> b <![CDATA[c]]>", "AT&T &amp; &nbsp;": "AT&T &amp; &nbsp;", "ctrl \x01\x0b\x1b[31m\x7f": "ctrl [31m",
		"emoji 👩‍👩‍👧 🇩🇪": "emoji 👩‍👩‍👧 🇩🇪", "\u202eRTL \u2066שלום": "RTL שלום", "broken \xff\xed\xa0\x80": "broken \ufffd", "\ufffe\uffff": "\ufffd\ufffd",
		"</title><item>": "</title><item>", "two\nlines\ttab": "two lines tab", "<?x y?> <!-- c -->": "<?x y?> <!-- c -->", "{{ x }} ${y} %s": "{{ x }} ${y} %s",
	} {
		out, _, err := splice([]byte(odd), newEntry(t, feedItem{URL: "https://example.com/a.mp3", Title: title, Date: "2026-05-01"}, showNotes{Summary: title}))
		if err != nil {
			t.Errorf("%q: %v", title, err)
			continue
		}
		var got struct {
			Items []struct {
				Title string `xml:"title"`
			} `xml:"channel>item"`
		}
		if err := xml.Unmarshal(out, &got); err != nil || len(got.Items) != 3 || got.Items[0].Title != want {
			t.Errorf("%q is %+q, %v; want %q", title, got.Items, err, want)
		}
	}
}
