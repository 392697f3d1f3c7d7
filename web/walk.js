// The walk of a browser through the page, for TestPage of cmd/adroit, which starts the server, stops it and
// looks at the files. A line on standard output asks it for something; it answers with a line.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import assert from "node:assert/strict";

const [installed, link, repo, model] = process.argv.slice(2);
const require = createRequire(installed + "/package.json");
const { chromium } = require("playwright-core");
const { AxeBuilder } = require("@axe-core/playwright");

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async (what) => { console.log(what); return JSON.parse((await lines.next()).value); };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.setDefaultTimeout(60_000);
const faults = [], foreign = [];
const origin = new URL(link).origin;
let gone = false; // the server, so that requests fail
page.on("pageerror", (e) => faults.push(e.message));
page.on("console", (m) => { if (m.type() === "error" && !gone && !/ERR_(CONNECTION|INCOMPLETE)|Failed to load resource/.test(m.text())) faults.push(m.text()); });
page.on("request", (r) => { if (!r.url().startsWith(origin) && !r.url().startsWith("blob:")) foreign.push(r.url()); });

// look checks what is on the screen: nothing hides to the right, and axe finds nothing.
let looks = 0;
async function look(what) {
  for (const [width, height, scheme] of looks % 4 ? [[1280, 800, "light"], [390, 844, "dark"]] : [[1280, 800, "dark"], [390, 844, "light"]]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.waitForTimeout(60);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(over, 0, `${what} at ${width} is ${over} pixels too wide`);
    const found = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]).analyze();
    assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html + " " + (n.any[0]?.message ?? "")).join("; ")}`), [], `${what} at ${width}, ${scheme}`);
    looks++;
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}
const go = async (place) => { await page.goto(origin + "/#/" + place); };
const see = (text) => page.getByText(text).first().waitFor();
const tab = (name) => page.getByRole("tab", { name }).click();
const status = (text) => page.locator(".head .status", { hasText: text }).waitFor();

try {
  await page.goto(link);
  await page.waitForURL(origin + "/");
  await see("Nobody waits for you");
  assert.equal(await page.evaluate(() => document.cookie), "", "a script can read the cookie");
  await look("empty inbox");

  // Start from the form.
  await go("start");
  await page.getByLabel("Agent or pipeline").selectOption("hand");
  await page.getByLabel("What is to be done").fill("Greet in a.txt");
  await page.getByLabel("Model").fill("script:" + model);
  // What is refused is shown in the form, with what was entered, and no job is added.
  const refused = async (text) => {
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: text }).waitFor();
    assert.equal(await page.getByLabel("What is to be done").inputValue(), "Greet in a.txt");
    assert.match(page.url(), /#\/start$/);
  };
  await page.getByLabel("Directory").fill(repo + "/absent");
  await page.getByLabel("Directory").blur();
  await refused(/absent/);
  await look("refused start");
  await page.getByLabel("Directory").fill("");
  await page.getByLabel("Directory").pressSequentially(repo);
  await page.getByLabel("Agent or pipeline").selectOption("broken");
  await refused(/no_such_tool/);
  await page.getByLabel("Agent or pipeline").selectOption("hand");
  await page.getByText("Limits").click();
  await page.getByLabel("Cost in USD").fill("0.5");
  await refused(/price/);
  await page.getByLabel("Cost in USD").fill("");
  await page.getByText("Limits").click();
  await page.getByText("Limits").click();
  await page.getByLabel("Turns").fill("9");
  assert.equal(await page.locator(".copy code").innerText(), `adroit run hand 'Greet in a.txt' -C ${repo} -m script:${model} --max-turns 9`);
  await page.getByLabel("What is to be done").fill("-1 degree");
  assert.match(await page.locator(".copy code").innerText(), / --max-turns 9 -- '-1 degree'$/, "a prompt that begins with a dash is read as a flag");
  await page.getByLabel("What is to be done").fill("Greet in a.txt");
  await page.getByRole("button", { name: "Check" }).click();
  await see("What would run");
  await look("start");
  await page.getByRole("button", { name: "Start", exact: true }).click();

  // Watch it live, and answer by keyboard.
  await page.waitForURL(/#\/jobs\/J/);
  const job = page.url().split("/").pop();
  await status("waiting");
  await page.getByRole("link", { name: "Inbox" }).click();
  await see("May it run");
  assert.match(await page.locator(".ask .command").innerText(), /greet\.sh/);
  await see("Always adds the rule");
  await look("inbox");
  await page.locator("article.ask").focus();
  await page.keyboard.press("a");
  await see("answered with approve by owner");
  await see("Nobody waits for you");
  await go("jobs/" + job);
  await status("running");
  await page.locator(".step.running", { hasText: "shell" }).waitFor();
  await look("running job");
  await ask("gate go");
  await status("done");
  await see("Why it is done");
  assert.equal(await page.locator("main img, main a[href^=javascript], main script").count(), 0, "words of a model became elements");
  await see("\\u{202e}hidden");
  await page.locator(".step.tool", { hasText: "shell" }).locator("summary").first().click();
  await page.locator(".term .ansi-green", { hasText: "ready" }).waitFor();
  await look("job");
  await tab("Waterfall");
  await page.locator(".bar.wait").first().waitFor();
  await look("waterfall");
  await tab("Graph");
  await page.locator(".graph svg .node").first().waitFor();
  await look("graph");

  // See the diff, and undo after a look at it.
  await tab("Changes");
  await page.locator(".diff .added", { hasText: "Good day" }).first().waitFor();
  assert.equal(await ask("read a.txt"), "Good day");
  const changed = (name) => page.locator(".diff", { hasText: name }).first();
  assert.match(await changed("sound.bin").innerText(), /new file, binary/);
  assert.equal(await changed("sound.bin").locator("tr").count(), 0, "a binary patch is shown as text");
  await changed("long.txt").getByRole("button", { name: "Show all 3000 lines" }).click();
  assert.equal(await changed("long.txt").locator("tr").count(), 3000);
  await page.getByRole("button", { name: "Undo all…" }).click();
  await see("Undo takes back");
  await look("undo");
  await page.locator(".undo").getByRole("button", { name: /^Undo \d/ }).click();
  await see("Undone.");
  assert.equal(await ask("read a.txt"), "Hello");
  await tab("Artifacts");

  // Lose the server and come back.
  await go("jobs");
  await look("jobs");
  await page.getByRole("link", { name: "Greet in a.txt" }).first().click();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.waitForURL((u) => /#\/jobs\/J/.test(u.hash) && !u.hash.endsWith(job));
  await ask("gate shut");
  await page.getByRole("button", { name: /Deny…/ }).click();
  await page.getByLabel("Why not, and what instead").fill("not now");
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByRole("button", { name: /Allow once/ }).click();
  await page.locator(".step.running", { hasText: "shell" }).waitFor();
  gone = true;
  await ask("kill");
  await see("Offline.");
  await look("offline");
  await ask("gate go");
  await ask("serve");
  await see("The server is back.");
  gone = false;
  await status("interrupted");
  const cut = page.url();
  await go("inbox");
  await see("One job was interrupted");
  await look("interrupted");
  await page.getByRole("button", { name: "Go on with it" }).click();
  await page.goto(cut);
  await status("done");
  const paths = await page.locator(".step").evaluateAll((all) => all.map((s) => s.id));
  assert.equal(new Set(paths).size, paths.length, "a step is there twice");

  // A pipeline: its graph as declared, an answer in words.
  await go("start/tidy");
  await page.getByLabel("Directory").pressSequentially(repo);
  await page.getByLabel("What is to be done").fill("tidy up");
  await page.getByText("a_word").waitFor();
  const input = page.getByLabel("level"), line = () => page.locator(".copy code").innerText();
  for (const [typed, printed] of [["1.05", "1.05"], ["12345678901234567890", "12345678901234567890"], ["@a.txt", "'level=\\@a.txt'"], ["-", "'level=\\-'"], ["", ""]]) {
    await input.fill("");
    await input.pressSequentially(typed);
    assert.equal(await input.inputValue(), typed, "what is typed does not stay");
    assert.ok((await line()).endsWith(typed ? `-i ${printed.includes("level") ? printed : "level=" + printed}` : repo), `${typed}: ${await line()}`);
  }
  await look("inputs");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await status("waiting");
  await tab("Graph");
  await page.getByRole("button", { name: "As declared" }).click();
  await page.locator(".graph .node.wait").first().waitFor();
  await look("pipeline");
  await page.getByLabel("Answer").fill("yes");
  await page.getByRole("button", { name: "go", exact: true }).click();
  await status("done");
  await tab("Steps");
  await page.locator(".step.await > summary").click();
  await see("was answered with go by owner: yes");

  // Build a pipeline by keyboard: a fault is seen where it is, mended, and the file is written as it is shown.
  await page.getByRole("link", { name: "Open in the builder" }).click();
  await page.locator(".order li", { hasText: "look" }).first().waitFor();
  await see("From user; saving writes a copy");
  await go("builder");
  await page.getByLabel("Directory").fill(repo);
  await page.getByLabel("Name").fill("made");
  await look("builder, to choose");
  await page.keyboard.press("Enter");
  const order = page.getByRole("listbox"), keys = async (...all) => { for (const k of all) await page.keyboard.press(k); };
  const file = page.getByLabel("The file as text"), chosen = () => page.locator('.order [aria-selected="true"] b').innerText();
  await see("Not in the project yet");
  await order.focus();
  await keys("ArrowDown", "a");
  assert.equal(await chosen(), "step");
  await keys("Enter"); // the id of the step
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("greet");
  await keys("Enter", "Tab", "Tab");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("echo made > made.txt");
  await page.getByLabel(/^Needs/).focus();
  await page.keyboard.type("chek");
  await keys("Tab");
  await page.locator(".field", { hasText: "Needs" }).locator(".fault", { hasText: "there is no step chek" }).waitFor();
  assert.equal(await page.getByLabel(/^Needs/).getAttribute("aria-invalid"), "true");
  await page.locator(".order .bad", { hasText: "1 fault" }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Run…" }).isDisabled(), "a pipeline with a fault can be run");
  await look("builder with a fault");
  await page.getByLabel(/^Needs/).focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("check");
  await keys("Tab");
  await see("No fault");
  await order.focus();
  await keys("Alt+ArrowUp"); // before what it needs, and back
  assert.match(await file.inputValue(), /greet[^]*id: check/);
  await keys("Control+z");
  assert.match(await file.inputValue(), /id: check[^]*greet/);
  await keys("Control+Shift+z", "Control+z", "ArrowUp", "c", "Delete");
  assert.deepEqual(await page.locator(".order b").allInnerTexts(), ["Pipeline", "check", "greet"]);
  await file.focus(); // what is typed as text is one document with the form
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# typed, and kept\n");
  await page.locator(".order li", { hasText: "check" }).first().click();
  await page.getByLabel(/^Command/).fill("true");
  await page.getByLabel(/^Command/).blur();
  assert.match(await file.inputValue(), /^# typed, and kept\nname: made\n[^]*run: "true"\n/);
  await page.getByRole("button", { name: "Graph" }).click();
  await page.locator(".node", { hasText: "greet" }).focus();
  await keys("Enter");
  assert.equal(await chosen(), "greet");
  await look("builder, graph");
  await page.getByRole("button", { name: "Text" }).click();
  await page.keyboard.press("Control+s");
  await see("Saved and trusted.");
  assert.equal(await ask("read .adroit/pipelines/made.yaml"), (await file.inputValue()).trim());

  // Somebody else writes meanwhile: nothing is lost, and there is a choice.
  await ask("write .adroit/pipelines/made.yaml");
  await page.getByLabel(/^Command/).fill("echo mine > made.txt");
  await page.keyboard.press("Control+s");
  await see("Somebody else has changed the file");
  assert.match(await ask("read .adroit/pipelines/made.yaml"), /theirs/);
  await look("builder, changed behind it");
  await page.getByRole("button", { name: "Take theirs" }).click();
  await page.locator(".order li", { hasText: "theirs" }).first().waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  assert.match(await file.inputValue(), /echo mine/);
  await ask("write .adroit/pipelines/made.yaml");
  await page.keyboard.press("Control+s");
  await see("Saved and trusted.");

  // Run it from there, and open the run.
  await page.getByRole("button", { name: "Run…" }).click();
  await page.getByLabel("What is to be done").fill("make it");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/jobs\/J/);
  const made = page.url().split("/").pop();
  const asks = page.getByRole("button", { name: /Allow once/ });
  for (let done = page.locator(".head .status.good"), n = 0; n < 5; n++) {
    await asks.or(done).first().waitFor();
    if (await done.count()) break;
    await asks.first().click({ timeout: 2000 }).catch(() => {}); // answered, and on its way out
  }
  await status("done");
  assert.equal(await ask("read made.txt"), "mine");
  await page.getByRole("link", { name: "Open in the builder" }).click();
  await page.locator(".order li", { hasText: "greet" }).first().waitFor();

  await go("compare/" + job + "/" + made);
  await page.locator(".compared").waitFor();
  await look("compare");
  await go("costs");
  await see("By agent");
  await look("costs");
  await go("talk");
  await see("Ask about a project");
  await look("talk");

  // A browser with a narrow token is let in by it, and offered what it may do.
  const secret = await ask("token answer");
  await context.clearCookies();
  await page.goto("about:blank");
  await page.goto(origin + "/");
  await page.getByLabel("Or enter a token").fill("wrong");
  await page.getByRole("button", { name: "Go on" }).click();
  await see("Refused:");
  await page.getByLabel("Or enter a token").fill(secret);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.locator(".token", { hasText: "phone" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Start", exact: true }).count(), 0, "a token that may only answer is offered to start jobs");
  await go("jobs/" + job);
  await status("done");
  assert.equal(await page.getByRole("button", { name: "Retry" }).count(), 0, "a token that may only answer is offered to retry");
  await look("narrow token");
  assert.deepEqual(faults.filter((f) => !/401/.test(f)), []);
  assert.deepEqual(foreign, [], "the page asked another server");
  console.log(`done ${looks}`);
} catch (e) {
  console.log("failed " + JSON.stringify(`${e.stack}\n${faults.join("\n")}\n${page.url()}\n${await page.locator("main").innerText().catch(() => "")}`));
}
await browser.close();
process.exit(0);
