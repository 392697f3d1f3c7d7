package transcript

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// show writes a transcript as one line a cue, for comparison.
func show(t Transcript) string {
	var b strings.Builder
	for _, q := range t.Cues {
		fmt.Fprintf(&b, "%s-%s %s: %s\n", Seconds(q.Start), Seconds(q.End), q.Speaker, q.Text)
	}
	return b.String()
}

func TestParseTranscript(t *testing.T) {
	for _, c := range []struct{ name, in, want, repairs string }{
		{"srt", "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Hello</i> there\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n{\\an8}Bye\r\n",
			"1-2.5 : Hello there\n3-4 : Bye\n", ""},
		{"srt with an empty line and a number in its text", "1\n00:00:01,000 --> 00:00:02,000\nThe answer is\n\n42\n\n2\n00:00:03,000 --> 00:00:04,000\nBye\n",
			"1-2 : The answer is 42\n3-4 : Bye\n", ""},
		{"less than is no tag", "1\n00:00:01,000 --> 00:00:02,000\nif a < b and c > d &amp; <unknown>\n", "1-2 : if a < b and c > d & <unknown>\n", ""},
		{"vtt", "WEBVTT - a title\nKind: captions\n\nNOTE about\nthis --- file\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:x\n\nintro\n00:01.000 --> 00:02.000 align:start line:0\n<v Ann Lee>Hello <00:01.500><c.loud>there</c></v>\n\n00:03.000 --> 01:00:04.000\n<v.loud Ben>Good &lt;evening&gt;&nbsp;all\n",
			"1-2 Ann Lee: Hello there\n3-3604 Ben: Good <evening> all\n", ""},
		{"speakers in the text", "WEBVTT\n\n00:00.000 --> 00:01.000\nAnn: Hello.\n\n00:01.000 --> 00:02.000\nHow are you?\n\n00:02.000 --> 00:03.000\nDr. Ben O'Neil: Well.\n",
			"0-1 Ann: Hello.\n1-2 Ann: How are you?\n2-3 Dr. Ben O'Neil: Well.\n", ""},
		{"a word with a colon is no speaker", "WEBVTT\n\n00:00.000 --> 00:01.000\nOne.\n\n00:01.000 --> 00:02.000\nNote: mind the gap.\n\n00:02.000 --> 00:03.000\nTwo.\n",
			"0-1 : One.\n1-2 : Note: mind the gap.\n2-3 : Two.\n", ""},
		{"captions that scroll", "WEBVTT\n\n00:00.000 --> 00:02.000\nwe bake\n\n00:02.000 --> 00:04.000\nwe bake\nbread\n\n00:04.000 --> 00:05.000\nbread\nwith rye\n",
			"0-2 : we bake\n2-4 : bread\n4-5 : with rye\n", "2 cues repeated, joined"},
		{"times that cannot be", "1\n00:00:09,000 --> 00:00:08,000\nSwapped\n\n2\n00:00:01,000 --> 00:00:05,000\nEarly\n\n3\n00:00:04,000 --> 00:00:06,000\nOver\n\n4\n-00:00:01,000 --> 00:00:00,500\nNegative\n\n5\n00:99:99,000 --> 00:00:07,000\nLost\n",
			"0-0.5 : Negative\n1-5 : Early\n4-6 : Over\n8-9 : Swapped\n",
			"1 cue ended before they began, times swapped|2 cues out of order, sorted|1 cue overlapping, kept as they are|1 cue with negative times, set to zero|1 cue with times that cannot be read, left out"},
		{"namespace json", `{"version":"1.0.0","segments":[{"speaker":"Ann","startTime":0.5,"endTime":1.25,"body":"Hello"},{"speaker":"Ben","startTime":2,"endTime":3,"body":"Bye"}]}`,
			"0.5-1.25 Ann: Hello\n2-3 Ben: Bye\n", ""},
		{"whisper json", `{"text":" Hello. Bye.","segments":[{"id":0,"start":0.0,"end":1.0,"text":" Hello."},{"id":1,"start":1.0,"end":2.0,"text":" Bye.","speaker":1}],"language":"en"}`,
			"0-1 : Hello.\n1-2 1: Bye.\n", ""},
		{"whisper.cpp json", `{"transcription":[{"timestamps":{"from":"00:00:00,000","to":"00:00:01,500"},"offsets":{"from":0,"to":1500},"text":" Hello"}]}`,
			"0-1.5 : Hello\n", ""},
		{"segments alone, times as text, none and too large", `[{"start":"1.5s","end":"00:02.000","text":"a"},{"start":3,"text":"b"},{"start":1e300,"end":2,"text":"c"}]`,
			"1.5-2 : a\n3-3 : b\n", "1 cue with times that cannot be read, left out"},
		{"plain text", "Ann: Hello.\nAnd welcome.\n\nBen: Thank you.\n", "0-0 Ann: Hello. And welcome.\n0-0 Ben: Thank you.\n", ""},
		{"text with times", "[00:00:05] Ann: Hello.\n00:12 - Ben: Thank you.\nA lot.\n", "5-12 Ann: Hello.\n12-12 Ben: Thank you. A lot.\n", ""},
		{"text with lines of who and when", "Ann Lee  0:00\nHello.\n\nAnd welcome.\n\nBen (1:02:03)\nThank you.\n", "0-3723 Ann Lee: Hello. And welcome.\n3723-3723 Ben: Thank you.\n", ""},
		{"fractions in every spelling", "1\n00:00:01,000 --> 00:00:02.500\na\n\n2\n00:00:02:500 --> 00:00:03.5\nb\n\n3\n00:00:03:500-->0:04:250\nc\n", "1-2.5 : a\n2.5-3.5 : b\n3.5-4.25 : c\n", ""},
		{"said twice, srt", "1\n00:00:01,000 --> 00:00:02,000\nNo.\n\n2\n00:00:02,000 --> 00:00:03,000\nNo.\n", "1-2 : No.\n2-3 : No.\n", ""},
		{"said twice, vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nNo.\n\n00:02.000 --> 00:03.000\nNo.\n\n00:03.000 --> 00:04.000\nNo.\nI said no.\n\n00:04.000 --> 00:05.000\nGood.\n", "1-2 : No.\n2-3 : No.\n3-4 : No. I said no.\n4-5 : Good.\n", ""},
		{"shown again for a moment", "WEBVTT\n\n00:01.000 --> 00:02.000\nNo.\n\n00:02.000 --> 00:02.010\nNo.\n\n00:03.000 --> 00:04.000\nGood.\n", "1-2.01 : No.\n3-4 : Good.\n", "1 cue repeated, joined"},
		{"times with blanks, of full width", "1\n00: 00: 01, 000 --> 00: 00: 02, 000\na\n\n2\n00：00：03，000 --> 00：00：04，000\nb\n\n3\n00:00:05 ,000 --> 00:00:06 ,000  X1:1\nc\n", "1-2 : a\n3-4 : b\n5-6 : c\n", ""},
		{"arrows of word processors and pages", "1\n00:00:01,000 –> 00:00:02,000\na\n\n2\n00:00:03,000 → 00:00:04,000\nb\n\n3\n00:00:05,000 --&gt; 00:00:06,000\nc\n", "1-2 : a\n3-4 : b\n5-6 : c\n", ""},
		{"sbv", "0:00:01.000,0:00:02.000\na\n\n0:00:03.000,0:00:04.000\nb\n", "1-2 : a\n3-4 : b\n", ""},
		{"lrc", "[ti:Song]\n[00:12.00]One\n[00:15.30]Two\n", "12-15.3 : One\n15.3-15.3 : Two\n", ""},
		{"speakers of WhisperX, scripts and Rev", "1\n00:00:01,000 --> 00:00:02,000\n[SPEAKER_00]: a\n\n2\n00:00:02,000 --> 00:00:03,000\nANN LEE (V.O.): b\n", "1-2 SPEAKER_00: a\n2-3 ANN LEE: b\n", ""},
		{"who and when, with a colon", "Speaker 1 (00:01):\na\n\nSpeaker 2 (00:05):\nb\n", "1-5 Speaker 1: a\n5-5 Speaker 2: b\n", ""},
		{"who and when, behind a bar", "Speaker 1 | 00:01\na\n\nSpeaker 2 | 00:05\nb\n", "1-5 Speaker 1: a\n5-5 Speaker 2: b\n", ""},
		{"times of day", "5:00 PM Ann: a\n5:01 PM Ben: b\n", "300-301 Ann: a\n301-301 Ben: b\n", ""},
		{"spans of seconds", "[0.00s -> 4.50s] a\n[4.5 - 7] SPEAKER_01: b\n", "0-4.5 : a\n4.5-7 SPEAKER_01: b\n", ""},
		{"a reading above signs", "WEBVTT\n\n00:01.000 --> 00:02.000\n<ruby>漢<rt>かん</rt></ruby>字\n", "1-2 : 漢字\n", ""},
		{"control characters", "WEBVTT\n\n00:00.000 --> 00:01.000\na\x1b[31mb\u202ec\u200b\n", "0-1 : a[31mbc\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if show(got) != c.want {
				t.Errorf("got\n%swant\n%s", show(got), c.want)
			}
			if r := strings.Join(got.Repairs, "|"); r != c.repairs {
				t.Errorf("repairs %q, want %q", r, c.repairs)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	const text = "1\n00:00:01,000 --> 00:00:02,000\nZoë’s naïve café\n"
	wide := func(big bool, mark bool) []byte {
		units := utf16.Encode([]rune(text))
		if mark {
			units = append([]uint16{0xfeff}, units...)
		}
		var b []byte
		for _, u := range units {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return b
	}
	for name, b := range map[string][]byte{
		"utf-8":         []byte(text),
		"utf-8 mark":    append([]byte{0xef, 0xbb, 0xbf}, text...),
		"utf-16le mark": wide(false, true), "utf-16be mark": wide(true, true),
		"utf-16le": wide(false, false), "utf-16be": wide(true, false),
		"windows-1252": []byte("1\n00:00:01,000 --> 00:00:02,000\nZo\xeb\x92s na\xefve caf\xe9\n"),
	} {
		got, err := Parse(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want := "1-2 : Zoë’s naïve café\n"; show(got) != want {
			t.Errorf("%s: %q, want %q", name, show(got), want)
		}
	}
}

func TestNoTranscript(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "empty",
		" \n\t":                     "empty",
		"WEBVTT\n\nNOTE nothing\n":  "no speech",
		"{\"segments\":":            "begins like JSON",
		`{"segments":[]}`:           "without segments",
		`{"segments":"x"}`:          "not of a form",
		"ID3\x03\x00\x00 \x00\x01x": "NUL",
	} {
		if _, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// A transcript as large as can be read takes time in proportion to its size
// and no more cues than there may be.
func TestManyCues(t *testing.T) {
	var b strings.Builder
	b.WriteString("WEBVTT\n\n")
	for range maxCues + 10 {
		b.WriteString("00:01.000 --> 00:02.000\nx\n\n")
	}
	b.WriteString("00:01.000 --> 00:02.000\n" + strings.Repeat("{\\<v ", 1<<18) + "\n")
	got, err := Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(got.Repairs, "|"), "only the first") {
		t.Errorf("repairs: %q", got.Repairs)
	}
}

// Captions that scroll, as players of videos write them, are read once, and two voices in
// a cue are two cues.
func TestScrollingAndVoices(t *testing.T) {
	const vtt = "WEBVTT\nKind: captions\n\n00:00:00.800 --> 00:00:02.870 align:start position:0%\n \ntoday<00:00:01.040><c> we</c><00:00:01.920><c> bake</c>\n\n" +
		"00:00:02.870 --> 00:00:02.880\ntoday we bake\n \n\n00:00:02.880 --> 00:00:04.070\ntoday we bake\nbread<00:00:03.360><c> with</c><00:00:03.520><c> rye</c>\n\n" +
		"00:00:04.070 --> 00:00:04.080\nbread with rye\n \n\n00:00:04.080 --> 00:00:06.000\nbread with rye\nand<00:00:04.360><c> salt</c>\n\n00:00:06.000 --> 00:00:06.010\nand salt\n \n"
	const srt = "1\n00:00:00,800 --> 00:00:02,870\ntoday we bake\n\n2\n00:00:02,870 --> 00:00:02,880\ntoday we bake\n\n3\n00:00:02,880 --> 00:00:04,070\ntoday we bake\nbread with rye\n\n" +
		"4\n00:00:04,070 --> 00:00:04,080\nbread with rye\n\n5\n00:00:04,080 --> 00:00:06,000\nbread with rye\nand salt\n\n6\n00:00:06,000 --> 00:00:06,010\nand salt\n"
	for name, c := range map[string]struct{ file, want string }{
		"vtt":     {vtt, "0.80 : today we bake|2.88 : bread with rye|4.08 : and salt"},
		"srt":     {srt, "0.80 : today we bake|2.88 : bread with rye|4.08 : and salt"},
		"growing": {"WEBVTT\n\n00:00.000 --> 00:01.000\nso\n\n00:01.000 --> 00:02.000\nso we\n\n00:02.000 --> 00:03.000\nso we bake\n\n00:03.000 --> 00:04.000\nso we bake bread\n", "0.00 : so|1.00 : we|2.00 : bake|3.00 : bread"},
		"speech":  {"1\n00:00:01,000 --> 00:00:02,000\nNo.\n\n2\n00:00:02,000 --> 00:00:03,000\nNo.\nI said no.\n\n3\n00:00:03,000 --> 00:00:04,000\nGood.\n\n4\n00:00:04,000 --> 00:00:05,000\nBye.\n", "1.00 : No.|2.00 : No. I said no.|3.00 : Good.|4.00 : Bye."},
		"voices":  {"WEBVTT\n\n00:00.000 --> 00:04.000\n<v Ann>Shall we begin?</v>\n<v Ben>Yes, let us it.</v>\n\n00:04.000 --> 00:06.000\nSome words first, <v Ben>and then mine.</v> Others.\n", "0.00 Ann: Shall we begin?|2.00 Ben: Yes, let us it.|4.00 : Some words first,|4.88 Ben: and then mine.|5.56 : Others."},
	} {
		got, err := Parse([]byte(c.file))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, q := range got.Cues {
			list = append(list, fmt.Sprintf("%.2f %s: %s", q.Start, q.Speaker, q.Text))
		}
		if s := strings.Join(list, "|"); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// UTF-16 without a mark is read in any script, and a page is refused as one.
func TestWideAndPages(t *testing.T) {
	for _, text := range []string{"Привет, это длинная строка речи о хлебе и о том, как его пекут дома", "こんにちは、これはパンについての長い話です"} {
		for low := range 2 {
			var b []byte
			for _, u := range utf16.Encode([]rune("1\n00:00:01,000 --> 00:00:02,000\n" + text + "\n")) {
				pair := []byte{byte(u), byte(u >> 8)}
				b = append(b, pair[low], pair[1-low])
			}
			if got, err := Parse(b); err != nil || show(got) != "1-2 : "+text+"\n" {
				t.Errorf("%s: %q, %v", text, show(got), err)
			}
		}
	}
	if _, err := Parse([]byte("<cite>Ann:</cite>\n<time>0:00</time>\n<p>Hello.</p>\n")); err == nil || !strings.Contains(err.Error(), "is HTML") {
		t.Error(err)
	}
}
