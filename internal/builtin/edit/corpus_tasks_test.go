package edit_test

import (
	"strings"
	"unicode/utf16"
)

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func latin1(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

func utf16le(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

const basket = `package shop

import "fmt"

// A Line is one position of a basket.
type Line struct {
	Name  string
	Cents int
	Count int
}

// Total is what the basket costs, in cents.
func Total(lines []Line) int {
	sum := 0
	for _, l := range lines {
		if l.Count < 0 {
			continue
		}
		sum += l.Cents
	}
	return sum
}

func Print(lines []Line) {
	for _, l := range lines {
		fmt.Printf("%s\t%d\n", l.Name, l.Cents)
	}
}
`

const fetch = `import time


class Fetcher:
    """Fetches pages, politely."""

    def __init__(self, pause=1.0, tries=3):
        self.pause = pause
        self.tries = tries

    def fetch(self, url):
        last = None
        for n in range(self.tries):
            try:
                return self.get(url)
            except OSError as err:
                last = err
                time.sleep(self.pause)
        raise last

    def get(self, url):
        with open(url) as f:
            return f.read()
`

const queue = `'use strict';

class Queue {
  constructor(limit) {
    this.limit = limit;
    this.items = [];
  }

  push(item) {
    if (this.items.length >= this.limit) {
      throw new Error('queue is full');
    }
    this.items.push(item);
    return this.items.length;
  }

  // Takes the oldest item.
  shift() {
    return this.items.shift();
  }
}

module.exports = { Queue };
`

const deploy = `name: deploy
on:
  push:
    branches: [main]
jobs:
  build:
    runs-on: linux
    steps:
      - uses: checkout
      - name: test
        run: make test
      - name: build
        run: make build
  publish:
    needs: build
    runs-on: linux
    steps:
      - name: upload
        run: make upload
`

const guide = "# Guide\n\nHe said \u201cit\u2019s done\u201d \u2014 and it was.\n\n## Install\n\nRun the installer:\n\n    ./install.sh --all\n\nThen read \u201cFirst steps\u201d below.\n\n## First steps\n\nType help.\n"

const page = `<html>
  <head>
    <title>Shop</title>
  </head>
  <body>
    <ul class="menu">
      <li><a href="/">Home</a></li>
      <li><a href="/basket">Basket</a></li>
    </ul>
    <p>Welcome.</p>
  </body>
</html>
`

const clamp = `#include <stdio.h>

static int clamp(int v, int lo, int hi)
{
	if (v < lo)
		return lo;
	if (v > hi)
		return hi;
	return v;
}

int main(void)
{
	printf("%d\n", clamp(12, 0, 10));
	return 0;
}
`

const script = `#!/bin/sh
set -eu

build() {
	echo "building $1"
	make -C "$1" all
	make -C "$1" check
}

for d in core tools docs; do
	build "$d"
done
`

const menu = "Caf\u00e9 de la gare\n\nPlat du jour:\n  b\u0153uf\n"

const carte = "Caf\u00e9 de la gare\nPlats:\n\tth\u00e9 noir, 3 euros\n\tcr\u00eape, 5 euros\n\tg\u00e2teau, 4 euros\nMerci\n"

// corpus are changes of the size models make.
var corpus = []task{
	{name: "go, a line in a loop", path: "basket.go", text: basket,
		old: "\tfor _, l := range lines {\n\t\tif l.Count < 0 {\n\t\t\tcontinue\n\t\t}\n\t\tsum += l.Cents\n\t}\n",
		new: "\tfor _, l := range lines {\n\t\tif l.Count < 0 {\n\t\t\tcontinue\n\t\t}\n\t\tsum += l.Cents * l.Count\n\t}\n"},
	{name: "go, lines added", path: "basket.go", text: basket,
		old: "\tsum := 0\n\tfor _, l := range lines {\n\t\tif l.Count < 0 {\n",
		new: "\tsum := 0\n\tseen := map[string]bool{}\n\tfor _, l := range lines {\n\t\tif seen[l.Name] {\n\t\t\tcontinue\n\t\t}\n\t\tseen[l.Name] = true\n\t\tif l.Count < 0 {\n"},
	{name: "go, a string with escapes", path: "basket.go", text: basket,
		old: "\t\tfmt.Printf(\"%s\\t%d\\n\", l.Name, l.Cents)\n\t}\n}\n",
		new: "\t\tfmt.Printf(\"%d\\t%s\\n\", l.Cents, l.Name)\n\t}\n}\n"},
	{name: "python, a method", path: "fetch.py", text: fetch,
		old: "            except OSError as err:\n                last = err\n                time.sleep(self.pause)\n        raise last\n",
		new: "            except OSError as err:\n                last = err\n                if n + 1 < self.tries:\n                    time.sleep(self.pause * 2 ** n)\n        raise last\n"},
	{name: "python, lines taken out", path: "fetch.py", text: fetch,
		old: "        self.pause = pause\n        self.tries = tries\n\n    def fetch(self, url):\n        last = None\n",
		new: "        self.pause = pause\n\n    def fetch(self, url):\n        last = None\n"},
	{name: "javascript, a guard", path: "queue.js", text: queue,
		old: "    if (this.items.length >= this.limit) {\n      throw new Error('queue is full');\n    }\n    this.items.push(item);\n",
		new: "    if (this.items.length >= this.limit) {\n      throw new Error('the queue is full');\n    }\n    this.items.push(item);\n"},
	{name: "yaml, a step", path: "deploy.yaml", text: deploy,
		old: "      - name: test\n        run: make test\n      - name: build\n        run: make build\n",
		new: "      - name: lint\n        run: make lint\n      - name: test\n        run: make test\n      - name: build\n        run: make build -j4\n"},
	{name: "markdown, typographic marks", path: "guide.md", text: guide,
		old: "He said \u201cit\u2019s done\u201d \u2014 and it was.\n\n## Install\n\nRun the installer:\n",
		new: "He said \u201cit\u2019s done\u201d \u2014 and it was.\n\n## Setup\n\nRun the installer:\n"},
	{name: "html, an entry", path: "page.html", text: page,
		old: "      <li><a href=\"/\">Home</a></li>\n      <li><a href=\"/basket\">Basket</a></li>\n    </ul>\n",
		new: "      <li><a href=\"/\">Home</a></li>\n      <li><a href=\"/orders\">Orders</a></li>\n      <li><a href=\"/basket\">Basket</a></li>\n    </ul>\n"},
	{name: "c, CRLF", path: "clamp.c", text: clamp, spell: crlf,
		old: "\tif (v < lo)\n\t\treturn lo;\n\tif (v > hi)\n\t\treturn hi;\n\treturn v;\n",
		new: "\tif (v <= lo)\n\t\treturn lo;\n\tif (v > hi)\n\t\treturn hi;\n\treturn v;\n"},
	{name: "shell, BOM", path: "build.sh", text: script, spell: func(s string) string { return "\xef\xbb\xbf" + s },
		old: "\techo \"building $1\"\n\tmake -C \"$1\" all\n\tmake -C \"$1\" check\n",
		new: "\techo \"building $1\"\n\tmake -C \"$1\" clean\n\tmake -C \"$1\" check\n"},
	{name: "text, UTF-16", path: "menu.txt", text: menu, spell: utf16le,
		old: "\nPlat du jour:\n  b\u0153uf\n", new: "\nPlat du soir:\n  b\u0153uf\n"},
	{name: "text, Latin-1", path: "carte.txt", text: carte, spell: latin1,
		old: "\tth\u00e9 noir, 3 euros\n\tcr\u00eape, 5 euros\n\tg\u00e2teau, 4 euros\n",
		new: "\tth\u00e9 noir, 3 euros\n\tcr\u00eape, 6 euros\n\tg\u00e2teau, 4 euros\n"},
	{name: "javascript, no newline at the end", path: "queue.js", text: queue, spell: func(s string) string { return strings.TrimSuffix(s, "\n") },
		old: "  shift() {\n    return this.items.shift();\n  }\n",
		new: "  shift() {\n    return this.items.shift() ?? null;\n  }\n"},
}
