package podcast

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// caption writes the file of title and captions, or reports why there can be
// none.
func (c *cutting) caption(ctx context.Context, env *tools.Env) (why string, err error) {
	text, captions := c.layout.subtitles(c.said, c.in.Title, c.start, c.start+c.long, !c.in.Audiogram)
	if !captions {
		why = "the transcript has nothing there, or no times"
	}
	if text == "" {
		return why, nil
	}
	out, _, err := command(ctx, env, process.Cmd{Args: []string{"ffmpeg", "-hide_banner", "-filters"}, Timeout: probing})
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(out), " subtitles ") {
		return "this ffmpeg is built without the filter subtitles", nil
	}
	name := c.subtitleFile(env)
	if err := env.Files.WriteFile(name, []byte(text)); err != nil {
		return "", err
	}
	c.subtitles, c.captions = name, captions
	return why, nil
}

func assTime(t float64) string {
	cs := int(math.Round(t * 100))
	return fmt.Sprintf("%d:%02d:%02d.%02d", cs/360000, cs/6000%60, cs/100%60, cs%100)
}
