package workflows

import (
	"cmp"
	"errors"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// PodcastPhases makes an episode's files in phases that are always the same:
// transcribe, read, measure, note, mark chapters, finish the audio, announce,
// save. It is there to compare with the agent podcast: see adroit compare.
var PodcastPhases = agents.Define("podcast_phases", podcastPhases)

func podcastPhases(sc *executor.Scope) error {
	folder := cmp.Or(text(sc.Task.Artifacts["episode_folder"]), "episode")
	audio := text(sc.Task.Artifacts["audio_source"])
	given := text(sc.Task.Artifacts["transcript_source"]) != ""
	switch {
	case audio != "" && !sc.Has("probe_audio"):
		return errors.New("the recording cannot be read without ffmpeg; " + hint.Name("doctor") + " says what to install")
	case !given && !sc.Has("transcribe_audio"):
		return errors.New("there is no transcript, and no server for speech to text is configured (transcription.url): give -i transcript=@FILE")
	case !given:
		if err := do(sc, "transcribe_audio", args{}); err != nil {
			return err
		}
	}
	if err := do(sc, "process_transcript", args{}); err != nil {
		return err
	}
	if audio != "" {
		if err := do(sc, "probe_audio", args{}); err != nil {
			return err
		}
	}
	if err := do(sc, "write_show_notes", args{}); err != nil {
		return err
	}
	var notes struct {
		Title  string
		Topics []struct {
			Time *float64
			Text string
		}
	}
	if _, err := sc.Value("show_notes", &notes); err != nil {
		return err
	}

	// A chapter for each topic with a time: no model is asked where they begin.
	type chapter struct {
		Start float64 `json:"startTime"`
		Title string  `json:"title"`
	}
	var chapters []chapter
	for _, t := range notes.Topics {
		switch last := len(chapters) - 1; {
		case t.Time == nil:
		case last < 0 && *t.Time > 0:
			chapters = append(chapters, chapter{0, notes.Title}, chapter{*t.Time, t.Text})
		case last < 0 || *t.Time > chapters[last].Start:
			chapters = append(chapters, chapter{*t.Time, t.Text})
		}
	}
	if len(chapters) == 0 {
		chapters = []chapter{{0, notes.Title}}
	}
	if err := do(sc, "set_chapters", args{"chapters": chapters}); err != nil {
		return err
	}
	if audio != "" {
		if err := do(sc, "master_audio", args{"out": folder + "/episode.mp3", "title": notes.Title}); err != nil {
			return err
		}
	}
	if err := do(sc, "generate_social_posts", args{"networks": list(sc.Task, "networks", "mastodon", "x")}); err != nil {
		return err
	}
	return do(sc, "save_episode", args{"dir": folder})
}
