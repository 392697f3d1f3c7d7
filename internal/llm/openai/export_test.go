package openai

const FormatStrict = formatStrict

var Dialects = dialects
