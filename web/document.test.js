// Random edits as the form makes them, on pipelines with comments, for TestBuilderDocument of cmd/adroit: no comment is
// lost, the order stays, and the text parses to what the form shows. Arguments: the compiled document.ts, seed and rounds.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [file, seed, rounds] = process.argv.slice(2);
const d = await import(pathToFileURL(file));
const { parse } = createRequire(file)("yaml");
let state = Number(seed) >>> 0;
const random = (n) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor((state / 2 ** 32) * n); };
const pick = (list) => list[random(list.length)];

const texts = [
  `# ship: head\nname: ship # of it\n\n# what for\ndescription: "Plan, build" # quoted\nlimits: {time: 4h, tokens: 100} # flow\nsteps:\n  # first\n  - id: plan # an id\n    # who\n    agent: planner\n    input: |\n      Plan # no comment\n      {{input}}\n    # the variable\n    output: plan\n\n  # second\n  - id: build\n    run: go build ./... # all\n    needs: [plan] # after\n    retries: {attempts: 1, backoff: 10s}\n    # last of build\n\n  - id: both\n    # at once\n    parallel:\n      # left\n      - {id: left, run: "true"} # flow too\n      - id: right\n        run: "false" # fails\n    onFailure: plan # back\n    max: 3\n  # end of the list\n# end of the file\n`,
  `steps:\n- id: a # one\n  # why\n  when: {step: b, is: done}\n  await: {signal: go, question: "Go on, {{steps.b.output}}?"}\n- id: b\n  tool: read_file\n  args:\n    # which\n    path: a.txt # this\n    lines: 3\n# after all\nname: tail # late\n`,
];
const fields = ["name", "output", "timeout", "max", "onSuccess", "input", "run", "needs", "retries", "worktree"];
const values = { max: [3, 7], needs: [["a"], ["plan", "left"], ["plan"]], worktree: [true], retries: [2], run: ["make", "make\nmake test", "echo '# x'"], input: ["a: b # c", "two\nlines\n"], timeout: ["10m"], name: ["Plan: it", "#1"], output: ["x"], onSuccess: ["end"] };
const bag = (list) => list.reduce((m, x) => m.set(x, (m.get(x) ?? 0) + 1), new Map());
const holds = (all, part, why) => { const has = bag(all); for (const [c, n] of bag(part)) assert.ok((has.get(c) ?? 0) >= n, `${why}: the comment "${c}" is lost`); };
const less = (all, gone) => { const left = [...all]; for (const g of gone) { const i = left.indexOf(g); if (i >= 0) left.splice(i, 1); } return left; };

let edits = 0;
for (let round = 0; round < Number(rounds); round++) {
  let text = pick(texts);
  for (let n = 0; n < 25; n++) {
    const before = d.comments(text), items = d.items(d.read(text)), was = text, ids = items.map((i) => i.id);
    const item = items.length ? pick(items) : undefined, what = item ? pick(["set", "set", "set", "unset", "top", "kind", "add", "copy", "remove", "move", "rename", "yaml"]) : "add";
    const trace = () => `seed ${seed}, round ${round}, edit ${n}: ${what} ${item?.key}\n${was}\n--- becomes\n${text}`;
    let expected = before;
    try {
      if (what === "set") {
        const f = pick(fields), v = pick(values[f]);
        text = d.set(text, [...item.path, f], v);
        assert.deepEqual(d.items(d.read(text)).find((i) => i.key === item.key).map.toJS(d.read(text).doc)[f], v, "the value");
        assert.deepEqual(d.items(d.read(text)).map((i) => i.id).slice(0, ids.indexOf(item.id) + 1), ids.slice(0, ids.indexOf(item.id) + 1), "the order");
        const keys = Object.keys(item.map.toJSON()), now = Object.keys(d.items(d.read(text)).find((i) => i.key === item.key).map.toJSON());
        assert.deepEqual(now.filter((k) => keys.includes(k)), keys, "the order of fields");
        const shown = d.value(d.read(text), [...item.path, f]);
        assert.equal(shown.value, Array.isArray(v) ? v.join(", ") : String(v), "what the form shows");
      } else if (what === "unset") {
        const f = pick(fields);
        text = d.set(text, [...item.path, f], undefined);
        assert.equal(d.value(d.read(text), [...item.path, f]).as, "none");
      } else if (what === "top") {
        text = d.set(text, ["description"], pick(["One: two", "x"]));
        text = d.set(text, ["defaults", "model"], pick(["cheap", undefined]));
      } else if (what === "kind") {
        const k = pick(d.kinds);
        text = d.setKind(text, item.path, k);
        assert.equal(d.items(d.read(text)).find((i) => i.key === item.key).kind, k);
      } else if (what === "add") {
        const [t, at] = d.add(text, item?.path);
        text = t;
        assert.equal(d.items(d.read(text)).find((i) => i.key === at.join("."))?.kind, "run");
      } else if (what === "copy") text = d.copy(text, item.path)[0];
      else if (what === "remove") {
        text = d.remove(text, item.path);
        expected = less(before, d.within(d.read(was), item.path));
        const gone = items.filter((i) => i.key === item.key || i.key.startsWith(item.key + ".")).map((i) => i.id);
        assert.deepEqual(d.items(d.read(text)).map((i) => i.id), less(ids, gone), "the rest");
      } else if (what === "move") {
        const [t, at] = d.move(text, item.path, pick([-1, 1]));
        text = t;
        assert.equal(d.items(d.read(text)).find((i) => i.key === at.join(".")).id, item.id);
        assert.deepEqual(d.items(d.read(text)).map((i) => i.id).sort(), [...ids].sort());
      } else if (what === "rename") {
        text = d.rename(text, item.path, d.freeID(d.read(text), "renamed"));
        if (bag(ids).get(item.id) === 1) assert.ok(!new RegExp(`(needs: .*[\\[ ]|on(Success|Failure): |step: |\\{\\{steps\\.)${item.id}[\\s,.\\]}]`).test(text), "a name of before");
      } else if (what === "yaml") {
        text = d.setYAML(text, [...item.path, "limits"], "# kept\nturns: 3 # too\n");
        if (!item.path.includes("parallel")) holds(d.comments(text), ["kept", "too"], "of a fragment");
      }
      assert.equal(d.read(text).fault, undefined, "it cannot be read");
      holds(d.comments(text), expected, what);
      assert.deepEqual(parse(text), d.read(text).doc.toJS());
      assert.equal(d.set(text, ["name"], parse(text).name || undefined), d.set(d.set(text, ["name"], parse(text).name || undefined), ["name"], parse(text).name || undefined), "an edit that changes nothing settles");
    } catch (e) {
      console.error(`${e.message}\n${trace()}`);
      process.exit(1);
    }
    edits++;
  }
}
console.log(`${edits} edits`);
