package research

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
)

// wideText is a text in UTF-16.
func wideText(s string, order binary.AppendByteOrder, mark bool) string {
	if mark {
		s = "\ufeff" + s
	}
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func rssOf(item string) string {
	return `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>C</title><link>https://ex.org/blog/</link>` + item + `</channel></rss>`
}

// Feeds as programs and people write them, well-formed or not.
func TestFeedFiles(t *testing.T) {
	rss := rssOf
	atom := func(e string) string {
		return `<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>C</title><link href="https://ex.org/"/>` + e + `</feed>`
	}
	at, _ := url.Parse("https://feed.host/path/feed.xml")
	for _, c := range []struct{ file, want string }{
		{rss("<item><title>A &amp; B</title><link>https://x/1</link><description>D</description></item>"), "C https://ex.org/blog/ [A & B|https://x/1|||D||]"},
		{rss("<item><title>A &amp;amp; B &amp;lt;T&amp;gt;</title><link>/rel</link></item>"), "C https://ex.org/blog/ [A & B <T>|https://feed.host/rel|||||]"},
		{rss("<item><title><![CDATA[A & B <i>x</i>]]></title><link>  https://x/1\n </link></item>"), "C https://ex.org/blog/ [A & B x|https://x/1|||||]"},
		{rss("<item><title>A&nbsp;B &eacute; &#233; &#xe9; &hellip;</title><guid>https://x/p</guid></item>"), "C https://ex.org/blog/ [A B é é é …|https://x/p|||||]"},
		{rss("<item><title>t</title><guid isPermaLink=\"false\">https://x/p</guid></item>"), "C https://ex.org/blog/ [t||||||]"},
		{rss("<item><title>t</title><guid>123</guid></item>"), "C https://ex.org/blog/ [t||||||]"},
		{rss("<item><title>t</title><link>x/y</link><enclosure url=\"a.mp3\" length=\"1\" type=\"audio/mpeg\"/><enclosure url=\"https://x/b.mp3\" length=\"1\" type=\"audio/mpeg\"/></item>"), "C https://ex.org/blog/ [t|https://feed.host/path/x/y|||||https://feed.host/path/a.mp3]"},
		{rss("<item><title>t</title><media:content url=\"https://x/v.mp4\" type=\"video/mp4\"/><link>https://x/1</link></item>"), "C https://ex.org/blog/ [t|https://x/1|||||]"},
		{rss("<item><description>&lt;p&gt;Only &lt;b&gt;text&lt;/b&gt;&lt;/p&gt;</description></item>"), "C https://ex.org/blog/ [Only text||||Only text||]"},
		{rss("<item><title>t</title><description>short</description><content:encoded><![CDATA[<p>long</p>]]></content:encoded><dc:creator>Jane</dc:creator><category>a</category><category domain=\"x\">b</category></item>"), "C https://ex.org/blog/ [t|||Jane|short|a b|]"},
		{rss("<item><title>t</title><link>https://x/1</link></item><item><title>t</title><link>https://x/1</link></item>"), "C https://ex.org/blog/ [t|https://x/1|||||]"},
		{rss("<item><title>t1</title><guid>g</guid><link>https://x/1</link></item><item><title>t2</title><guid>g</guid><link>https://x/2</link></item>"), "C https://ex.org/blog/ [t1|https://x/1|||||]"},
		{rss("<item><title>t</title><author>jane@x.org (Jane Doe)</author><link>https://x/1</link></item>"), "C https://ex.org/blog/ [t|https://x/1||Jane Doe|||]"},
		{rss("<item><title>t</title><itunes:author>J</itunes:author><itunes:summary>S</itunes:summary><link>https://x/1</link></item>"), "C https://ex.org/blog/ [t|https://x/1||J|S||]"},
		{strings.Replace(rss("<item><title>t</title><it:author>J</it:author><link>https://x/1</link></item>"), "xmlns:itunes", "xmlns:it", 1), "C https://ex.org/blog/ [t|https://x/1||J|||]"},
		{strings.Replace(strings.Replace(rss("<item><title>t</title><c:encoded>full</c:encoded><link>https://x/1</link></item>"), "xmlns:content", "xmlns:c", 1), "xx", "", 1), "C https://ex.org/blog/ [t|https://x/1|||full||]"},
		{strings.Replace(rss("<item><title>t</title><link>https://x/1</link><itunes:author>J</itunes:author></item>"), "http://www.itunes.com/dtds/podcast-1.0.dtd", "http://www.itunes.com/DTDs/Podcast-1.0.dtd", 1), "C https://ex.org/blog/ [t|https://x/1||J|||]"},
		{`<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link href="https://ex.org/feed" rel="self"/><title>C</title><link>https://ex.org</link><item><title>t</title><atom:link href="https://x/at"/><link>https://x/1</link></item></channel></rss>`, "C https://ex.org [t|https://x/1|||||]"},
		{`<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>https://ex.org</link><atom:link href="https://ex.org/feed" rel="self"/><title>C</title><item><title>t</title><link>https://x/1</link><atom:updated>2024-01-02T03:04:05Z</atom:updated></item></channel></rss>`, "C https://ex.org [t|https://x/1|240102T0304Z||||]"},
		{`<rss version="0.91"><channel><title>C</title><link>https://x</link><description>d</description><item><title>t</title><link>https://x/1</link></item></channel></rss>`, "C https://x [t|https://x/1|||||]"},
		{`<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss version="0.91"><channel><title>C</title><item><title>t&copy;</title><link>https://x/1</link></item></channel></rss>`, "C  [t©|https://x/1|||||]"},
		{`<rss version="0.92"><channel><title>C</title><item><description>no title</description></item></channel></rss>`, "C  [no title||||no title||]"},
		{`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://x/"><title>C</title><link>https://x/</link></channel><item rdf:about="https://x/1"><title>t</title><link>https://x/1</link><dc:date>2024-01-02T03:04:05+09:00</dc:date><dc:creator>J</dc:creator></item></rdf:RDF>`, "C https://x/ [t|https://x/1|240101T1804Z|J|||]"},
		{`<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rss="http://purl.org/rss/1.0/"><rss:channel r:about="https://x/"><rss:title>C</rss:title><rss:link>https://x/</rss:link></rss:channel><rss:item r:about="https://x/1"><rss:title>t</rss:title><rss:link>https://x/1</rss:link></rss:item></r:RDF>`, "C https://x/ [t|https://x/1|||||]"},
		{atom(`<entry><title>t</title><link href="https://x/1"/><id>urn:1</id><updated>2024-01-02T03:04:05Z</updated><summary>S</summary></entry>`), "C https://ex.org/ [t|https://x/1|240102T0304Z||S||]"},
		{atom(`<entry><title type="html">A &amp;amp; &lt;b&gt;B&lt;/b&gt;</title><link rel="enclosure" href="https://x/a.mp3"/><link rel="alternate" href="https://x/1"/><link rel="self" href="https://x/self"/><published>2024-01-02T03:04:05+02:00</published><updated>2024-02-02T03:04:05Z</updated></entry>`), "C https://ex.org/ [A & B|https://x/1|240102T0104Z||||https://x/a.mp3]"},
		{atom(`<entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <b>B</b></div></title><link href="https://x/1"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>P</p></div></content></entry>`), "C https://ex.org/ [A B|https://x/1|||P||]"},
		{`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://base.org/dir/"><title>C</title><entry xml:base="sub/"><title>t</title><link href="page.html"/></entry></feed>`, "C  [t|https://base.org/dir/sub/page.html|||||]"},
		{`<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>C</a:title><a:entry><a:title>t</a:title><a:link href="https://x/1"/><a:updated>2024-01-02T03:04:05Z</a:updated></a:entry></a:feed>`, "C  [t|https://x/1|240102T0304Z||||]"},
		{`<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>C</title><entry><title>t</title><link rel="alternate" href="https://x/1"/><issued>2004-01-02T03:04:05Z</issued><modified>2004-02-02T03:04:05Z</modified></entry></feed>`, "C  [t|https://x/1|040102T0304Z||||]"},
		{atom(`<author><name>Feed Author</name></author><entry><title>t</title><link href="https://x/1"/></entry>`), "C https://ex.org/ [t|https://x/1|||||]"},
		{atom(`<entry><title>t</title><content type="text/html" src="https://x/out"/><id>https://x/id</id></entry>`), "C https://ex.org/ [t||||||]"},
		{`{"version":"https://jsonfeed.org/version/1.1","title":"C","home_page_url":"https://ex.org/","items":[{"id":"1","url":"https://x/1","title":"t","content_html":"<p>x</p>","date_published":"2024-01-02T03:04:05-07:00","authors":[{"name":"J"}],"tags":["a"],"attachments":[{"url":"https://x/a.mp3","mime_type":"audio/mpeg"}]},{"id":2,"external_url":"https://y/2","content_text":"No title"}]}`, "C https://ex.org/ [t|https://x/1|240102T1004Z|J|x|a|https://x/a.mp3] [No title|https://y/2|||No title||]"},
		{"\ufeff" + rss("<item><title>bom</title></item>"), "C https://ex.org/blog/ [bom||||||]"},
		{"\n  " + rss("<item><title>blank first</title></item>"), "C https://ex.org/blog/ [blank first||||||]"},
		{wideText(strings.Replace(rss("<item><title>ü16</title></item>"), `version="1.0"`, `version="1.0" encoding="UTF-16"`, 1), binary.LittleEndian, true), "C https://ex.org/blog/ [ü16||||||]"},
		{wideText(strings.Replace(rss("<item><title>ü16be</title></item>"), `version="1.0"`, `version="1.0" encoding="UTF-16"`, 1), binary.BigEndian, true), "C https://ex.org/blog/ [ü16be||||||]"},
		{wideText(strings.Replace(rss("<item><title>ü16nobom</title></item>"), `version="1.0"`, `version="1.0" encoding="UTF-16LE"`, 1), binary.LittleEndian, false), "C https://ex.org/blog/ [ü16nobom||||||]"},
		{strings.Replace(rss("<item><title>caf\xe9</title></item>"), `version="1.0"`, `version="1.0" encoding="ISO-8859-1"`, 1), "C https://ex.org/blog/ [café||||||]"},
		{strings.Replace(rss("<item><title>caf\xe9 \x93q\x94</title></item>"), `version="1.0"`, `version='1.0' encoding='windows-1252'`, 1), "C https://ex.org/blog/ [café “q”||||||]"},
		{strings.Replace(rss("<item><title>café</title></item>"), `version="1.0"`, `version="1.0" encoding="ISO-8859-1"`, 1), "C https://ex.org/blog/ [café||||||]"},
		{rss("<item><title>caf\xe9</title></item>"), "C https://ex.org/blog/ [café||||||]"},
		{strings.Replace(rss("<item><title>\x83\x65\x83\x58\x83\x67</title></item>"), `version="1.0"`, `version="1.0" encoding="Shift_JIS"`, 1), "C https://ex.org/blog/ [テスト||||||]"},
		{strings.Replace(rss("<item><title>utf8 ü declared us-ascii</title></item>"), `version="1.0"`, `version="1.0" encoding="us-ascii"`, 1), "C https://ex.org/blog/ [utf8 ü declared us-ascii||||||]"},
		{rss("<item><title>ctrl \x0b\x01 & amp < lt</title><link>https://x/1?a=1&b=2</link></item>"), "C https://ex.org/blog/ [ctrl & amp < lt|https://x/1?a=1&b=2|||||]"},
		{rss("<item><title>unclosed</title><description><p>x<br></description></item>"), "C https://ex.org/blog/ [unclosed||||x||]"},
		{`<rss version="2.0"><channel><title>C</title></channel><item><title>outside</title><link>https://x/1</link></item></rss>`, "C  [outside|https://x/1|||||]"},
		{rss("<item><title>a]]&gt;b</title></item>"), "C https://ex.org/blog/ [a]]>b||||||]"},
		{rss("<item><title>emoji 👩‍👩‍👧 \u202eRTL שלום</title></item>"), "C https://ex.org/blog/ [emoji 👩\u200d👩\u200d👧 RTL שלום||||||]"},
		{rss("<ITEM><TITLE>upper</TITLE><LINK>https://x/1</LINK></ITEM>"), "C https://ex.org/blog/ [upper|https://x/1|||||]"},
		{`<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="x.xsl"?><!-- c --><rss version="2.0"><channel><title>C</title><item><title>pi</title></item></channel></rss>`, "C  [pi||||||]"},
		{`<opml version="2.0"><body/></opml>`, "it is not a feed of a known kind (Atom, RSS or JSON Feed); web_fetch reads pages"},
		{`<!DOCTYPE html><html><head><link rel="alternate" type="application/rss+xml" href="/feed"></head></html>`, "it is a page, whose feed is https://feed.host/feed"},
	} {
		f, err := readFeed([]byte(c.file), "", at)
		got := fmt.Sprint(err)
		if f != nil {
			got = f.title + " " + f.link
			for _, it := range f.items {
				when := ""
				if !it.Time.IsZero() {
					when = it.Time.Format("060102T1504Z07")
				}
				got += fmt.Sprintf(" [%s]", strings.Join([]string{it.Title, it.URL, when, it.Author, it.Summary, strings.Join(it.Tags, " "), it.File}, "|"))
			}
		}
		if got != c.want {
			t.Errorf("%q\n is %q\nwant %q", c.file, got, c.want)
		}
	}
}

// Dates as feeds have them. One in a language that is not known here is none.
func TestFeedDates(t *testing.T) {
	at, _ := url.Parse("https://feed.host/")
	for _, c := range []struct{ date, want string }{
		{"Tue, 02 Jan 2024 03:04:05 GMT", "2024-01-02T03:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 EST", "2024-01-02T08:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 +0530", "2024-01-01T21:34:05Z"},
		{"Tue, 2 Jan 24 03:04 PDT", "2024-01-02T10:04:00Z"},
		{"2 Jan 2024 03:04:05 Z", "2024-01-02T03:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 CEST", "2024-01-02T01:04:05Z"},
		{"Tue, 02 Jan 2024", "2024-01-02T00:00:00Z"},
		{"2024-01-02", "2024-01-02T00:00:00Z"},
		{"2024-01-02 03:04:05", "2024-01-02T03:04:05Z"},
		{"2024-01-02T03:04:05", "2024-01-02T03:04:05Z"},
		{"2024-01-02T03:04:05.123456Z", "2024-01-02T03:04:05Z"},
		{"2024-01-02T03:04:05+0200", "2024-01-02T01:04:05Z"},
		{"20240102T030405Z", "2024-01-02T03:04:05Z"},
		{"Tuesday, January 2, 2024 3:04 PM", "2024-01-02T15:04:00Z"},
		{"January 2, 2024", "2024-01-02T00:00:00Z"},
		{"Jan 2, 2024 3:04 PM EST", "2024-01-02T20:04:00Z"},
		{"Tue, 02 Sept 2024 03:04:05 GMT", "2024-09-02T03:04:05Z"},
		{"Tue, 02 Jan 2024 24:00:00 GMT", "2024-01-03T00:00:00Z"},
		{"Tue, 02 Jan 2024 03:04:05 UT", "2024-01-02T03:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 GMT+2", "2024-01-02T01:04:05Z"},
		{"Tue,02 Jan 2024 03:04:05 +00:00", "2024-01-02T03:04:05Z"},
		{"Tue Jan  2 03:04:05 2024", "2024-01-02T03:04:05Z"},
		{"Tue Jan 02 03:04:05 UTC 2024", "2024-01-02T03:04:05Z"},
		{"Di, 02 Jan 2024 03:04:05 +0100", "2024-01-02T02:04:05Z"},
		{"mar., 02 janv. 2024 03:04:05 +0100", "2024-01-02T02:04:05Z"},
		{"Wrong, 02 Jan 2024 03:04:05 GMT", "2024-01-02T03:04:05Z"},
		{"<![CDATA[ Tue, 02 Jan 2024 03:04:05 GMT ]]>", "2024-01-02T03:04:05Z"},
		{"Tue, 02 Jan 2024 3:04:05 am GMT", "2024-01-02T03:04:05Z"},
		{"2024/01/02 03:04:05", "2024-01-02T03:04:05Z"},
		{"02 January 2024 03:04 UTC", "2024-01-02T03:04:00Z"},
		{"Tue, 02-Jan-2024 03:04:05 GMT", "2024-01-02T03:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 AEDT", "2024-01-01T16:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 JST", "2024-01-01T18:04:05Z"},
		{"Tue, 02 Jan 2024 03:04:05 -0000", "2024-01-02T03:04:05Z"},
		{"Mi, 15 Mai 2024 10:00:00 +0200", "2024-05-15T08:00:00Z"},
		{"Mié, 15 may 2024 10:00:00 +0200", "2024-05-15T08:00:00Z"},
		{"15 mai 2024", ""},
		{"Ср, 15 мая 2024 10:00:00 +0300", "2024-05-15T07:00:00Z"},
		{"2024年1月2日", ""},
		{"Thu, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59Z"},
	} {
		f, err := readFeed([]byte(rssOf("<item><title>t</title><pubDate>"+c.date+"</pubDate></item>")), "", at)
		got := fmt.Sprint(err)
		if f != nil && len(f.items) == 1 {
			if got = ""; !f.items[0].Time.IsZero() {
				got = f.items[0].Time.Format("2006-01-02T15:04:05Z07")
			}
		}
		if got != c.want {
			t.Errorf("%q\n is %q\nwant %q", c.date, got, c.want)
		}
	}
}
