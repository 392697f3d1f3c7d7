package mcp

import (
	"encoding/json"
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

// TestParts: data that a server sends in another form than that of the protocol is kept, and
// structured content is shown unless the text has its values.
func TestParts(t *testing.T) {
	const gif = "R0lGODlhYQBhACBhIHBpY3R1cmU/Pz8+" // GIF89a…???>
	url := strings.NewReplacer("+", "-", "/", "_").Replace(gif)
	for name, tt := range map[string]struct {
		raw, want, not string
		images         int
	}{
		"base64 in lines":        {`{"type":"image","data":"` + gif[:8] + `\n` + gif[8:] + `\r\n","mimeType":"image/gif"}`, "97x97", "R0lG", 1},
		"base64 for URLs":        {`{"type":"image","data":"` + url + `","mimeType":"image/gif"}`, "97x97", "R0lG", 1},
		"base64 without padding": {`{"type":"image","data":"` + gif + `Pw","mimeType":"image/gif"}`, "97x97", "R0lG", 1},
		"a data URI":             {`{"type":"image","data":"data:image/gif;base64,` + gif + `"}`, "97x97", "R0lG", 1},
		"no type":                {`{"type":"image","data":"` + gif + `"}`, "97x97", "R0lG", 1},
		"a wrong type":           {`{"type":"image","data":"` + gif + `","mimeType":"image/jpeg"}`, "image/gif", "jpeg", 1},
		"as for OpenAI":          {`{"type":"image_url","image_url":{"url":"data:image/gif;base64,` + gif + `"}}`, "97x97", "R0lG", 1},
		"as for Anthropic":       {`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + gif + `"}}`, "97x97", "R0lG", 1},
		"another use of source":  {`{"type":"image","source":"screen","data":"data:image/gif;base64,` + gif + `"}`, "97x97", "R0lG", 1},
		"no base64":              {`{"type":"image","data":"%%%","mimeType":"image/png"}`, "its 3 bytes are not base64", "%%%", 0},
		"sound in a data URI":    {`{"type":"audio","data":"data:audio/wav;base64,UklGRg"}`, "[audio, audio/wav, 4 bytes: artifact t/audio-1]", "UklG", 0},
		"a video":                {`{"type":"video","data":"UklGRg==","mimeType":"video/mp4"}`, "[resource, video/mp4, 4 bytes: artifact t/resource-1]", "UklG", 0},
		"a resource's image":     {`{"type":"resource","resource":{"uri":"file:///a.gif","mimeType":"image/gif","blob":"` + url + `"}}`, "97x97", "R0lG", 1},
		"a flat resource":        {`{"type":"resource","uri":"a:b","text":"flat"}`, "[resource a:b]\nflat", "", 0},
		"a flat blob":            {`{"type":"resource","uri":"a:b","mimeType":"a/b","blob":"AAEC"}`, "[resource, a/b, 3 bytes: artifact t/resource-1]", "", 0},
		"another kind":           {`{"type":"chart","spec":{"x":1}}`, `{"x":1}`, "", 0},
		"a link":                 {`{"type":"resource_link","uri":"file:///b","name":"b"}`, "[link b: file:///b]", "", 0},
		"a count in the text":    {`{"type":"text","text":"Found 2"}],"structuredContent":{"items":["a\u001bb",2,null]},"x":[`, `Found 2` + "\n" + `{"items":["a\u001bb",2,null]}`, "", 0},
		"the same in the text":   {`{"type":"text","text":"- a 1.50\n- \"b\\nc\" <d>"}],"structuredContent":{"items":[{"name":"a","n":1.50},{"name":"b\nc"},"<d>",true]},"x":[`, `<d>`, "items", 0},
	} {
		var r sdk.CallToolResult
		if err := json.Unmarshal(request{}.callResult(json.RawMessage(`{"content":[`+tt.raw+`]}`)), &r); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := result("t", &r, nil)
		if !strings.Contains(got.Text, tt.want) || tt.not != "" && strings.Contains(got.Text, tt.not) || len(got.Images) != tt.images {
			t.Errorf("%s: %d images and %q", name, len(got.Images), got.Text)
		}
	}
}
