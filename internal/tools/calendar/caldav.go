package calendar

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/tools/internal/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

// query asks for the events that touch a range (RFC 4791, 7.8.1). They come
// whole, and are worked out as those of a file are.
const query = `<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop>` +
	`<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="%s" end="%s"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`

// report asks a CalDAV collection.
func (c calendars) report(ctx context.Context, env *tools.Env, r fetch.Request, from, to time.Time) ([]string, error) {
	// Days and floating times lie elsewhere for the server: ask for a day more.
	const stamp = "20060102T150405Z"
	r.Method, r.Accept = "REPORT", "application/xml, text/xml"
	r.Body = fmt.Sprintf(query, from.Add(-24*time.Hour).UTC().Format(stamp), to.Add(24*time.Hour).UTC().Format(stamp))
	r.Header = http.Header{"Depth": {"1"}, "Content-Type": {"application/xml; charset=utf-8"}}
	a, err := fetch.Get(ctx, env.HTTP, c.cache, r)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusMultiStatus {
		return nil, fmt.Errorf("%s answered %d and no list of events: is that the address of a CalDAV calendar?", r.What, a.Status)
	}
	text, err := fetch.Decode(a.Body, a.Charset)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.What, err)
	}
	list, err := readReport(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.What, err)
	}
	return list, nil
}

// readReport picks the calendars out of a multistatus answer.
func readReport(text string) ([]string, error) {
	text, err := fetch.CleanXML(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	var answer struct {
		XMLName  xml.Name `xml:"DAV: multistatus"`
		Response []struct {
			Propstat []struct {
				Prop struct {
					Data string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
				} `xml:"DAV: prop"`
			} `xml:"DAV: propstat"`
		} `xml:"DAV: response"`
	}
	if err := xml.Unmarshal([]byte(text), &answer); err != nil {
		return nil, errors.New("its answer is not what a CalDAV server says: " + fetch.OneLine(err.Error(), 200))
	}
	var out []string
	for _, r := range answer.Response {
		for _, p := range r.Propstat {
			if strings.TrimSpace(p.Prop.Data) != "" {
				out = append(out, p.Prop.Data)
			}
		}
	}
	return out, nil
}
