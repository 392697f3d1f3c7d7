// Package podcast makes an episode out of a transcript and a recording: show
// notes, chapters, clips and an entry of the feed.
//
//	set, err := tools.NewSet(podcast.Tools(podcast.Config{})...)
//
// Transcripts, feeds and the output of ffmpeg are read as written by strangers:
// bounded, repaired where that is harmless, and refused in a sentence where it
// is not. Times are checked against the episode before they become an
// artifact, so that what an agent claims of them can be believed. ffmpeg and
// ffprobe are called with lists of arguments, on files only, and write beside
// the place where the result goes once it is whole.
//
// The package uploads nothing but a recording that has no transcript, to the
// server for speech to text that is configured, and publishes nothing.
package podcast

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

// Tools are the tools as c sets them up.
func Tools(c Config) []tools.Tool {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	return tools.Bundle{
		Required: []tools.Tool{processTranscriptTool, readTranscriptTool, setShowNotesTool, setChaptersTool},
		Optional: []tools.Tool{transcribeTool(c), probeAudioTool, writeShowNotesTool, checkEpisodeTool, masterTool, cutClipTool, feedEntryTool, saveEpisodeTool},
	}.Tools()
}

// Names of the artifacts that the tools hand to each other. The two sources
// are inputs of the agent.
const (
	transcriptSource = "transcript_source" // a path or the text itself
	audioSource      = "audio_source"      // a path
	transcriptName   = "transcript"
	episodeName      = "episode"
	notesName        = "show_notes"
	contentName      = "content" // the notes as Markdown
	chaptersName     = "chapters"
	feedName         = "feed_entry"
	feedWanted       = "feed_wanted" // a path: an input of the agent
	masterName       = "finished_audio"
)

// source is the text of an artifact, or its JSON where it is not a string.
func source(env *tools.Env, name string) string {
	return jsontext.Text(env.Artifacts.Value(name))
}

// ours is the recording of the job: the one it was given, else the one that was
// probed last.
func ours(env *tools.Env) (string, error) {
	if name := source(env, audioSource); name != "" {
		return name, nil
	}
	if m, ok := load[mediaInfo](env, episodeName); ok && m.Path != "" {
		return m.Path, nil
	}
	return "", errors.New("the job was given no recording: call probe_audio on one first")
}

// load reads an artifact into a value of its type. It reports false if there
// is none, or none that fits.
func load[T any](env *tools.Env, name string) (T, bool) {
	var v T
	raw := env.Artifacts.Value(name)
	if raw == nil || json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero, false
	}
	return v, true
}

// bind makes a result with one artifact.
func bind(name string, v any, text, summary string) (tools.Result, error) {
	b, err := jsontext.Marshal(v)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	return tools.Result{Text: text, Summary: summary, Artifacts: map[string]json.RawMessage{name: b}}, nil
}

// checkEpisodeTool is the tool check_episode, made to be a completion check.
var checkEpisodeTool = tools.New(tools.Metadata{
	Name: "check_episode", Category: "content", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{chaptersName}, Uses: []string{audioSource, episodeName, transcriptName, notesName, socialName, savedName, clipsName, masterName, feedName, feedWanted},
	Proves:   "the chapters fit the episode and its files are there",
	Examples: []tools.Example{{Note: "all of it", Args: json.RawMessage(`{}`)}},
	Timeout:  2 * probing,
}.ProseIn(descriptions), checkEpisode)

func checkEpisode(ctx context.Context, env *tools.Env, _ struct{}) (tools.Result, error) {
	doc, ok := load[chapterList](env, chaptersName)
	if !ok {
		return tools.Result{}, errors.New("there are no chapters: call set_chapters")
	}
	long, err := length(ctx, env)
	if err != nil {
		return tools.Result{}, err
	}
	faults := doc.faults(long.seconds)
	n, _ := load[showNotes](env, notesName)
	faults = append(faults, n.lateTopics(long.seconds)...)
	made, old, err := inventory(env)
	if err != nil {
		return tools.Result{}, err
	}
	if faults = append(faults, old...); faults != nil {
		return tools.Result{}, fmt.Errorf("the episode is %s seconds long (%s):\n- %s", transcript.Seconds(long.seconds), long.from, strings.Join(faults, "\n- "))
	}
	text := fmt.Sprintf("%d chapters lie within the %s of %s", len(doc.Chapters), transcript.Stamp(long.seconds), long.from)
	if len(made) > 0 {
		text += "\n" + strings.Join(made, "\n")
	}
	if len(n.Unverified) > 0 {
		text += "\nmarked as unverified in the notes: " + strings.Join(n.Unverified, "; ")
	}
	sum := fmt.Sprintf("%d chapters within %s", len(doc.Chapters), transcript.Stamp(long.seconds))
	if len(made) > 0 {
		sum = brief(made)
	}
	return tools.Result{Text: text, Summary: sum}, nil
}

// inventory lists the files that the job made, and what is wrong with them.
func inventory(env *tools.Env) (made, faults []string, err error) {
	rendered, _, err := episodeFiles(env)
	if err != nil {
		return nil, nil, err
	}
	saved, _ := load[[]outputs.File](env, savedName)
	made, faults = outputs.Check(env.Files, saved, rendered, "save_episode")
	there := func(name, note string, size int64, maker string) {
		switch info, err := env.Files.Stat(name); {
		case err != nil:
			faults = append(faults, fmt.Sprintf("%s is gone: %v", name, err))
		case size > 0 && info.Size() != size:
			faults = append(faults, fmt.Sprintf("%s has %d bytes, and had %d when %s was called: call it again", name, info.Size(), size, maker))
		default:
			made = append(made, name+note)
		}
	}
	m, ok := load[masterFile](env, masterName)
	if ok {
		there(m.Path, fmt.Sprintf(" (%.1f LUFS)", m.LUFS), m.Size, "master_audio")
	}
	clips, _ := load[[]audioClip](env, clipsName)
	for _, c := range clips {
		there(c.Path, "", 0, "cut_clip")
	}
	switch f, ok := load[entryState](env, feedName); {
	case ok && f.Refused != "":
		faults = append(faults, fmt.Sprintf("the entry of %s was refused, so it is not there: %s. Call feed_entry again", f.Feed, f.Refused))
	case ok:
		there(f.Feed, "", 0, "feed_entry")
		if f.Audio != "" && (f.Audio != m.Path || f.Length != m.Size) {
			there(f.Audio, " (the recording of the entry)", f.Length, "feed_entry")
		}
		if b, err := env.Files.ReadFile(f.Feed); err == nil && f.Of != "" && f.Of != basis(env, b) {
			faults = append(faults, fmt.Sprintf("%s or the show notes have changed since the entry was made: call feed_entry again", f.Feed))
		}
	case source(env, feedWanted) != "":
		faults = append(faults, fmt.Sprintf("the user wants an entry in %s: call feed_entry", source(env, feedWanted)))
	}
	return made, faults, nil
}

// brief lists files in a line: by folder, and by name where only the extension
// differs.
func brief(files []string) string {
	var b strings.Builder
	dir, stem := "", ""
	for i, f := range files {
		d, name := path.Split(f)
		s, ext, _ := strings.Cut(name, ".")
		switch {
		case i > 0 && d == dir && s == stem:
			b.WriteString(" ." + ext)
			continue
		case i > 0 && d == dir:
			b.WriteString(", ")
		case i > 0:
			b.WriteString("; ")
		}
		if d != dir && d != "" {
			b.WriteString(d + ": ")
		}
		b.WriteString(name)
		dir, stem = d, s
	}
	return b.String()
}

// saveInput is the input of save_episode.
type saveInput struct {
	Dir string `json:"dir" jsonschema:"minLength=1,description=Folder in the workspace"`
}

// savedName is the artifact that lists what save_episode wrote.
const savedName = "episode_files"

// saveEpisodeTool is the tool save_episode.
var saveEpisodeTool = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "save_episode", Category: "content", Needs: tools.Read | tools.Write, Effect: tools.Idempotent, Paths: []string{"dir"},
		Uses: []string{transcriptName, notesName, chaptersName, socialName}, Produces: []string{savedName},
		Examples: []tools.Example{{Note: "all there is", Args: json.RawMessage(`{"dir":"episodes/12"}`)}},
	}.ProseIn(descriptions), saveEpisode)
	t.Touches = func(args json.RawMessage) []string {
		var in saveInput
		if json.Unmarshal(args, &in) != nil || in.Dir == "" {
			return nil
		}
		out := []string{path.Join(in.Dir, notesFile), path.Join(in.Dir, chaptersFile), path.Join(in.Dir, outputs.SocialFile)}
		for _, f := range transcript.Formats {
			out = append(out, path.Join(in.Dir, "transcript"+f.Ext))
		}
		return out
	}
	return t
}()

// Names of the files in the folder; the transcripts are transcript.vtt and so on.
const (
	notesFile    = "notes.md"
	chaptersFile = "chapters.json"
)

// socialName is the artifact of generate_social_posts.
const socialName = "social"

// socialPosts is the part of the artifact social that is saved.
type socialPosts struct {
	Posts []outputs.Post `json:"posts"`
}

func saveEpisode(_ context.Context, env *tools.Env, in saveInput) (tools.Result, error) {
	files, notes, err := episodeFiles(env)
	if err != nil {
		return tools.Result{}, err
	}
	if len(files) == 0 {
		return tools.Result{}, errors.New("there is nothing to save yet: process the transcript, or set notes or chapters first")
	}
	saved, text, err := outputs.Write(env.Files, in.Dir, files)
	if err != nil {
		return tools.Result{}, err
	}
	for _, n := range notes {
		text += n + "\n"
	}
	return bind(savedName, saved, text, spelling.Plural(len(saved), "file")+" in "+in.Dir)
}

// episodeFiles renders everything that exists so far, with notes on what could
// not be rendered.
func episodeFiles(env *tools.Env) (files []outputs.Rendered, notes []string, err error) {
	add := func(name string, data []byte) { files = append(files, outputs.Rendered{Name: name, Data: data}) }
	n, ok := load[showNotes](env, notesName)
	if ok {
		add(notesFile, []byte(n.Markdown()))
	}
	if c, ok := load[chapterList](env, chaptersName); ok {
		b, err := c.file()
		if err != nil {
			return nil, nil, err
		}
		add(chaptersFile, b)
	}
	if t, ok := load[transcript.Transcript](env, transcriptName); ok {
		for _, f := range transcript.Formats {
			if f.Timed && !t.Timed {
				notes = append(notes, "transcript"+f.Ext+" was not written: the transcript has no times")
				continue
			}
			b, err := f.Write(t, n.Title)
			if err != nil {
				return nil, nil, tools.Fatal(err)
			}
			add("transcript"+f.Ext, b)
		}
	}
	if s, ok := load[socialPosts](env, socialName); ok && len(s.Posts) > 0 {
		for i := range s.Posts {
			s.Posts[i].Text = transcript.Printable(s.Posts[i].Text)
		}
		files = append(files, outputs.Social(s.Posts))
	}
	return files, notes, nil
}
