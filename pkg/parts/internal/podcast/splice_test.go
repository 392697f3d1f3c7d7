package podcast

import (
	"strings"
	"testing"
	"time"
)

// What an entry of a feed has, and a request says nothing about, stays, in either
// spelling of the namespaces.
func TestUpdateKeepsAttributes(t *testing.T) {
	feed := `<rss version="2.0" xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel><title>Bread</title>
    <item>
      <title>Rye</title>
      <guid isPermaLink="true">https://bread.example/12</guid>
      <podcast:person role="host" href="https://ann.example" img="https://ann.example/a.jpg">Ann Lee</podcast:person>
      <podcast:transcript url="https://bread.example/12.vtt" type="text/vtt" language="en" rel="captions"/>
    </item>
</channel></rss>
`
	in := feedItem{GUID: "https://bread.example/12", URL: "https://bread.example/12.mp3", Title: "Rye", Transcript: "https://bread.example/12.vtt"}
	e, err := in.entry(mediaInfo{Size: 7, Duration: 60}, showNotes{Guests: []noteGuest{{Name: "Ann Lee"}}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := splice([]byte(feed), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`isPermaLink="true"`, `role="host"`, `img="https://ann.example/a.jpg"`, `language="en"`, `rel="captions"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the entry has lost %s", want)
		}
	}
	again, did, err := splice(out, e)
	if err != nil || string(again) != string(out) {
		t.Errorf("a second time it is %s: %v\n%s", did, err, again)
	}
	other := strings.NewReplacer("https://podcastindex.org/namespace/1.0", "https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md",
		`<guid isPermaLink="true">`, `<itunes:duration xmlns:itunes="http://www.itunes.com/DTDs/PodCast-1.0.dtd">61</itunes:duration><guid>`).Replace(feed)
	out, _, err = splice([]byte(other), e)
	if s := string(out); err != nil || !strings.Contains(s, "<guid>https") || !strings.Contains(s, `language="en"`) || strings.Count(s, ":duration") != 2 || strings.Contains(s, "61") {
		t.Errorf("the other spelling: %v\n%s", err, s)
	}
}
