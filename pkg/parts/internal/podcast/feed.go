package podcast

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

// feedInput is the input of feed_entry.
type feedInput struct {
	Feed  string `json:"feed" jsonschema:"description=RSS file"`
	Audio string `json:"audio,omitempty" jsonschema:"description=Default the finished recording\\, else the job's"`
	feedItem
	Show *feedChannel `json:"show,omitempty" jsonschema:"description=For a new feed\\, or to add what the channel lacks"`
}

// A feedItem is the description of an episode in a request.
type feedItem struct {
	URL        string `json:"url" jsonschema:"description=Of the recording"`
	Title      string `json:"title" jsonschema:"description=Of the episode"`
	GUID       string `json:"guid,omitempty" jsonschema:"description=Default made of url"`
	Date       string `json:"date,omitempty" jsonschema:"description=Like 2026-05-01T06:00:00Z; default now"`
	Episode    int    `json:"episode,omitempty" jsonschema:"description=Number"`
	Season     int    `json:"season,omitempty" jsonschema:"description=Number"`
	Link       string `json:"link,omitempty" jsonschema:"description=Page of the episode"`
	Image      string `json:"image,omitempty" jsonschema:"description=Address of its own cover"`
	Explicit   bool   `json:"explicit,omitempty" jsonschema:"description=For adults"`
	Chapters   string `json:"chapters_url,omitempty" jsonschema:"description=Of the chapters"`
	Transcript string `json:"transcript_url,omitempty" jsonschema:"description=Of the transcript"`
}

// feedEntryTool is the tool feed_entry.
var feedEntryTool = tools.New(tools.Metadata{
	Name: "feed_entry", Category: "content", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent,
	Optionality: tools.Optional, Paths: []string{"feed", "audio"}, Requires: []string{"ffmpeg"},
	Uses: []string{audioSource, episodeName, notesName, masterName, chaptersName, transcriptName}, Produces: []string{feedName},
	Examples: []tools.Example{{Note: "an entry of a feed that is there", Args: json.RawMessage(`{"feed":"feed.xml","url":"https://example.com/ep12.mp3","title":"Rye","episode":12}`)}},
	Timeout:  2 * probing,
}.ProseIn(descriptions), feedEntry)

// An entryState is the artifact "feed_entry": the state of an entry. One that was refused
// is not in the feed, though the user wants it.
type entryState struct {
	Feed    string `json:"feed"`
	Refused string `json:"refused,omitempty"`
	Audio   string `json:"audio,omitempty"` // what the enclosure is, and how long it was
	Length  int64  `json:"length,omitempty"`
	Of      string `json:"of,omitempty"` // see basis
}

// basis is a digest of a feed and of the notes that its entry was made of.
func basis(env *tools.Env, feed []byte) string {
	sum := sha256.Sum256(slices.Concat(feed, []byte{0}, env.Artifacts.Value(notesName)))
	return hex.EncodeToString(sum[:])
}

func feedEntry(ctx context.Context, env *tools.Env, in feedInput) (tools.Result, error) {
	r, err := writeEntry(ctx, env, in)
	if err == nil || ctx.Err() != nil {
		return r, err
	}
	r, bad := bind(feedName, entryState{Feed: in.Feed, Refused: err.Error()}, err.Error(), oneLine(err.Error()))
	r.Failed = true
	return r, bad
}

// files reports an address of the entry for which the job has made no file.
func (in feedInput) files(env *tools.Env) error {
	var errs []error
	if _, ok := load[chapterList](env, chaptersName); !ok && in.Chapters != "" {
		errs = append(errs, errors.New("chapters_url leads to chapters that are not there: call set_chapters first, or leave it out"))
	}
	t, ok := load[transcript.Transcript](env, transcriptName)
	kind := strings.ToLower(path.Ext(strings.SplitN(in.Transcript, "?", 2)[0]))
	switch {
	case in.Transcript == "":
	case !ok:
		errs = append(errs, errors.New("transcript_url leads to a transcript that is not there: call process_transcript first, or leave it out"))
	case !t.Timed && (kind == ".vtt" || kind == ".srt"):
		errs = append(errs, fmt.Errorf("transcript_url leads to a file %s, and the transcript has no times that such a file could have: leave it out, or give the address of the text", kind))
	}
	return errors.Join(errs...)
}

func writeEntry(ctx context.Context, env *tools.Env, in feedInput) (tools.Result, error) {
	if err := errors.Join(in.check(), in.files(env)); err != nil {
		return tools.Result{}, err
	}
	audio, err := in.recording(env)
	if err != nil {
		return tools.Result{}, err
	}
	m, err := probe(ctx, env, audio)
	if err != nil {
		return tools.Result{}, err
	}
	notes, _ := load[showNotes](env, notesName)
	e, err := in.entry(m, notes, time.Now())
	if err != nil {
		return tools.Result{}, err
	}
	old, err := env.Files.ReadFile(in.Feed)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return tools.Result{}, err
	}
	base, added := old, 0
	switch {
	case isNew && in.Show == nil:
		return tools.Result{}, fmt.Errorf("%q does not exist: describe the show with show, to begin it, or name the feed that is there", in.Feed)
	case isNew:
		base = in.Show.feed()
	case in.Show != nil:
		if base, added, err = in.Show.complete(old); err != nil {
			return tools.Result{}, fmt.Errorf("%q: %w", in.Feed, err)
		}
	}
	text, did, err := splice(base, e)
	if err != nil {
		return tools.Result{}, fmt.Errorf("%q: %w", in.Feed, err)
	}
	switch {
	case isNew:
		did, err = "feed begun", env.Files.WriteFile(in.Feed, text)
	case !bytes.Equal(old, text):
		err = env.Files.Replace(in.Feed, old, text)
	default:
		did = "the entry is there already as it should be"
	}
	if err != nil {
		return tools.Result{}, err
	}
	if added > 0 {
		did += fmt.Sprintf(", %d elements added to the channel", added)
	}
	sum := fmt.Sprintf("%s: %s", in.Feed, did)
	report := fmt.Sprintf("%s\nguid %s, enclosure %s, %d bytes, %s, %s", sum, e.guid, in.URL, m.Size, e.mime, transcript.Stamp(m.Duration))
	if faults := directoryFaults(text); faults != nil {
		report += "\nApple Podcasts and Spotify want more; ask the user for what you do not know:\n- " + strings.Join(faults, "\n- ")
	} else {
		report += "\nIt has all that Apple Podcasts and Spotify require."
	}
	return bind(feedName, map[string]any{
		"feed": in.Feed, "guid": e.guid, "title": oneLine(in.Title), "url": in.URL, "length": m.Size, "type": e.mime, "duration": m.Duration, "audio": audio, "of": basis(env, text),
	}, report, sum)
}

// recording names the file that the entry is about: the one that is published
// rather than the one it was made of.
func (in feedInput) recording(env *tools.Env) (string, error) {
	if in.Audio != "" {
		return in.Audio, nil
	}
	if m, ok := load[masterFile](env, masterName); ok {
		return m.Path, nil
	}
	return ours(env)
}

func (in feedInput) check() error {
	var errs []error
	for _, u := range []struct {
		name, value string
		must        bool
	}{{"url", in.URL, true}, {"link", in.Link, false}, {"image", in.Image, false}, {"chapters_url", in.Chapters, false}, {"transcript_url", in.Transcript, false}} {
		if (u.must || u.value != "") && !web(u.value) {
			errs = append(errs, fmt.Errorf("%s: %q is no http or https address", u.name, u.value))
		}
	}
	if in.Episode < 0 || in.Season < 0 || len(in.GUID) > 500 {
		errs = append(errs, errors.New("episode and season are numbers from 1, and a guid has at most 500 bytes"))
	}
	if oneLine(in.Title) == "" {
		errs = append(errs, errors.New("title is empty"))
	}
	if in.Show != nil {
		errs = append(errs, in.Show.check())
	}
	return errors.Join(errs...)
}

// An entry is an item of a feed: its elements in order.
type entry struct {
	guid, mime string
	parts      []part
}

// A part is an element of an item. Several of a kind may stand in an item, as
// persons do; then only the same one is replaced.
type part struct {
	space, name string
	attrs       []string // names and values in turn
	text        string
	inner       []part
	several     bool
	weak        bool     // a default, which does not replace what is there
	defaults    []string // attributes that are defaults
}

func (in feedItem) entry(m mediaInfo, n showNotes, now time.Time) (entry, error) {
	e := entry{guid: strings.TrimSpace(in.GUID), mime: mimeOf(m)}
	if e.guid == "" {
		_, rest, _ := strings.Cut(in.URL, "://")
		e.guid = uuid5(rest)
	}
	add := func(space, name, text string, attrs ...string) {
		e.parts = append(e.parts, part{space: space, name: name, attrs: attrs, text: text})
	}
	add("", "title", oneLine(in.Title))
	e.parts = append(e.parts, part{name: "guid", attrs: []string{"isPermaLink", "false"}, text: e.guid, defaults: []string{"isPermaLink"}})
	if in.Date != "" {
		t, err := date(in.Date)
		if err != nil {
			return e, err
		}
		add("", "pubDate", t.Format(time.RFC1123Z))
	}
	if d := description(n); d != "" {
		add("", "description", d)
	}
	add("", "enclosure", "", "url", in.URL, "length", fmt.Sprint(m.Size), "type", e.mime)
	add(itunes, "duration", fmt.Sprint(int(m.Duration+0.5)))
	if in.Link != "" {
		add("", "link", in.Link)
	}
	if in.Image != "" {
		add(itunes, "image", "", "href", in.Image)
	}
	if in.Season > 0 {
		add(itunes, "season", fmt.Sprint(in.Season))
	}
	if in.Episode > 0 {
		add(itunes, "episode", fmt.Sprint(in.Episode))
	}
	if in.Explicit {
		add(itunes, "explicit", "true")
	}
	if in.Chapters != "" {
		e.parts = append(e.parts, part{space: podcastNS, name: "chapters", attrs: []string{"url", in.Chapters, "type", "application/json+chapters"}, defaults: []string{"type"}})
	}
	if in.Transcript != "" {
		e.parts = append(e.parts, part{space: podcastNS, name: "transcript", attrs: []string{"url", in.Transcript, "type", transcriptType(in.Transcript)}, several: true, defaults: []string{"type"}})
	}
	for _, g := range n.Guests {
		e.parts = append(e.parts, part{space: podcastNS, name: "person", attrs: []string{"role", "guest"}, text: g.Name, several: true, defaults: []string{"role"}})
	}
	// Last, as what is kept of an entry stands last: so an entry that is written
	// again stays as it is.
	if in.Date == "" {
		e.parts = append(e.parts, part{name: "pubDate", text: now.UTC().Format(time.RFC1123Z), weak: true})
	}
	if !in.Explicit {
		e.parts = append(e.parts, part{space: itunes, name: "explicit", text: "false", weak: true})
	}
	e.parts = append(e.parts, part{space: itunes, name: "episodeType", text: "full", weak: true})
	return e, nil
}

func date(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return t, nil
		}
	}
	if t, ok := fetch.FeedDate(s); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("date %q cannot be read; write it like 2026-05-01T06:00:00Z", s)
}

// description returns the description of an episode that players show: a little HTML.
func description(n showNotes) string {
	var b strings.Builder
	para := func(s string) {
		for p := range strings.SplitSeq(s, "\n\n") {
			if p = strings.TrimSpace(transcript.Printable(p)); p != "" {
				b.WriteString("<p>" + html.EscapeString(p) + "</p>")
			}
		}
	}
	para(n.marked(n.Summary))
	if len(n.Topics) > 0 {
		b.WriteString("<ul>")
	}
	for _, t := range n.Topics {
		b.WriteString("<li>")
		if t.Time != nil {
			b.WriteString(transcript.Stamp(*t.Time) + " ")
		}
		b.WriteString(html.EscapeString(n.marked(t.Text)) + "</li>")
	}
	if len(n.Topics) > 0 {
		b.WriteString("</ul>")
	}
	for _, l := range n.Links {
		fmt.Fprintf(&b, `<p><a href="%s">%s</a></p>`, html.EscapeString(l.URL), html.EscapeString(l.Title))
	}
	return b.String()
}

// mimeOf is the type of a recording as feeds name it.
func mimeOf(m mediaInfo) string {
	kind := "audio"
	if m.Video {
		kind = "video"
	}
	first, _, _ := strings.Cut(m.Format, ",")
	switch first {
	case "mp3":
		return "audio/mpeg"
	case "mov":
		if kind == "audio" {
			return "audio/x-m4a"
		}
		return "video/mp4"
	case "matroska":
		return kind + "/x-matroska"
	}
	return kind + "/" + first
}

func transcriptType(u string) string {
	u, _, _ = strings.Cut(u, "?")
	switch strings.ToLower(path.Ext(u)) {
	case ".vtt":
		return "text/vtt"
	case ".srt":
		return "application/x-subrip"
	case ".json":
		return "application/json"
	case ".html", ".htm":
		return "text/html"
	}
	return "text/plain"
}

// uuid5 is the UUID that the podcast namespace gives an address without its
// scheme.
func uuid5(s string) string {
	space, _ := hex.DecodeString("ead4c236bf5858c6a2c6a6b28d128cb6") // the namespace's own
	sum := sha1.Sum(append(space, strings.TrimRight(s, "/")...))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	x := hex.EncodeToString(u)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}
