package podcast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// masterInput is the input of master_audio.
type masterInput struct {
	Out string `json:"out" jsonschema:"description=File to write: .mp3 or .m4a"`
	audioTags
	Cover     string `json:"cover,omitempty" jsonschema:"description=Square .jpg or .png in the workspace"`
	KeepLevel bool   `json:"keep_level,omitempty" jsonschema:"description=Leave the loudness as it is"`
	Replace   bool   `json:"replace,omitempty" jsonschema:"description=Replace out"`
}

// audioTags are the tags of the file.
type audioTags struct {
	Title  string `json:"title" jsonschema:"description=Of the episode"`
	Artist string `json:"artist,omitempty" jsonschema:"description=Host or company"`
	Album  string `json:"album,omitempty" jsonschema:"description=Name of the show"`
	Track  int    `json:"track,omitempty" jsonschema:"minimum=0,maximum=65535,description=Number of the episode"`
	Year   int    `json:"year,omitempty" jsonschema:"minimum=0,maximum=9999,description=Of publication"`
}

// A masterFile is the artifact "finished_audio".
type masterFile struct {
	Path     string  `json:"path"`
	Size     int64   `json:"size"`
	Duration float64 `json:"duration"`
	Chapters int     `json:"chapters"`
	Cover    bool    `json:"cover"`
	LUFS     float64 `json:"lufs"`      // integrated, as measured
	TruePeak float64 `json:"true_peak"` // dBTP
}

// masterTool is the tool master_audio.
var masterTool = tools.New(tools.Metadata{
	Name: "master_audio", Category: "content", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent,
	Optionality: tools.Optional, Paths: []string{"out", "cover"}, Requires: []string{"ffmpeg"},
	Uses: []string{audioSource, episodeName, chaptersName}, Produces: []string{masterName},
	Examples: []tools.Example{{Note: "with a cover", Args: json.RawMessage(`{"out":"episode/ep12.mp3","title":"Rye","artist":"Ann","album":"Bread","track":12,"cover":"cover.jpg"}`)}},
	Timeout:  6 * patience,
}.ProseIn(descriptions), master)

func master(ctx context.Context, env *tools.Env, in masterInput) (tools.Result, error) {
	job, err := planMaster(ctx, env, in)
	if err != nil {
		return tools.Result{}, err
	}
	var filter string
	if !in.KeepLevel {
		if filter, err = normalize(ctx, env, job.media); err != nil {
			return tools.Result{}, err
		}
	}
	var done masterFile
	_, err = encode(ctx, env, in.Out, in.Replace, process.Cmd{Args: job.args(env, filter), Stdin: []byte(job.metadata())}, job.format, func(temp string) error {
		done, err = job.verify(ctx, env, temp)
		return err
	})
	if err != nil {
		return tools.Result{}, err
	}
	done.Path = path.Clean(in.Out)
	sum := fmt.Sprintf("%s: %.1f LUFS, peak %.1f dBTP, %d chapters", done.Path, done.LUFS, done.TruePeak, done.Chapters)
	text := fmt.Sprintf("%s, %d bytes, %s seconds", sum, done.Size, transcript.Seconds(done.Duration))
	if done.Cover {
		text += ", with the cover"
	}
	for _, n := range job.notes {
		text += "\n" + n
	}
	return bind(masterName, done, text, sum)
}

// A mastering is a finished file on its way.
type mastering struct {
	in     masterInput
	media  mediaInfo
	want   []chapterMark
	format string
	copied bool // the sound is copied as it is
	notes  []string
}

func planMaster(ctx context.Context, env *tools.Env, in masterInput) (*mastering, error) {
	audio, err := ours(env)
	if err != nil {
		return nil, err
	}
	ext := strings.ToLower(path.Ext(in.Out))
	job := &mastering{in: in, format: map[string]string{".mp3": "mp3", ".m4a": "ipod"}[ext], notes: nil}
	if job.format == "" {
		return nil, fmt.Errorf("%q: a finished episode is .mp3 or .m4a", in.Out)
	}
	if path.Clean(in.Out) == path.Clean(audio) {
		return nil, errors.New("out is the recording itself; it stays as it is, choose another name")
	}
	if job.in.Title = oneLine(in.Title); job.in.Title == "" {
		return nil, errors.New("title is empty")
	}
	job.in.Artist, job.in.Album = oneLine(in.Artist), oneLine(in.Album)
	if job.media, err = probe(ctx, env, audio); err != nil {
		return nil, err
	}
	job.copied = in.KeepLevel && strings.EqualFold(path.Ext(audio), ext)
	if size := job.size(); size > maxOutput*9/10 {
		return nil, fmt.Errorf("the file would have about %d bytes; at most %d are written", size, maxOutput*9/10)
	}
	if doc, ok := load[chapterList](env, chaptersName); ok {
		if faults := doc.faults(job.media.Duration); faults != nil {
			return nil, fmt.Errorf("the chapters do not fit %s:\n- %s", job.media.Path, strings.Join(faults, "\n- "))
		}
		job.want = doc.spans(job.media.Duration)
	} else {
		job.notes = append(job.notes, "without chapters: set_chapters was not called")
	}
	if in.Cover != "" {
		width, height, err := picture(ctx, env, in.Cover)
		if err != nil {
			return nil, err
		}
		if width != height || width < 1400 || width > 3000 {
			job.notes = append(job.notes, fmt.Sprintf("the cover has %dx%d pixels; directories want a square of 1400 to 3000", width, height))
		}
	}
	return job, nil
}

// bits is the bit rate of the sound that is written, per second.
func (j *mastering) bits() int {
	if j.media.Channels == 1 {
		return 96_000
	}
	return 128_000
}

func (j *mastering) size() int64 {
	if j.copied {
		return j.media.Size
	}
	return int64(j.media.Duration) * int64(j.bits()) / 8
}

// args are ffmpeg's, up to the output.
func (j *mastering) args(env *tools.Env, filter string) []string {
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "warning", "-y"},
		guard(), []string{"-i", arg(env, j.media.Path), "-protocol_whitelist", "pipe", "-f", "ffmetadata", "-i", "pipe:0"})
	if j.in.Cover != "" {
		args = append(args, pictureInput(env, j.in.Cover)...)
	}
	args = append(args, "-map", "0:a:0", "-map_metadata", "1", "-map_chapters", "1")
	switch {
	case j.copied:
		args = append(args, "-c:a", "copy")
	case j.format == "mp3":
		args = append(args, "-c:a", "libmp3lame", "-b:a", fmt.Sprint(j.bits()))
	default:
		args = append(args, "-c:a", "aac", "-b:a", fmt.Sprint(j.bits()))
	}
	if filter != "" {
		args = append(args, "-af", filter)
	}
	if j.in.Cover != "" {
		args = append(args, "-map", "2:v:0", "-c:v", "mjpeg", "-q:v", "3", "-vf", "scale=w=min(1400\\,iw):h=-2,format=yuvj420p", "-frames:v", "1",
			"-disposition:v:0", "attached_pic", "-metadata:s:v", "title=Album cover", "-metadata:s:v", "comment=Cover (front)")
	}
	if j.format == "mp3" {
		args = append(args, "-id3v2_version", "3")
	}
	return args
}

var escapeMeta = strings.NewReplacer(`\`, `\\`, "=", `\=`, ";", `\;`, "#", `\#`, "\n", "\\\n")

// metadata is tags and chapters in the form that ffmpeg reads.
func (j *mastering) metadata() string {
	var b strings.Builder
	b.WriteString(";FFMETADATA1\n")
	tag := func(name, value string) {
		if value != "" && value != "0" {
			fmt.Fprintf(&b, "%s=%s\n", name, escapeMeta.Replace(value))
		}
	}
	tag("title", j.in.Title)
	tag("artist", j.in.Artist)
	tag("album_artist", j.in.Artist)
	tag("album", j.in.Album)
	tag("track", fmt.Sprint(j.in.Track))
	tag("date", fmt.Sprint(j.in.Year))
	tag("genre", "Podcast")
	for _, c := range j.want {
		fmt.Fprintf(&b, "[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n",
			int64(math.Round(c.Start*1000)), int64(math.Round(c.End*1000)), escapeMeta.Replace(c.Title))
	}
	return b.String()
}

// tolerance bounds the distance of the loudness from the target, in LU, as Apple demands.
const tolerance = 1.0

// verify reads back what was written.
func (j *mastering) verify(ctx context.Context, env *tools.Env, temp string) (masterFile, error) {
	got, err := probe(ctx, env, temp)
	if err != nil {
		return masterFile{}, err
	}
	if math.Abs(got.Duration-j.media.Duration) > 1 {
		return masterFile{}, fmt.Errorf("the copy is %s seconds long, the recording %s; the recording may be broken", transcript.Seconds(got.Duration), transcript.Seconds(j.media.Duration))
	}
	for _, t := range []struct{ name, want, got string }{{"title", j.in.Title, got.Title}, {"artist", j.in.Artist, got.Artist}, {"album", j.in.Album, got.Album}} {
		if transcript.Label(t.want) != t.got {
			return masterFile{}, fmt.Errorf("the %s reads back as %q, not %q", t.name, t.got, t.want)
		}
	}
	if err := agree(j.want, got.Chapters); err != nil {
		return masterFile{}, err
	}
	if (j.in.Cover != "") != got.Cover {
		return masterFile{}, errors.New("the cover cannot be read back")
	}
	level, err := loudness(ctx, env, temp)
	if err != nil {
		return masterFile{}, err
	}
	if !j.in.KeepLevel && math.Abs(level.Integrated-target) > tolerance {
		return masterFile{}, fmt.Errorf("the file measures %.1f LUFS instead of %.0f; the recording may be too quiet or too short to be levelled: set keep_level", level.Integrated, target)
	}
	return masterFile{Size: got.Size, Duration: got.Duration, Chapters: len(got.Chapters), Cover: got.Cover, LUFS: level.Integrated, TruePeak: level.Peak}, nil
}

// spans are the chapters with their ends filled in.
func (c chapterList) spans(long float64) []chapterMark {
	out := slices.Clone(c.Chapters)
	for i := range out {
		end := long
		if i+1 < len(out) {
			end = out[i+1].Start
		}
		out[i].End = min(cmp.Or(out[i].End, end), end)
	}
	return out
}

// agree compares what was to be written with what is read back.
func agree(want, got []chapterMark) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d chapters were written and %d read back", len(want), len(got))
	}
	for i, w := range want {
		if math.Abs(w.Start-got[i].Start) > 0.1 || w.Title != got[i].Title {
			return fmt.Errorf("chapter %d reads back as %q at %s, not %q at %s", i+1, got[i].Title, transcript.Seconds(got[i].Start), w.Title, transcript.Seconds(w.Start))
		}
	}
	return nil
}

// What Apple asks of a podcast: -16 LUFS, true peaks below -1 dBTP. Between the
// samples and in the encoder peaks grow by about a decibel.
const (
	target  = -16.0
	peakMax = -2.5
)

// A level is the loudness of a file by EBU R 128, as the filter ebur128 measures
// it. Silence is -99.
type level struct {
	Integrated float64 // LUFS
	Peak       float64 // dBTP
}

// loudness measures a recording.
func loudness(ctx context.Context, env *tools.Env, name string) (level, error) {
	log, err := measured(ctx, env, name, "ebur128=peak=true:framelog=verbose")
	if err != nil {
		return level{}, err
	}
	var l level
	if l.Integrated, err = lastFigure(log, loudnessLine); err != nil {
		return level{}, err
	}
	l.Peak, err = lastFigure(log, peakLine)
	return l, err
}

// filtered measures how loud a recording is behind a chain of filters, without its
// peaks: those take as much time as all the rest.
func filtered(ctx context.Context, env *tools.Env, name, filter string) (float64, error) {
	log, err := measured(ctx, env, name, filter+",ebur128=framelog=verbose")
	if err != nil {
		return 0, err
	}
	return lastFigure(log, loudnessLine)
}

// measured returns ffmpeg's report about a recording behind a chain of filters.
func measured(ctx context.Context, env *tools.Env, name, filter string) (log string, err error) {
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "info"}, guard(),
		[]string{"-i", arg(env, name), "-map", "0:a:0", "-vn", "-af", filter, "-f", "null", "-"})
	if _, log, err = command(ctx, env, process.Cmd{Args: args, Timeout: patience}); err != nil {
		return "", fmt.Errorf("the loudness of %q cannot be measured: %w", name, err)
	}
	return log, nil
}

var (
	loudnessLine = lazyregexp.New(`(?m)^\s*I:\s+(\S+) LUFS`)
	peakLine     = lazyregexp.New(`(?m)^\s*Peak:\s+(\S+) dBFS`)
)

// lastFigure reads a line of the summary at the end of what ffmpeg reports.
func lastFigure(log string, line *lazyregexp.Regexp) (float64, error) {
	all := line.FindAllStringSubmatch(log, -1)
	if all == nil {
		return 0, errors.New("ffmpeg reported no loudness; its filter ebur128 is needed")
	}
	v, err := strconv.ParseFloat(all[len(all)-1][1], 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		v = -99
	}
	return max(v, -99), nil
}

// quietest is the loudness below which there is nothing to level.
const quietest = -60.0

// normalize finds the chain of filters that brings a recording to the target:
// one gain for all of it, and a limiter where that alone would make peaks too
// high, so that the dynamics stay as they were mixed. What the limiter takes
// away is measured and added to the gain.
func normalize(ctx context.Context, env *tools.Env, m mediaInfo) (string, error) {
	l, err := loudness(ctx, env, m.Path)
	if err != nil {
		return "", err
	}
	if l.Integrated < quietest {
		return "", fmt.Errorf("the recording measures %.1f LUFS: it is silent, or nearly; set keep_level to leave it so", l.Integrated)
	}
	rate := m.Rate
	if rate != 44100 && rate != 48000 {
		rate = 44100
	}
	gain := target - l.Integrated
	if l.Peak+gain <= peakMax {
		return fmt.Sprintf("volume=%.2fdB,aresample=%d", gain, rate), nil
	}
	for range 5 {
		filter := fmt.Sprintf("volume=%.2fdB,aresample=%d,alimiter=limit=%.4f:attack=5:release=50:level=false:latency=true", gain, rate, math.Pow(10, peakMax/20))
		got, err := filtered(ctx, env, m.Path, filter)
		if err != nil {
			return "", err
		}
		if math.Abs(got-target) < tolerance/3 {
			return filter, nil
		}
		gain += 1.5 * (target - got) // the limiter takes about half of what is added
	}
	return "", fmt.Errorf("the peaks of the recording are too high above its loudness to bring it to %.0f LUFS; compress it, or set keep_level", target)
}
