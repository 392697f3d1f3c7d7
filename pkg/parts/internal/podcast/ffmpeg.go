package podcast

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Bounds of what ffmpeg is given and may take.
const (
	maxMedia  = 4 << 30   // bytes of a file that is read
	maxOutput = 250 << 20 // bytes of a file that is made: what can still be undone
	patience  = 10 * time.Minute
	probing   = 60 * time.Second
	maxJSON   = 4 << 20
)

// demuxers are the formats of recordings. Formats that name other files, such as
// playlists, are not among them, whatever a file is called.
const demuxers = "mp3,wav,w64,aiff,caf,flac,ogg,aac,mov,mp4,m4a,3gp,3g2,mj2,matroska,webm"

// guard are the arguments before each file that is read.
func guard() []string {
	return []string{"-protocol_whitelist", "file,pipe", "-format_whitelist", demuxers}
}

// arg names a file of the workspace so that no part of its name is taken for
// an option, a protocol or a pattern.
func arg(env *tools.Env, name string) string {
	return "file:" + path.Clean(strings.TrimPrefix(name, env.Files.Dir()+"/"))
}

// recording checks that a name is a file that may be given to ffmpeg, and
// returns its size in bytes.
func recording(env *tools.Env, name string) (int64, error) {
	info, err := env.Files.Stat(name)
	if err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return 0, fmt.Errorf("%q is a link; name the file it leads to", name)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%q is no file", name)
	}
	if info.Size() > maxMedia {
		return 0, fmt.Errorf("%q has %d bytes; recordings of at most %d are read", name, info.Size(), int64(maxMedia))
	}
	return info.Size(), nil
}

// A failed command reports why in its last lines.
func commandError(program string, out *process.Output) error {
	if out.TimedOut {
		return fmt.Errorf("%s was stopped after %s; ask for less at once", program, out.Took.Round(time.Second))
	}
	text := strings.TrimSpace(out.Text)
	if len(text) > 1200 {
		text = "… " + strings.ToValidUTF8(text[len(text)-1200:], "")
	}
	return fmt.Errorf("%s failed with code %d:\n%s", program, out.Code, text)
}

// command runs ffmpeg or ffprobe and returns its standard output and its log. An
// error is fit for the model, unless ctx is done.
func command(ctx context.Context, env *tools.Env, c process.Cmd) (stdout []byte, log string, err error) {
	return commandOutput(ctx, env, c, maxJSON)
}

// commandOutput is command for another bound of its output.
func commandOutput(ctx context.Context, env *tools.Env, c process.Cmd, most int) (stdout []byte, log string, err error) {
	buf := limited{most: most}
	c.Stdout = &buf
	out, err := env.Exec.Run(ctx, c)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s could not be started: %w; %s says what to install", c.Args[0], err, hint.Command("doctor"))
	}
	if out.Code != 0 || out.TimedOut {
		return nil, out.Text, commandError(c.Args[0], out)
	}
	if buf.over {
		return nil, out.Text, fmt.Errorf("%s wrote more than %d bytes; the file is not an ordinary recording", c.Args[0], most)
	}
	stdout, buf.kept = buf.kept.Bytes(), bytes.Buffer{} // who ran the command may hold on to c
	return stdout, out.Text, nil
}

// limited keeps the first bytes, as many as most.
type limited struct {
	kept bytes.Buffer // not embedded: its ReadFrom knows no bound
	most int
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if room := l.most - l.kept.Len(); room < len(b) {
		l.over = true
		l.kept.Write(b[:max(room, 0)])
		return len(b), nil
	}
	return l.kept.Write(b)
}

// scratch is the name of a file beside out that this call, and each repetition
// of it, makes and takes away again.
func scratch(env *tools.Env, out, ext string) string {
	sum := sha256.Sum256([]byte(env.Job + "\x00" + env.Key + "\x00" + out))
	return path.Join(path.Dir(out), ".adroit-"+hex.EncodeToString(sum[:6])+ext)
}

// encode has ffmpeg write a file and puts it where it belongs once check, which
// may look at it under its other name, has nothing to say against it. args end
// before the output. It returns the log of ffmpeg.
func encode(ctx context.Context, env *tools.Env, out string, replace bool, c process.Cmd, format string, check func(temp string) error) (log string, err error) {
	temp := scratch(env, out, path.Ext(out))
	if err := parent(env, out); err != nil {
		return "", err
	}
	c.Args = append(c.Args, "-fflags", "+bitexact", "-flags:a", "+bitexact", "-fs", fmt.Sprint(maxOutput), "-f", format, arg(env, temp))
	c.Timeout, c.Snapshot = patience, true
	_, log, err = command(ctx, env, c)
	if err == nil {
		err = check(temp)
	}
	if ctx.Err() != nil {
		return log, ctx.Err() // a repetition of the call begins with the same name
	}
	if err == nil {
		err = place(env, temp, out, replace)
	}
	if err != nil {
		_ = discard(env, temp)
	}
	return log, err
}

// discard takes temp away. What a crash left of it is nothing that the job has
// seen, and nothing that anybody else works on: it is looked at first, as far
// as that goes, so that it counts as known.
func discard(env *tools.Env, temp string) error {
	if info, err := env.Files.Stat(temp); err == nil && info.Size() <= workspace.MaxFile {
		if _, err := env.Files.ReadFile(temp); err != nil {
			return err
		}
	}
	return env.Files.Remove(temp)
}

// parent creates out's directory and checks that files may be written in it,
// since ffmpeg's own writes pass no path check.
func parent(env *tools.Env, out string) error {
	trial := scratch(env, out, ".tmp")
	if err := env.Files.WriteFile(trial, nil); err != nil {
		return err
	}
	return env.Files.Remove(trial)
}

// place gives temp its name. What is there already stays unless it is the same
// or may be replaced: a call that is repeated after a crash finds its own work.
func place(env *tools.Env, temp, out string, replace bool) error {
	switch _, err := env.Files.Stat(out); {
	case errors.Is(err, fs.ErrNotExist):
		return env.Files.Rename(temp, out)
	case err != nil:
		return err
	}
	same, err := equal(env, temp, out)
	switch {
	case err != nil:
		return err
	case same:
		return discard(env, temp)
	case !replace:
		return fmt.Errorf("%q exists already and holds something else; choose another name, or set replace", out)
	}
	if err := env.Files.Remove(out); err != nil {
		return err
	}
	return env.Files.Rename(temp, out)
}

func equal(env *tools.Env, a, b string) (bool, error) {
	x, err := digest(env, a)
	if err != nil {
		return false, err
	}
	y, err := digest(env, b)
	return x == y, err
}

func digest(env *tools.Env, name string) (string, error) {
	f, err := env.Files.FS().Open(path.Clean(strings.TrimPrefix(name, env.Files.Dir()+"/")))
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxMedia)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pictureInput are the arguments that read a picture: by a demuxer that takes a
// name as it is, without patterns.
func pictureInput(env *tools.Env, name string) []string {
	demuxer := "jpeg_pipe"
	if strings.EqualFold(path.Ext(name), ".png") {
		demuxer = "png_pipe"
	}
	return []string{"-protocol_whitelist", "file", "-f", demuxer, "-i", arg(env, name)}
}

// maxPicture is the size of a picture in bytes, maxPixels its width or height.
const (
	maxPicture = 20 << 20
	maxPixels  = 8192
)

// picture checks that a name is a picture that can be used, and measures it.
func picture(ctx context.Context, env *tools.Env, name string) (width, height int, err error) {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png":
	default:
		return 0, 0, fmt.Errorf("%q: a cover is .jpg or .png", name)
	}
	size, err := recording(env, name)
	if err != nil {
		return 0, 0, err
	}
	if size > maxPicture {
		return 0, 0, fmt.Errorf("%q has %d bytes; covers of at most %d are read", name, size, maxPicture)
	}
	args := append([]string{"ffprobe", "-hide_banner", "-v", "error", "-of", "json", "-show_entries", "stream=width,height"}, pictureInput(env, name)...)
	out, _, err := command(ctx, env, process.Cmd{Args: args, Timeout: probing})
	var p struct {
		Streams []struct{ Width, Height int } `json:"streams"`
	}
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(out), &p)
	}
	if err != nil || len(p.Streams) == 0 || p.Streams[0].Width <= 0 || p.Streams[0].Height <= 0 {
		return 0, 0, fmt.Errorf("cannot read %q as an image; give a .jpg or .png whose extension matches its content", name)
	}
	width, height = p.Streams[0].Width, p.Streams[0].Height
	if width > maxPixels || height > maxPixels {
		return 0, 0, fmt.Errorf("%q has %dx%d pixels; at most %d in each direction are read", name, width, height, maxPixels)
	}
	return width, height, nil
}
