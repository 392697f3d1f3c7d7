package transcript

import (
	"fmt"
	"strings"
	"testing"
)

// Captions and transcripts as programs, services and people write them; from the formats'
// documents and from what is published.
func TestFiles(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"WEBVTT\n\n00:01.000 --> 00:04.000\nHello\n\n00:05.000 --> 00:06.000\nWorld", "vtt 0 [1.0-4.0 |Hello] [5.0-6.0 |World]"},
		{"WEBVTT - Title here\nKind: captions\nLanguage: en\n\n00:00:01.000 --> 00:00:04.000 align:start position:0%\nHello", "vtt 0 [1.0-4.0 |Hello]"},
		{"WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n00:00:01.000 --> 00:00:04.000\nHello", "vtt 0 [1.0-4.0 |Hello]"},
		{"WEBVTT\n\nNOTE one line\n\nNOTE\nseveral\nlines --x\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:fred\nwidth:40%\n\nintro\n00:01.000 --> 00:04.000\n<v Roger Bingham>We are in New York\n\n2\n00:05.000 --> 00:06.000\n<v.loud Neil>Hi</v> <v Mary>Yo</v>", "vtt 0 [1.0-4.0 Roger Bingham|We are in New York] [5.0-5.5 Neil|Hi] [5.5-6.0 Mary|Yo]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n<c.yellow>Hello</c> <i>there</i> <b>x</b> <u>y</u> <ruby>漢<rt>kan</rt></ruby> <lang en>z</lang>", "vtt 0 [1.0-4.0 |Hello there x y 漢 z]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\nA &lt;tag&gt; &amp; B &nbsp;C &lrm;D &#39;E&#39; &quot;F&quot;", "vtt 0 [1.0-4.0 |A <tag> & B C D 'E' \"F\"]"},
		{"WEBVTT\n\n00:00:00.000 --> 00:00:02.000 align:start position:0%\n \nhello<00:00:00.480><c> world</c>\n\n00:00:02.000 --> 00:00:02.010 align:start position:0%\nhello world\n \n\n00:00:02.010 --> 00:00:04.000 align:start position:0%\nhello world\nnext<00:00:02.500><c> line</c>\n\n00:00:04.000 --> 00:00:04.010 align:start position:0%\nnext line\n ", "vtt 1 [0.0-2.0 |hello world] [2.0-4.0 |next line]"},
		{"WEBVTT\n\n00:01.000 --> 00:05.000\nAAA first\n\n00:03.000 --> 00:06.000\nBBB second", "vtt 1 [1.0-5.0 |AAA first] [3.0-6.0 |BBB second]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n- One?\n- Two.", "vtt 0 [1.0-4.0 |- One? - Two.]"},
		{"WEBVTT\n\n00:01.000-->00:04.000\nNo spaces", "vtt 0 [1.0-4.0 |No spaces]"},
		{"WEBVTT\n00:01.000 --> 00:04.000\nNo blank line after header", "vtt 0 [1.0-4.0 |No blank line after header]"},
		{"WEBVTT\r\n\r\n00:01.000 --> 00:04.000\r\nCRLF\r\n", "vtt 0 [1.0-4.0 |CRLF]"},
		{"WEBVTT\r\r00:01.000 --> 00:04.000\rCR\r", "vtt 0 [1.0-4.0 |CR]"},
		{"\ufeffWEBVTT\n\n00:01.000 --> 00:04.000\nBOM", "vtt 0 [1.0-4.0 |BOM]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n\n00:05.000 --> 00:06.000\nafter empty", "vtt 0 [5.0-6.0 |after empty]"},
		{"WEBVTT\n\n100:00:01.000 --> 100:00:04.000\nlong", "no speech was found in the transcript (read as vtt"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n2020 was a year\n42", "vtt 0 [1.0-4.0 |2020 was a year 42]"},
		{"WEBVTT\n\n1 - Speaker 1\n00:01.000 --> 00:04.000\nHello", "vtt 0 [1.0-4.0 |Hello]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\nSPEAKER_00: Hello there", "vtt 0 [1.0-4.0 SPEAKER_00|Hello there]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n[SPEAKER_00]: Hello there", "vtt 0 [1.0-4.0 SPEAKER_00|Hello there]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n(John) Hello\n\n00:05.000 --> 00:06.000\n[Music]", "vtt 0 [1.0-4.0 |(John) Hello] [5.0-6.0 |[Music]]"},
		{"WEBVTT\n\nNOTE Confidence: 0.9\n\n5f2/11-0\n00:01.000 --> 00:04.000\n<v Doe, John>Teams</v>", "vtt 0 [1.0-4.0 Doe, John|Teams]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\nif a < b then\nc > d", "vtt 0 [1.0-4.0 |if a < b then c > d]"},
		{"WEBVTT\n\n00:01.000 --> 00:04.000\n{\"a\": 1}", "vtt 0 [1.0-4.0 |{\"a\": 1}]"},
		{"1\n00:00:01,000 --> 00:00:04,000\nHello\nWorld\n\n2\n00:00:05,000 --> 00:00:06,000\nTwo\n", "srt 0 [1.0-4.0 |Hello World] [5.0-6.0 |Two]"},
		{"1\n00:00:01.000 --> 00:00:04.000\nHello\n\n2\n00:00:05.000 --> 00:00:06.000\nTwo", "srt 0 [1.0-4.0 |Hello] [5.0-6.0 |Two]"},
		{"00:00:01,000 --> 00:00:04,000\nHello\n\n00:00:05,000 --> 00:00:06,000\nTwo", "srt 0 [1.0-4.0 |Hello] [5.0-6.0 |Two]"},
		{"1\r\n00:00:01,000 --> 00:00:04,000\r\nHello\r\n\r\n\r\n\r\n2\r\n00:00:05,000 --> 00:00:06,000\r\nTwo\r\n", "srt 0 [1.0-4.0 |Hello] [5.0-6.0 |Two]"},
		{"1\n00:00:01,000 --> 00:00:04,000\nCaf\xe9 d\xfc\n", "srt 0 [1.0-4.0 |Café dü]"},
		{"1\n00:00:01,000 --> 00:00:04,000\n{\\an8}{\\i1}Top{\\i0}\\Nline <font color=\"#fff\">x</font>\n", "srt 0 [1.0-4.0 |Top line x]"},
		{"1\n00:00:01,000 --> 00:00:04,000 X1:100 X2:200 Y1:1 Y2:2\nHello\n", "srt 0 [1.0-4.0 |Hello]"},
		{"1\n00:00:01,000 --> 00:00:04,000\nHello\n2\n00:00:05,000 --> 00:00:06,000\nNo blank", "srt 0 [1.0-4.0 |Hello] [5.0-6.0 |No blank]"},
		{"1\n00:00:01,000 --> 00:00:04,000\nHello\n\nsecond paragraph\n\n2\n00:00:05,000 --> 00:00:06,000\nTwo", "srt 0 [1.0-4.0 |Hello second paragraph] [5.0-6.0 |Two]"},
		{"1\n00:00:01,000 --> 00:00:04,000\n1984\n\n2\n00:00:05,000 --> 00:00:06,000\n7\n", "srt 0 [1.0-4.0 |1984] [5.0-6.0 |7]"},
		{"1\n100:00:01,000 --> 100:00:04,000\nHello\n", "no speech was found in the transcript (read as srt"},
		{"1\n0:00:01,5 --> 0:00:04,50\nHello\n", "srt 0 [1.5-4.5 |Hello]"},
		{"1\n00:00:01 --> 00:00:04\nHello\n", "srt 0 [1.0-4.0 |Hello]"},
		{"1\n00:00:01,000 -> 00:00:04,000\nHello\n", "srt 0 [1.0-4.0 |Hello]"},
		{"1\n00:00:01,000 --> 00:00:04,000\n<i>It's</i> 5 < 6 & 7\n", "srt 0 [1.0-4.0 |It's 5 < 6 & 7]"},
		{"1\n00:00:05,000 --> 00:00:06,000\nLater\n\n2\n00:00:01,000 --> 00:00:02,000\nEarlier", "srt 1 [1.0-2.0 |Earlier] [5.0-6.0 |Later]"},
		{"1\n00:00:01,000 --> 00:00:00,500\nBackwards", "srt 1 [0.5-1.0 |Backwards]"},
		{"1\n00:00:01,000 --> 00:00:04,000\nJOHN: Hello\n\n2\n00:00:05,000 --> 00:00:06,000\nMARY SMITH: Hi\n", "srt 0 [1.0-4.0 JOHN|Hello] [5.0-6.0 MARY SMITH|Hi]"},
		{"1\n00:00:01,000 --> 00:00:04,000\nAt 10:30 we met. http://x.y/z: ok\n", "srt 0 [1.0-4.0 |At 10:30 we met. http://x.y/z: ok]"},
		{"\ufeff1\n00:00:01,000 --> 00:00:04,000\nBOM\n", "srt 0 [1.0-4.0 |BOM]"},
		{"1 \n00:00:01,000 --> 00:00:04,000 \nTrailing blanks \n \n2 \n00:00:05,000 --> 00:00:06,000\nTwo", "srt 0 [1.0-4.0 |Trailing blanks] [5.0-6.0 |Two]"},
		{`{"text": " Hello there.", "segments": [{"id": 0, "seek": 0, "start": 0.0, "end": 2.5, "text": " Hello", "tokens": [1], "temperature": 0.0, "avg_logprob": -0.2}, {"id": 1, "start": 2.5, "end": 4.0, "text": " there."}], "language": "en"}`, "json 0 [0.0-2.5 |Hello] [2.5-4.0 |there.]"},
		{`{"transcription": [{"timestamps": {"from": "00:00:00,000", "to": "00:00:02,500"}, "offsets": {"from": 0, "to": 2500}, "text": " Hello"}]}`, "json 0 [0.0-2.5 |Hello]"},
		{`{"version": "1.0.0", "segments": [{"speaker": "Jane", "startTime": 0.5, "endTime": 2.0, "body": "Hello"}, {"speaker": "Bob", "startTime": 2, "endTime": 3, "body": "Hi"}]}`, "json 0 [0.5-2.0 Jane|Hello] [2.0-3.0 Bob|Hi]"},
		{`{"segments": [{"start": 0.0, "end": 2.5, "text": "Hi", "speaker": "SPEAKER_00", "words": [{"word": "Hi", "start": 0, "end": 1, "score": 0.9}]}], "word_segments": []}`, "json 0 [0.0-2.5 SPEAKER_00|Hi]"},
		{`{"results": {"channels": [{"alternatives": [{"transcript": "hello world", "words": [{"word": "hello", "start": 0.1, "end": 0.4, "speaker": 0, "punctuated_word": "Hello"}, {"word": "world", "start": 0.5, "end": 0.9, "speaker": 1, "punctuated_word": "world."}]}]}], "utterances": [{"start": 0.1, "end": 0.4, "speaker": 0, "transcript": "Hello"}]}}`, "json 0 [0.1-0.4 0|Hello]"},
		{`{"jobName": "x", "results": {"transcripts": [{"transcript": "Hello world."}], "items": [{"type": "pronunciation", "start_time": "0.1", "end_time": "0.5", "alternatives": [{"content": "Hello", "confidence": "0.9"}]}, {"type": "punctuation", "alternatives": [{"content": "."}]}]}}`, "the transcript is JSON without segments"},
		{`{"id": "x", "text": "Hello", "words": [], "utterances": [{"speaker": "A", "start": 250, "end": 2000, "text": "Hello"}, {"speaker": "B", "start": 2100, "end": 6500, "text": "Hi"}]}`, "json 0 [0.2-2.0 A|Hello] [2.1-6.5 B|Hi]"},
		{`[{"start": 0.0, "duration": 1.5, "text": "Hello"}, {"start": 1.5, "duration": 2, "text": "World"}]`, "json 0 [0.0-1.5 |Hello] [1.5-3.5 |World]"},
		{`{"events": [{"tStartMs": 0, "dDurationMs": 1000, "segs": [{"utf8": "Hello"}, {"utf8": " world", "tOffsetMs": 500}]}, {"tStartMs": 900, "dDurationMs": 100, "aAppend": 1, "segs": [{"utf8": "\n"}]}, {"tStartMs": 1000, "dDurationMs": 1000, "segs": [{"utf8": "next"}]}], "wireMagic": "pb3"}`, "json 0 [0.0-1.0 |Hello world] [1.0-2.0 |next]"},
		{`{"monologues": [{"speaker": 0, "elements": [{"type": "text", "value": "Hi", "ts": 0.5, "end_ts": 0.8, "confidence": 0.9}, {"type": "punct", "value": "."}]}]}`, "json 0 [0.5-0.8 0|Hi.]"},
		{"{\"start\": 0, \"end\": 1, \"text\": \"a\"}\n{\"start\": 1, \"end\": 2, \"text\": \"b\"}\n", "the transcript begins like JSON and is none: invalid character '{' after top-level value (byte 37)"},
		{"Jane Doe  0:03  \nHello there.\n\nBob  0:10  \nHi.\nMore.\n", "text 0 [3.0-10.0 Jane Doe|Hello there.] [10.0-10.0 Bob|Hi. More.]"},
		{"Speaker 1  00:00\nHello there.\n\nSpeaker 2  1:02:03\nHi.\n\nTranscribed by https://otter.ai\n", "text 0 [0.0-3723.0 Speaker 1|Hello there.] [3723.0-3723.0 Speaker 2|Hi. Transcribed by https://otter.ai]"},
		{"[00:00:03] Jane: Hello\n[00:00:10] Bob: Hi\n", "text 0 [3.0-10.0 Jane|Hello] [10.0-10.0 Bob|Hi]"},
		{"(00:03) Jane: Hello\n(01:10) Bob: Hi\n", "text 0 [3.0-70.0 Jane|Hello] [70.0-70.0 Bob|Hi]"},
		{"Jane [00:03]: Hello\nBob [01:10]: Hi\n", "text 0 [3.0-70.0 Jane|Hello] [70.0-70.0 Bob|Hi]"},
		{"Jane: Hello there.\n\nBob: Hi.\n", "text 0 [0.0-0.0 Jane|Hello there.] [0.0-0.0 Bob|Hi.]"},
		{"**Jane:** Hello there.\n\n**Bob:** Hi.\n", "text 0 [0.0-0.0 Jane|Hello there.] [0.0-0.0 Bob|Hi.]"},
		{"**Jane** (00:03): Hello there.\n\n**Bob** (1:10): Hi.\n", "text 0 [3.0-70.0 Jane|Hello there.] [70.0-70.0 Bob|Hi.]"},
		{"[00:00.000 --> 00:02.500]  Hello\n[00:02.500 --> 00:04.000]  World\n", "srt 0 [0.0-2.5 |Hello] [2.5-4.0 |World]"},
		{"[00:00:00.000 --> 00:00:02.500]   Hello\n[00:00:02.500 --> 00:00:04.000]   World\n", "srt 0 [0.0-2.5 |Hello] [2.5-4.0 |World]"},
		{"start\tend\ttext\n0\t2500\tHello\n2500\t4000\tWorld\n", "text 0 [0.0-2.5 |Hello] [2.5-4.0 |World]"},
		{"0:00\nHello there\n0:05\nnext line\n", "text 0 [0.0-5.0 |Hello there] [5.0-5.0 |next line]"},
		{"[ti:Title]\n[ar:X]\n[00:01.00]Hello\n[00:05.20]World\n", "text 0 [1.0-5.2 |Hello] [5.2-5.2 |World]"},
		{"[Script Info]\nTitle: x\n\n[V4+ Styles]\nFormat: Name\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\nDialogue: 0,0:00:01.00,0:00:04.00,Default,Jane,0,0,0,,Hello, {\\i1}you{\\i0}\\Nthere\n", "the transcript is XML or ASS, which are not read here"},
		{"<?xml version=\"1.0\"?><tt xmlns=\"http://www.w3.org/ns/ttml\"><body><div><p begin=\"00:00:01.000\" end=\"00:00:04.000\">Hello<br/>there</p></div></body></tt>", "the transcript is XML or ASS, which are not read here"},
		{"0:00:01.000,0:00:04.000\nHello[br]there\n\n0:00:05.000,0:00:06.000\nTwo\n", "srt 0 [1.0-4.0 |Hello there] [5.0-6.0 |Two]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:04.000\nJane Doe: Hello\n\n00:00:05.000 --> 00:00:06.000\nBob: Hi\n\n00:00:07.000 --> 00:00:08.000\nJane Doe: Yes\n", "vtt 0 [1.0-4.0 Jane Doe|Hello] [5.0-6.0 Bob|Hi] [7.0-8.0 Jane Doe|Yes]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nHello\n\n00:00:02.000 --> 00:00:03.000\nHello\n\n00:00:03.000 --> 00:00:04.000\nNo, no\n\n00:00:04.000 --> 00:00:05.000\nno\n", "vtt 0 [1.0-2.0 |Hello] [2.0-3.0 |Hello] [3.0-4.0 |No, no] [4.0-5.0 |no]"},
		{"WEBVTT\n\nid --> not time\n00:00:01.000 --> 00:00:02.000\nHello\n", "vtt 0 [1.0-2.0 |Hello]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nTEXT <00:00:01.500>more <v Bob>here\n", "vtt 0 [1.0-1.8 |TEXT more] [1.8-2.0 Bob|here]"},
		{"WEBVTT FILE\n\n00:00:01.000 --> 00:00:02.000 line:0 size:50%\n♪ la la ♪\n", "vtt 0 [1.0-2.0 |♪ la la ♪]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nEmoji 👩‍👩‍👧 and שלום \u200f!\n", "vtt 0 [1.0-2.0 |Emoji 👩\u200d👩\u200d👧 and שלום !]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v ->Dash</v> <v>No name</v>\n", "vtt 0 [1.0-1.2 -|Dash] [1.2-2.0 |No name]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n&amp;lt;b&amp;gt; &unknown; AT&T\n", "vtt 0 [1.0-2.0 |&lt;b&gt; &unknown; AT&T]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nline one\nline two\n\n\n\n00:00:03.000 --> 00:00:04.000\nline three", "vtt 0 [1.0-2.0 |line one line two] [3.0-4.0 |line three]"},
		{"WEBVTT\n\nSTYLE\n::cue(v[voice=\"X\"]) {\n  color: red;\n\n}\n\n00:00:01.000 --> 00:00:02.000\nHello\n", "vtt 0 [1.0-2.0 |Hello]"},
		{"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nSTYLE\nis everything\n\n00:00:02.000 --> 00:00:03.000\nREGION\n", "vtt 0 [1.0-2.0 |STYLE is everything] [2.0-3.0 |REGION]"},
		{"1\n00:00:01,000 --> 00:00:04,000\n<v Jane>Hello</v>\n\n2\n00:00:05,000 --> 00:00:06,000\n[Bob] Hi\n", "srt 0 [1.0-4.0 Jane|Hello] [5.0-6.0 |[Bob] Hi]"},
	} {
		tr, err := Parse([]byte(c.file))
		got := fmt.Sprint(tr.Format, " ", len(tr.Repairs))
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), ";")
		}
		for _, q := range tr.Cues {
			got += fmt.Sprintf(" [%.1f-%.1f %s|%s]", q.Start, q.End, q.Speaker, q.Text)
		}
		if got != c.want {
			t.Errorf("%q\n is %q\nwant %q", c.file, got, c.want)
		}
	}
}
