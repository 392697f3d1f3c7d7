package site

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // the formats that are measured
	_ "image/jpeg"
	_ "image/png"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

// Bounds of an image that readers download.
const (
	MaxImage  = 2 << 20 // bytes
	maxPixels = 5000    // width or height
)

// CheckImage reports an image of a post that is not there, is none, or is larger
// than readers should have to load. Images elsewhere on the net are not looked
// at, and only PNG, JPEG and GIF are measured.
func (s Site) CheckImage(link string) error {
	if u, err := url.Parse(link); err == nil && (u.Scheme != "" || u.Host != "") {
		return nil
	}
	name, ok := s.File(link)
	if !ok {
		return fmt.Errorf("there is no file for the image %s in what the site serves", link)
	}
	info, err := fs.Stat(s.FS, name)
	if err != nil {
		return fmt.Errorf("the image %s cannot be read: %w", name, err)
	}
	if info.Size() > MaxImage {
		return fmt.Errorf("the image %s has %.1f MB; %d MB are the most that readers should have to load", name, float64(info.Size())/(1<<20), MaxImage>>20)
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif":
	default:
		return nil
	}
	b, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return fmt.Errorf("the image %s cannot be read: %w", name, err)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s is no image that can be read: %w", name, err)
	}
	if max(c.Width, c.Height) > maxPixels {
		return fmt.Errorf("the image %s has %dx%d pixels; at most %d in each direction are of use", name, c.Width, c.Height, maxPixels)
	}
	return nil
}
