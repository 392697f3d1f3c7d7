// Drives an agent over stdio with the client library of the protocol's authors, and
// prints what it is sent: node client.mjs COMMAND [ARG...]
import { spawn } from "node:child_process";
import { basename } from "node:path";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [command, ...args] = process.argv.slice(2);
// The agent under test is a test binary, which knows by this name what it is.
const agent = spawn(command, args, { argv0: "adroit", stdio: ["pipe", "pipe", "inherit"] });
let loading = "";
let last = "";
let commands = []; // they may come at any time
const line = (...words) => {
  if (last) process.stdout.write("\n");
  last = "";
  console.log(loading + words.join(" "));
};
// piece joins the pieces of a text.
const piece = (kind, text) => {
  process.stdout.write((last === kind ? "" : "\n" + loading + kind + " ") + text);
  last = kind;
};

const show = (update) => {
  switch (update.sessionUpdate) {
    case "user_message_chunk": return line("user", update.content.text);
    case "agent_message_chunk": return piece("message", update.content.text);
    case "agent_thought_chunk": return piece("thought", update.content.text);
    case "available_commands_update": commands = update.availableCommands; return;
    case "plan": return line("plan", update.entries.map((e) => `${e.content} ${e.status} ${e.priority}`).join(", "));
    case "tool_call": return line("call", update.title, update.kind, update.status);
    case "tool_call_update":
      line("update", update.title ?? "", update.status);
      for (const c of update.content ?? []) {
        if (c.type === "diff") line("diff", basename(c.path), c.oldText.trim(), "to", c.newText.trim());
      }
  }
};

const app = client({ name: "peer" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    line("asked", params.toolCall.title + ":", params.options.map((o) => o.kind).join(","));
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } };
  })
  .onNotification(methods.client.session.update, ({ params }) => show(params.update));

await app.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (ctx) => {
  const hello = await ctx.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  line("version", hello.protocolVersion, "load", hello.agentCapabilities.loadSession);
  const cwd = process.cwd();
  const s = await ctx.request(methods.agent.session.new, { cwd, mcpServers: [{ name: "Notes", command: process.env.NOTES_MCP, args: [], env: [{ name: "NOTES_TEXT", value: "the editor" }] }] });
  line("modes", s.modes.availableModes.map((m) => m.id).join(","), "current", s.modes.currentModeId);
  for (const text of ["change it", "and again"]) {
    const r = await ctx.request(methods.agent.session.prompt, { sessionId: s.sessionId, prompt: [{ type: "text", text }] });
    line("stop", r.stopReason);
  }
  const list = await ctx.request(methods.agent.session.list, { cwd });
  line("sessions", list.sessions.length);
  line("commands", commands.map((c) => `/${c.name} ${c.description}`).join(", "));
  loading = "loaded ";
  await ctx.request(methods.agent.session.load, { sessionId: s.sessionId, cwd, mcpServers: [] });
  loading = "";
  await ctx.request(methods.agent.session.close, { sessionId: s.sessionId });
  line("closed");
});
agent.stdin.end();
