package handler

import (
	"errors"
	"io/fs"
)

// loadImages reads the images of a conversation that it does not have yet. One whose
// file is gone is left out: the text still names it, and says so.
func (m *models) loadImages(c *conversation) error {
	for i := range c.msgs {
		msg := &c.msgs[i]
		for k := range msg.Images {
			image := &msg.Images[k]
			if image.Data != nil {
				continue
			}
			err := error(fs.ErrNotExist)
			if m.Images != nil {
				image.Data, err = m.Images(image.Digest)
			}
			if errors.Is(err, fs.ErrNotExist) {
				image.Data = []byte{} // not looked for again
				msg.Text += "\n[the image " + image.Name + " is not kept any more]"
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
