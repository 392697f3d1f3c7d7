package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// capNames lists the capabilities in the order of their bits.
func capNames() []string {
	return []string{"read", "write", "exec", "shell", "net", "think", "publish"}
}

// Names returns the names of the capabilities in c, in their declared order.
// Unknown bits are shown as numbers, so that they are seen rather than lost.
func (c Caps) Names() []string {
	names := []string{}
	for i, name := range capNames() {
		if c&(1<<i) != 0 {
			names = append(names, name)
			c &^= 1 << i
		}
	}
	if c != 0 {
		names = append(names, fmt.Sprintf("unknown(%#x)", uint16(c)))
	}
	return names
}

// String returns the names of c separated by commas, "none" for no
// capability. [Caps.UnmarshalText] reads it back.
func (c Caps) String() string {
	if c == 0 {
		return "none"
	}
	return strings.Join(c.Names(), ",")
}

// Has reports whether c includes all of need.
func (c Caps) Has(need Caps) bool { return c&need == need }

// UnmarshalText reads names separated by commas: "read,write". No text and
// "none" mean no capability, "all" every one.
func (c *Caps) UnmarshalText(text []byte) (err error) {
	switch s := strings.TrimSpace(string(text)); s {
	case "", "none":
		*c = 0
	case "all":
		*c = 1<<len(capNames()) - 1
	default:
		*c, err = capsOf(strings.Split(s, ","))
	}
	return err
}

func capsOf(names []string) (Caps, error) {
	var c Caps
	var unknown []string
next:
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		for i, known := range capNames() {
			if name == known {
				c |= 1 << i
				continue next
			}
		}
		unknown = append(unknown, fmt.Sprintf("%q%s", name, spelling.DidYouMean(name, capNames())))
	}
	if unknown != nil {
		return 0, fmt.Errorf("unknown capability %s; there are %s",
			strings.Join(unknown, ", "), strings.Join(capNames(), ", "))
	}
	return c, nil
}

// MarshalJSON writes c as a list of names.
func (c Caps) MarshalJSON() ([]byte, error) { return json.Marshal(c.Names()) }

// UnmarshalJSON reads a list of names.
func (c *Caps) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("capabilities are a list of names such as [\"read\",\"exec\"]: %w", err)
	}
	got, err := capsOf(names)
	if err != nil {
		return err
	}
	*c = got
	return nil
}
