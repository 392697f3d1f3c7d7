// Drives adroit with the client library of the protocol's authors, and answers what it asks late, twice and
// with what was not offered, for TestACPAnswers: node answers.mjs INSTALLED COMMAND [ARG...]
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [installed, command, ...args] = process.argv.slice(2);
const { PROTOCOL_VERSION, client, methods, ndJsonStream } = await import(pathToFileURL(createRequire(installed + "/package.json").resolve("@agentclientprotocol/sdk")));
const agent = spawn(command, args, { argv0: "adroit", stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

let asked; // the id of the last question, which the library keeps to itself
createInterface({ input: agent.stdout }).on("line", (l) => { const m = JSON.parse(l); if (m.method === "session/request_permission") asked = m.id; });

let n = 0;
const app = client({ name: "peer" })
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    const option = (kind) => params.options.find((o) => o.kind === kind).optionId, selected = (optionId) => ({ outcome: { outcome: "selected", optionId } });
    switch (++n) {
      case 1: // somebody else answers first
        console.log("asked");
        await lines.next();
        return selected(option("allow_once"));
      case 2: { // no, and then yes to the same question
        const id = asked;
        setTimeout(() => agent.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, result: selected(option("allow_once")) }) + "\n"), 50);
        return selected(option("reject_once"));
      }
      default:
        return selected("all-of-it");
    }
  })
  .onNotification(methods.client.session.update, () => {});

await app.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (ctx) => {
  await ctx.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  const s = await ctx.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  console.log("stop", await ctx.request(methods.agent.session.prompt, { sessionId: s.sessionId, prompt: [{ type: "text", text: "begin" }] }).then((r) => r.stopReason, (e) => "refused " + e.message + " " + JSON.stringify(e.data ?? "")));
  console.log("questions", n);
});
agent.stdin.end();
process.exit(0);
