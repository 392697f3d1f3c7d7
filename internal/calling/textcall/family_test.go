package textcall

import (
	"strings"
	"testing"
)

// samples are answers in the formats of the families, written for this test.
var samples = []struct {
	label  string
	family Family
	in     string
	want   string
}{
	{"hermes", Hermes, "<think>\nI need the file.\n</think>\n\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"é.txt\", \"lines\": [1, 2]}}\n</tool_call>",
		`(I need the file.)read_file{"path": "é.txt", "lines": [1, 2]}`},
	{"hermes two", Hermes, "Both.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call><|im_end|>",
		`Both.|f{"a": 1} now{}`},
	{"hermes forgets closing", Hermes, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}", `f{"a": 1} now{}`},
	{"hermes no arguments", Hermes, `<tool_call>{"name": "now"}</tool_call>`, `now{}`},
	{"hermes flat", Hermes, `<tool_call>{"name": "f", "a": 1}</tool_call>`, `f{"a":1}`},
	{"hermes stray bracket", Hermes, `<tool_call>{"name": "f", "arguments": {"a": 1}}}</tool_call>`, `f{"a": 1}`},
	{"hermes fenced inside", Hermes, "<tool_call>\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```\n</tool_call>", `f{}`},
	{"hermes invents the result", Hermes, "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>\n<tool_response>\nnoon\n</tool_response>\nIt is noon.", `now{}`},
	{"hermes bad", Hermes, `<tool_call>{"name": "f", "arguments": {"s": "a "quoted" word"}}</tool_call>`, `f!`},
	{"hermes double encoded", Hermes, `<tool_call>{"name": "f", "arguments": "{\"a\": 9007199254740993}"}</tool_call>`, `f{"a": 9007199254740993}`},
	{"qwen2.5-coder", Hermes, "```json\n{\n  \"name\": \"write_file\",\n  \"arguments\": {\n    \"path\": \"a.go\",\n    \"text\": \"package a\\n\"\n  }\n}\n```",
		"write_file{\n    \"path\": \"a.go\",\n    \"text\": \"package a\\n\"\n  }"},
	{"qwen3-coder", QwenCoder, "I will read it.\n<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=lines>\n[1, 2]\n</parameter>\n<parameter=all>\nTrue\n</parameter>\n<parameter=limit>\nnull\n</parameter>\n</function>\n</tool_call>",
		`I will read it.|read_file{"path":"a.txt","lines":[1, 2],"all":true,"limit":null}`},
	{"qwen3-coder text", QwenCoder, "<tool_call>\n<function=write_file>\n<parameter=path>\n7\n</parameter>\n<parameter=text>\n\n<parameter>x</parameter> \"y\"\n\tz\n\n</parameter>\n</function>\n</tool_call>",
		`write_file{"path":"7","text":"\n<parameter>x</parameter> \"y\"\n\tz\n"}`},
	{"qwen3-coder without tag", QwenCoder, "<function=f>\n<parameter=a>\n3\n</parameter>\n</function>\n</tool_call>", `f{"a":3}`},
	{"qwen3-coder forgets ends", QwenCoder, "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n<parameter=ratio>\n1.50\n</parameter>\n</function>\n</tool_call>", `read_file{"path":"a.txt","ratio":1.50}`},
	{"qwen3-coder cut", QwenCoder, "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=text>\nhalf", `write_file!`},
	{"qwen3-coder no arguments", QwenCoder, "<tool_call>\n<function=now>\n</function>\n</tool_call>", `now{}`},
	{"llama", Llama, `{"name": "f", "parameters": {"a": 1}}; {"name": "now", "parameters": {}}`, `f{"a": 1} now{}`},
	{"llama tag", Llama, `<|python_tag|>{"type": "function", "name": "f", "parameters": {"a": "1"}}<|eom_id|>`, `f{"a": "1"}`},
	{"llama function tag", Llama, `<function=f>{"a": 1}</function>`, `f{"a": 1}`},
	{"pythonic", Pythonic, `[read_file(path="a b.txt", lines=[1, 2], all=True, limit=None), now()]`, `read_file{"path":"a b.txt","lines":[1, 2],"all":true,"limit":null} now{}`},
	{"pythonic strings", Pythonic, `[write_file(path='it\'s', text="""a "b"` + "\n" + `c""")]`, `write_file{"path":"it's","text":"a \"b\"\nc"}`},
	{"llama 4", Pythonic, "<|python_start|>[f(a=1), f(a=2)]<|python_end|>", `f{"a":1} f{"a":2}`},
	{"olmo 3", Pythonic, "<function_calls>\nf(a=1)\nnow()\n</function_calls>", `f{"a":1} now{}`},
	{"lfm2", Pythonic, "<|tool_call_start|>[f(a=-1, s=\"(x)\")]<|tool_call_end|>", `f{"a":-1,"s":"(x)"}`},
	{"lfm2 with text", Pythonic, "Looking.<|tool_call_start|>[now()]<|tool_call_end|><|im_end|>", `Looking.|now{}`},
	{"pythonic positional", Pythonic, `<|tool_call_start|>[f(1)]<|tool_call_end|>`, `f!`},
	{"pythonic cut", Pythonic, `<|tool_call_start|>[write_file(path="a", text="hal`, `write_file!`},
	{"mistral old", Mistral, `[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "a1B2c3D4e"}, {"name": "now", "arguments": {}}]</s>`, `f{"a": 1} now{}`},
	{"mistral new", Mistral, `[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]now[ARGS]{}`, `f{"a": 1} now{}`},
	{"mistral id", Mistral, `[TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{"a": 1}`, `f{"a": 1}`},
	{"mistral no marks", Mistral, `Now.[TOOL_CALLS]f{"a": 1}`, `Now.|f{"a": 1}`},
	{"magistral", Mistral, `[THINK]Hm.[/THINK][TOOL_CALLS]now[ARGS]{}`, `(Hm.)now{}`},
	{"mistral cut", Mistral, `[TOOL_CALLS]write_file[ARGS]{"path": "a", "text": "b`, `write_file!`},
	{"deepseek v3", DeepSeek, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", `f{"a": 1} now{}`},
	{"deepseek v3.1", DeepSeek, "Thought.\n</think>\nSo.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `So.|(Thought.)f{"a": 1}`},
	{"deepseek no section", DeepSeek, "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>", `f{}`},
	{"deepseek v3.2", DeepSeek, "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"lines\" string=\"false\">[3]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `read_file{"path":"12","lines":[3]}`},
	{"glm", GLM, "<think>a</think>\n<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>12345678901234567890</arg_value>\n</tool_call>", `(a)read_file{"path":"a.txt","limit":12345678901234567890}`},
	{"glm 4.7", GLM, "<tool_call>f<arg_key>s</arg_key><arg_value>1</arg_value></tool_call><tool_call>now</tool_call>", `f{"s":"1"} now{}`},
	{"glm cut", GLM, "<tool_call>f<arg_key>s</arg_key><arg_value>1", `f!`},
	{"kimi k3", Kimi, "<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"read_file\" index=\"1\"<|sep|><|open|>argument key=\"path\" type=\"string\"<|sep|> é \n.txt<|close|>argument<|sep|><|open|>argument key=\"lines\" type=\"array\"<|sep|>[1, 2]<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool=\"now\" index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
		`I look.|(Hm.)read_file{"path":" é \n.txt","lines":[1, 2]} now{}`},
	{"kimi k3 without a word", Kimi, "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"number\"<|sep|>9007199254740993<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>", `f{"a":9007199254740993}`},
	{"kimi k3 says", Kimi, "<|open|>response<|sep|>Done.<|close|>response<|sep|><|close|>message<|sep|>", `Done.|`},
	{"kimi k3 cut", Kimi, "<|open|>tools<|sep|><|open|>call tool=\"write_file\" index=\"1\"<|sep|><|open|>argument key=\"text\" type=\"string\"<|sep|>hal", `write_file!`},
	{"ernie", Hermes, "<think>\nHm.\n</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n</response>", `(Hm.)f{"a": 1}`},
	{"kimi k2", Kimi, "Then.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", `Then.|f{"a": 1} now{}`},
	{"harmony", Harmony, "<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>", `(Need it.)f{"a": 1}`},
	{"harmony role", Harmony, "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{\"a\": 1} }<|call|>", `f{"a": 1}`},
	{"harmony preamble", Harmony, "<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant<|channel|>commentary to=functions.now<|message|>{}<|call|>", `I will look.|now{}`},
	{"harmony final", Harmony, "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>", `Done.|(Hm.)`},
	{"harmony cut", Harmony, "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1, \"s\": \"x", `f!`},
	{"harmony unknown", Harmony, "<|channel|>commentary to=functions.g <|message|>{}<|call|>", `({})`},
	{"granite 3", Granite, `<|tool_call|>[{"name": "f", "arguments": {"a": 1}}]`, `f{"a": 1}`},
	{"granite 4", Granite, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|end_of_text|>", `f{"a": 1}`},
	{"command-r", Command, "<|START_THINKING|>I will.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"a\": 1}}\n]<|END_ACTION|>", `(I will.)f{"a": 1}`},
	{"functiongemma", Gemma, "<start_function_call>call:read_file{path:<escape>a, {b}.txt<escape>,lines:[1,2],all:true}<end_function_call>", `read_file{"path":"a, {b}.txt","lines":[1,2],"all":true}`},
	{"gemma 4", Gemma, "<|channel>thought\nHm.<channel|><|tool_call>call:f{a:1,s:<|\"|>x<|\"|>}<tool_call|>", `(Hm.)f{"a":1,"s":"x"}`},
	{"gemma 3", Gemma, "```tool_code\nprint(f(a=1))\n```", `f{"a":1}`},
	{"gemma cut", Gemma, "<|tool_call>call:write_file{path:<|\"|>a<|\"|>,text:<|\"|>b", `write_file!`},
	{"minimax m2", MiniMax, "<think>a</think>\n<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.txt</parameter>\n<parameter name=\"all\">false</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>", `(a)read_file{"path":"a.txt","all":false} now{}`},
	{"minimax m1", MiniMax, "<tool_calls>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n{\"name\": \"now\", \"arguments\": {}}\n</tool_calls>", `f{"a": 1} now{}`},
	{"seed-oss", Seed, "<seed:think>a</seed:think><seed:tool_call>\n<function=f>\n<parameter=a>5</parameter>\n</function>\n</seed:tool_call>", `(a)f{"a":5}`},
	{"xlam", Wrapped, `[{"name": "f", "arguments": {"a": 1}}, {"name": "now", "arguments": {}}]`, `f{"a": 1} now{}`},
	{"jamba, hunyuan", Wrapped, "<tool_calls>\n[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]\n</tool_calls>", `f{"a": 1}`},
	{"internlm", Wrapped, "So.<|action_start|><|plugin|>\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}<|action_end|>", `So.|f{"a": 1}`},
	{"phi-4 mini", Wrapped, `functools[{"name": "f", "arguments": {"a": 1}}]`, `f{"a": 1}`},
	{"nemotron nano", Wrapped, `<TOOLCALL>[{"name": "f", "arguments": {"a": 1}}]</TOOLCALL>`, `f{"a": 1}`},
	{"step 3", Wrapped, "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"f\"><steptml:parameter name=\"a\">1</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>", `f{"a":1}`},
	{"deepseek v4", DeepSeek, "Hm.</think>Reading.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"lines\" string=\"false\">[1, 2]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>", `Reading.|(Hm.)read_file{"path":"1","lines":[1, 2]}`},
	{"deepseek v4.1", DeepSeek, "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"false\">3</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"now\">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", `f{"a":3} now{}`},
	{"minimax m3", MiniMax, "<mm:think>a</mm:think>]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"read_file\">]<]minimax[>[<path>App <b>.vue]<]minimax[>[</path>]<]minimax[>[<lines>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[<item>2]<]minimax[>[</item>]<]minimax[>[</lines>]<]minimax[>[<where>]<]minimax[>[<k>v]<]minimax[>[</k>]<]minimax[>[</where>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
		`(a)read_file{"path":"App <b>.vue","lines":[1,2],"where":{"k":"v"}} now{}`},
	{"minimax m3 without its tokens", MiniMax, "<tool_call>\n<invoke name=\"read_file\"><path>a.txt</path><all>true</all></invoke>\n</tool_call>", `read_file{"path":"a.txt","all":true}`},
	{"minimax m3 cut", MiniMax, "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"write_file\">]<]minimax[>[<text>hal", `write_file!`},
	{"gigachat 3", Wrapped, "Now.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}</s>", `Now.|f{"a": 1}`},
	{"gigachat 3.1", Wrapped, "<|function_call|>{\"name\": \"f\", \"arguments\": {\"a\": 1}}<|message_sep|>", `f{"a": 1}`},
	{"minicpm5", Wrapped, "I read.<function name=\"read_file\"><param name=\"path\"><![CDATA[a</param>\nb]]></param><param name=\"all\">true</param></function><function name=\"now\"></function>", `I read.|read_file{"path":"a</param>\nb","all":true} now{}`},
	{"hunyuan 3", GLM, "<tool_calls><tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value><arg_key>s</arg_key><arg_value>2</arg_value></tool_call>\n<tool_call>now<tool_sep></tool_call></tool_calls>", `f{"a":1,"s":"2"} now{}`},
	{"hunyuan 4", GLM, "Hm.</think:opensource><tool_calls:opensource><tool_call:opensource>f<arg_key:opensource>a</arg_key:opensource><arg_value:opensource>1</arg_value:opensource></tool_call:opensource><tool_call:opensource>now</tool_call:opensource></tool_calls:opensource>", `(Hm.)f{"a":1} now{}`},
	{"apertus", Wrapped, `<|tools_prefix|>[{"f": {"a": 1}}, {"now": {}}]<|tools_suffix|><|assistant_end|>`, `f{"a": 1} now{}`},
	{"glimmer", Wrapped, "I look.\n<atem:function_calls>\n<atem:invoke name=\"f\">\n<atem:parameter name=\"a\">1</atem:parameter>\n</atem:invoke>\n</atem:function_calls>", `I look.|f{"a":1}`},
	{"glimmer with headers", Wrapped, " to=self<|message|>Hm.<|eom|><|start|>assistant to=f<|message|><atem:function_calls>\n<atem:invoke name=\"f\">\n<atem:parameter name=\"a\">1</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>", `(Hm.)f{"a":1}`},
	{"glimmer answers", Wrapped, "<|start|>assistant to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Done.<|eot|>", `Done.|(Hm.)`},
	{"granite 20b", Granite, `<function_call> {"name": "f", "arguments": {"a": 1}}<|endoftext|>`, `f{"a": 1}`},
	{"longcat", Wrapped, "Let me.\n<longcat_tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</longcat_tool_call>", `Let me.|f{"a": 1}`},
	{"longcat keys", Wrapped, "<longcat_tool_call>f\n<longcat_arg_key>a</longcat_arg_key>\n<longcat_arg_value>1</longcat_arg_value>\n</longcat_tool_call>", `f{"a":1}`},
	{"iquest", GLM, "<iquest_tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></iquest_tool_call><iquest_tool_call>now</iquest_tool_call>", `f{"a":1} now{}`},
	{"laguna", GLM, "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>", `f{"a":1} now{}`},
	{"laguna half a pair", GLM, "<tool_call>f<arg_key>a</arg_key></tool_call><tool_call>now</tool_call>", `f! now{}`},
	{"glm forgets an end", GLM, "<tool_call>f<arg_key>s</arg_key><arg_value>x<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", `f!`},
	{"seed-oss keeps a last newline", Seed, "<seed:tool_call><function=write_file><parameter=path>a</parameter><parameter=text>b\n</parameter></function></seed:tool_call>", `write_file{"path":"a","text":"b\n"}`},
	{"gpt-oss recipient first", Harmony, " to=functions.f<|channel|>commentary json<|message|>{\"a\": 1}", `f{"a": 1}`},
	{"lfm2 says more", Pythonic, "<|tool_call_start|>[f(a=1)]<|tool_call_end|>\nChecking it.<|im_end|>", `Checking it.|f{"a":1}`},
	{"mistral closes", Mistral, `[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}][/TOOL_CALLS]`, `f{"a": 1}`},
	{"mistral says more", Mistral, `Before.[TOOL_CALLS]f[ARGS]{"a": 1} After.`, "Before.\nAfter.|f{\"a\": 1}"},
	{"gemma 4 closes twice", Gemma, "<|tool_call>call:f{a:1}<tool_call|><tool_call|>", `f{"a":1}`},
	{"cohere forgets a comma", Command, "<|START_ACTION|>[{\"tool_name\": \"f\", \"parameters\": {\"a\": 1}}{\"tool_name\": \"now\", \"parameters\": {}}]<|END_ACTION|>", `f{"a": 1} now{}`},
	{"cohere answers", Command, "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Done.<|END_RESPONSE|>", `Done.|(Hm.)`},
	{"kimi never closes its thought", Kimi, "<think>Hm. <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>", `(Hm.)f{"a": 1}`},
	{"object below a sentence", Unknown, "Sure, I'll list the files.\n{\"name\": \"now\", \"arguments\": {}}", `Sure, I'll list the files.|now{}`},
	{"fence below a sentence", Unknown, "I will read the file first.\n\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n```\n", `I will read the file first.|read_file{"path": "a.txt"}`},
	{"objects below a sentence", Unknown, "Both:\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n{\"type\": \"function\", \"function\": {\"name\": \"now\", \"arguments\": {}}}", `Both:|f{"a": 1} now{}`},
	{"object below a sentence, cut", Unknown, "I write it.\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\", \"text\": \"hal", `I write it.|write_file!`},
	{"object after a thought", Unknown, "<think>Hm.</think>\n\n{\"arguments\": {\"a\": 1}, \"name\": \"f\"}", `(Hm.)f{"a": 1}`},
	{"lenient", Hermes, "<tool_call>{'name': 'write_file', 'arguments': {'path': 'a', /* b */ text: \"x\ny\\d\", },}</tool_call>", `write_file{"path":"a","text":"x\ny\\d"}`},
	{"openai object", Unknown, `{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}`, `f{"a":1}`},
	{"prose", Unknown, "Use <tool_call> or `<function=f>`:\n\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```\nThat is all. ", "Use <tool_call> or `<function=f>`:\n\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```\nThat is all. |"},
	{"json answer", Unknown, `{"verdict": "ok", "name": "f", "arguments": {}}`, `{"verdict": "ok", "name": "f", "arguments": {}}|`},
	{"space around", Unknown, "\n\n Hello. \n", "\n\n Hello. \n|"},
}

func TestFamilies(t *testing.T) {
	for _, c := range samples {
		f := Read(c.in, Options{Family: c.family, Offered: offered})
		if got := show(f); got != c.want {
			t.Errorf("%s: %s\nwant %s\nnotes %q, doubt %q", c.label, got, c.want, f.Notes, f.UnreadCall)
		}
	}
}

// The family is only a hint: no sample needs it.
func TestFamiliesUnknown(t *testing.T) {
	for _, c := range samples {
		if f := Read(c.in, Options{Offered: offered}); show(f) != c.want {
			t.Errorf("%s: %s\nwant %s", c.label, show(f), c.want)
		}
	}
}

// Every call of every sample, cut anywhere, is whole or Malformed; no call
// has arguments that the whole sample's calls do not have.
func TestCutAnywhere(t *testing.T) {
	for _, c := range samples {
		whole := map[string]bool{}
		for _, k := range Read(c.in, Options{Family: c.family, Offered: offered}).Calls {
			whole[k.Name+string(k.Args)] = true
		}
		for i := range len(c.in) {
			for _, k := range Read(c.in[:i], Options{Family: c.family, Offered: offered, Cut: true}).Calls {
				if k.Malformed == "" && !whole[k.Name+string(k.Args)] {
					t.Errorf("%s, cut to %q: %s%s", c.label, c.in[:i], k.Name, k.Args)
				}
			}
		}
	}
}

// shown feeds the chunks to a Reader and renders all that it reports.
func shown(o Options, chunks ...string) string {
	r := New(o)
	var text, thinking strings.Builder
	for _, c := range chunks {
		d := r.Write(c)
		text.WriteString(d.Text)
		thinking.WriteString(d.Thinking)
	}
	f, d := r.Close(false)
	return show(f) + "\nshown: " + text.String() + d.Text + "\nthought: " + thinking.String() + d.Thinking
}

func TestEverySplit(t *testing.T) {
	for _, c := range samples {
		o := Options{Family: c.family, Offered: offered}
		want := shown(o, c.in)
		if !strings.HasPrefix(want, c.want+"\n") {
			t.Errorf("%s: read in pieces it is %s", c.label, want)
		}
		for i := range len(c.in) + 1 {
			if got := shown(o, c.in[:i], c.in[i:]); got != want {
				t.Errorf("%s, split at %d: %s\nwant %s", c.label, i, got, want)
			}
		}
		if got := shown(o, strings.Split(c.in, "")...); got != want {
			t.Errorf("%s, by characters: %s\nwant %s", c.label, got, want)
		}
	}
}

// The deltas of an answer without thinking add up to its text.
func TestShownIsKept(t *testing.T) {
	for _, c := range samples {
		o := Options{Family: c.family, Offered: offered}
		if f := Read(c.in, o); f.Thinking == "" && !strings.Contains(shown(o, c.in), "\nshown: "+f.Text+"\nthought: ") {
			t.Errorf("%s: %s", c.label, shown(o, c.in))
		}
	}
}

// Prose is not held back because it names a tag.
func TestHoldsBackOnlyTags(t *testing.T) {
	r := New(Options{Offered: offered})
	var seen string
	for _, c := range []struct{ chunk, seen string }{
		{"Use <tool", "Use"},
		{"_call> tags", "Use"}, // until it is clear that this is no tool's name
		{" and a <", "Use <tool_call> tags and a"},
		{" b.", "Use <tool_call> tags and a < b."},
		{"\n<tool_call>", "Use <tool_call> tags and a < b."},
		{`{"name":"now"}`, "Use <tool_call> tags and a < b."},
	} {
		seen += r.Write(c.chunk).Text
		if seen != c.seen {
			t.Errorf("after %q: %q, want %q", c.chunk, seen, c.seen)
		}
	}
	if f, d := r.Close(false); d.Text != "" || show(f) != "Use <tool_call> tags and a < b.|now{}" {
		t.Errorf("%s, %+v", show(f), d)
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		template, name, architecture string
		want                         Family
	}{
		{"", "qwen3:8b", "qwen3", Hermes},
		{"", "qwen3-coder:30b", "qwen3moe", QwenCoder},
		{"", "hf.co/x/Kimi-K2-GGUF:Q4", "deepseek2", Kimi},
		{"{{ .Tools }}<tool_call>", "mine", "llama", Hermes},
		{"{{ .Tools }}[TOOL_CALLS]", "mine", "llama", Mistral},
		{"<tool_call><function=x></tool_call>", "mine", "", QwenCoder},
		{"{{ .Prompt }}", "llama3.2", "llama", Llama},
		{"", "gpt-oss:20b", "gptoss", Harmony},
		{"", "mine", "glm4moe", GLM},
		{"", "mine", "", Unknown},
	} {
		if got := Detect(c.template, c.name, c.architecture); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
