package schema

var GBNF = gbnf
