// Reads flowcharts with Mermaid's own parser and prints of each how many nodes,
// boxes and edges it has and which of its nodes would do something when clicked.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const from = createRequire(process.env.MERMAID + '/');
const { JSDOM } = from('jsdom');
const dom = new JSDOM('<!doctype html><body></body>');
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const { default: mermaid } = await import(pathToFileURL(process.env.MERMAID + '/node_modules/mermaid/dist/mermaid.core.mjs'));
let code = 0;
for (const file of process.argv.slice(2)) {
  try {
    const text = readFileSync(file, 'utf8');
    await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    const nodes = [...db.getVertices().values()];
    const boxes = db.getSubGraphs();
    const clicks = nodes.filter((n) => n.link || n.haveCallback).length;
    console.log(nodes.length, boxes.length, db.getEdges().length, clicks);
  } catch (e) {
    code = 1;
    console.log('error', String(e.message).split('\n').slice(0, 4).join(' | '));
  }
}
process.exit(code);
