package rootfs

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// A RawName survives JSON also where it is not UTF-8.
type RawName string

func (n RawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(n))})
}

func (n *RawName) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var coded struct{ Base64 []byte }
		err := json.Unmarshal(b, &coded)
		*n = RawName(coded.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(n))
}
