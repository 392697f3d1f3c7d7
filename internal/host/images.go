package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// maxShown bounds the bytes of the images of a request: providers take 20 to 32 MB,
// and encoded they are a third longer.
const maxShown = 14 << 20

// maxToolImages bounds the images of one result.
const maxToolImages = 8

// loadImages reads the images of a conversation that it does not have yet. An image whose file is
// gone is left out: the text still names it, with a note. So are the oldest images that tools have
// shown, if all are too large for a request.
func (m *models) loadImages(c *conversation) error {
	room := maxShown
	for i := range slices.Backward(c.msgs) {
		msg := &c.msgs[i]
		for k := range msg.Images {
			image := &msg.Images[k]
			room -= image.Size
			if room < 0 && msg.Role == llm.Tool && (image.Data == nil || len(image.Data) > 0) {
				c.leaveOut(msg, image, "is not shown any more, to make room")
				continue
			}
			if image.Data != nil {
				continue
			}
			data, err := []byte(nil), error(fs.ErrNotExist)
			if m.Images != nil {
				data, err = m.Images(image.Digest)
			}
			if errors.Is(err, fs.ErrNotExist) {
				c.leaveOut(msg, image, "is not kept any more")
			} else if err != nil {
				return err
			} else {
				image.Data = data
			}
		}
	}
	return nil
}

// leaveOut notes in a message why one of its images is not shown.
func (c *conversation) leaveOut(msg *llm.Message, image *llm.Image, why string) {
	image.Data = []byte{} // not looked for again
	msg.Text += "\n[the image " + image.Name + " " + why + "]"
	c.wire, c.asText = new(llm.EncodedHistory), nil // what is encoded may have it
}

// keepImages keeps the images of a result before the journal has it.
func (h Host) keepImages(res *tools.Result) error {
	if h.KeepImage == nil {
		res.Images = nil
	}
	for k := maxToolImages; k < len(res.Images); k++ {
		res.Text += "\n[the image " + res.Images[k].Name + " is not shown: a result may have " + fmt.Sprint(maxToolImages) + "]"
	}
	res.Images = res.Images[:min(len(res.Images), maxToolImages)]
	for k := range res.Images {
		if err := h.KeepImage(&res.Images[k]); err != nil {
			return fmt.Errorf("keeping the image %s: %w", res.Images[k].Name, err)
		}
	}
	return nil
}

// noImages returns why a model is shown no images, "" if it is.
func (m *models) noImages(ctx context.Context, ref string) string {
	m.mu.Lock()
	why := m.blind[ref]
	m.mu.Unlock()
	if why == "" && m.NoImages != nil {
		why = m.NoImages(ctx, ref)
	}
	return why
}

func (m *models) learnBlind(ref, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blind[ref] = why
}

func showsImages(msgs []llm.Message) bool {
	return slices.ContainsFunc(msgs, func(m llm.Message) bool { return len(m.Images) > 0 })
}

// refusesImages returns the message of a server that does not accept images, and whether it names them,
// or "" if it refused a request with images for another reason, or not at all.
func refusesImages(err error, msgs []llm.Message) (why string, sure bool) {
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.BadRequest && e.Kind != llm.Unsupported || !showsImages(msgs) {
		return "", false
	}
	text := strings.ToLower(e.Error())
	for _, word := range []string{"image", "vision", "multimodal", "multi-modal"} {
		sure = sure || strings.Contains(text, word)
	}
	if sure || transport.Unexplained(e) {
		return e.Error(), sure
	}
	return "", false
}

// withoutImages returns the conversation for a model that takes no images: their names replace
// them, with a note that it cannot see them.
func (c *conversation) withoutImages(ref, why string) *conversation {
	out := &conversation{msgs: slices.Clone(c.msgs), tools: c.tools, wire: new(llm.EncodedHistory), modeFailures: c.modeFailures, cuts: c.cuts, failures: c.failures}
	for i := range out.msgs {
		msg := &out.msgs[i]
		for _, image := range msg.Images {
			msg.Text += fmt.Sprintf("\n[you cannot see %s: %s takes no images (%s)]", image.Name, ref, why)
		}
		msg.Images = nil
	}
	return out
}
