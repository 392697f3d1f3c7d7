package turn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Bounds of the images of a message.
const (
	MaxImage  = 5 << 20 // bytes of one
	MaxImages = 8
)

// HeadBytes are enough of a file to know whether it is an image.
const HeadBytes = 16

// ImageType is the media type of an image by its first bytes, "" if it is none that
// models take.
func ImageType(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// Image makes an image of the bytes of a file. It fails if they are none that models
// take, or too many.
func Image(name string, b []byte) (*llm.Image, error) {
	kind := ImageType(b)
	switch {
	case kind == "":
		return nil, fmt.Errorf("it is no PNG, JPEG, WebP or GIF image")
	case len(b) > MaxImage:
		return nil, TooLarge(int64(len(b)))
	}
	w, h, err := size(kind, b)
	if err != nil || w <= 0 || h <= 0 {
		return nil, fmt.Errorf("it begins like %s and cannot be read as one", kind)
	}
	sum := sha256.Sum256(b)
	return &llm.Image{Name: name, Type: kind, Width: w, Height: h, Size: len(b), Digest: hex.EncodeToString(sum[:]), Data: b}, nil
}

// TooLarge is the error for an image of so many bytes.
func TooLarge(n int64) error {
	return fmt.Errorf("the image has %.1f MB, and models take at most %d MB; make it smaller", float64(n)/(1<<20), MaxImage>>20)
}

// size reads the pixels of an image from its header. The decoders of the standard
// library would be a large part of small programs.
func size(kind string, b []byte) (w, h int, err error) {
	switch {
	case kind == "image/webp":
		return webp(b)
	case kind == "image/jpeg":
		return jpegSize(b)
	case kind == "image/gif" && len(b) >= 13:
		return int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:])), nil
	case kind == "image/png" && len(b) >= 33 && string(b[12:16]) == "IHDR":
		return int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:])), nil
	}
	return 0, 0, io.ErrUnexpectedEOF
}

// jpegSize reads the size of a JPEG image from the header of its frame.
func jpegSize(b []byte) (w, h int, err error) {
	for b = b[2:]; len(b) >= 4 && b[0] == 0xff; {
		kind, n := b[1], int(binary.BigEndian.Uint16(b[2:]))
		switch {
		case kind == 0xff: // fill
			b = b[1:]
			continue
		case kind == 1 || kind >= 0xd0 && kind <= 0xd7: // without a length
			b = b[2:]
			continue
		case kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc && len(b) >= 9:
			return int(binary.BigEndian.Uint16(b[7:])), int(binary.BigEndian.Uint16(b[5:])), nil
		}
		b = b[min(n+2, len(b)):]
	}
	return 0, 0, io.ErrUnexpectedEOF
}

// webp reads the size of a WebP image from its first chunk, by RFC 9649.
func webp(b []byte) (w, h int, err error) {
	if len(b) < 30 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	le := binary.LittleEndian
	switch string(b[12:16]) {
	case "VP8X":
		return 1 + int(le.Uint32(b[23:27])>>8), 1 + int(le.Uint32(b[26:30])>>8), nil
	case "VP8L":
		bits := le.Uint32(b[21:25])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), nil
	case "VP8 ":
		return int(le.Uint16(b[26:28]) & 0x3fff), int(le.Uint16(b[28:30]) & 0x3fff), nil
	}
	return 0, 0, fmt.Errorf("unknown chunk %q", b[12:16])
}
