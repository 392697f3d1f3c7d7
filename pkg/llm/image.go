package llm

import (
	"fmt"
	"strconv"
	"strings"
)

// An Image is a picture in a message of the user or in the result of a tool. The
// message's text has its String,
// so that a model which does not get the picture knows that there is one.
type Image struct {
	Name   string `json:"name"` // as whoever attached it calls it
	Type   string `json:"type"` // image/png, image/jpeg, image/webp or image/gif
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Size   int    `json:"size"`   // bytes
	Digest string `json:"digest"` // of Data: SHA-256 in hex
	// Data is the picture itself. It is not part of the message's JSON: whoever keeps
	// messages keeps it once, by its digest. Adapters leave out an image without.
	Data []byte `json:"-"`
}

// String describes the image in brackets, as in [image shot.png 1280x720 84 KB].
func (i Image) String() string {
	name := i.Name
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == ']' }) {
		name = strconv.Quote(name)
	}
	return fmt.Sprintf("[image %s %dx%d %d KB]", name, i.Width, i.Height, (i.Size+1023)/1024)
}
