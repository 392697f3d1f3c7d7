// Package podcast makes an episode out of a transcript and a recording: show
// notes, chapters, clips and an entry of the feed.
//
//	set, err := tools.NewSet(podcast.Tools()...)
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
	"encoding/json"
	"errors"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Bundle is the tools as one would grant them together.
func Bundle() tools.Bundle {
	return tools.Bundle{
		Name: "podcast", Description: "Make notes, chapters, clips and a feed entry of a recorded episode.",
		Required: []tools.Tool{processTranscriptTool, readTranscriptTool, setShowNotesTool, setChaptersTool},
		Optional: []tools.Tool{transcribeTool(Config{}), probeAudioTool, writeShowNotesTool, checkEpisodeTool, masterTool, cutClipTool, feedEntryTool, saveEpisodeTool},
	}
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
	raw := env.Artifacts.Value(name)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
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
