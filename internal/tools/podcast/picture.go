package podcast

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

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
		return 0, 0, fmt.Errorf("%q is no picture that can be read; give a .jpg or .png whose extension matches its content", name)
	}
	width, height = p.Streams[0].Width, p.Streams[0].Height
	if width > maxPixels || height > maxPixels {
		return 0, 0, fmt.Errorf("%q has %dx%d pixels; at most %d in each direction are read", name, width, height, maxPixels)
	}
	return width, height, nil
}
