package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestImageContent: an image that models take is shown to them, beside the artifact; of
// any other data they learn that it is there.
func TestImageContent(t *testing.T) {
	gif := []byte("GIF89aa\x00a\x00 a picture")
	var content []sdk.Content
	for range 10 {
		content = append(content, &sdk.ImageContent{MIMEType: "text/html", Data: gif})
	}
	content = append(content, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("no image")})
	r := result("s__shot", &sdk.CallToolResult{Content: content}, nil)
	if len(r.Images) != 8 || r.Images[0].Name != "s__shot/image-1" || r.Images[0].Type != "image/gif" || string(r.Images[0].Data) != string(gif) || len(r.Artifacts) != 11 {
		t.Errorf("%d images, %d artifacts: %+v", len(r.Images), len(r.Artifacts), r.Images)
	}
	for _, want := range []string{"[image s__shot/image-1 97x97 1 KB]", "[image, image/gif, 20 bytes: artifact s__shot/image-8]", "[image, text/html, 20 bytes: artifact s__shot/image-9]", "[image, image/png, 8 bytes: artifact s__shot/image-11]"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is not in %s", want, r.Text)
		}
	}
}
