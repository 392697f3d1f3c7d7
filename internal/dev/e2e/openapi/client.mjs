// Checks the description of the interface with a validator that is not ours, makes a client of it with a
// generator that is not ours, and has that start a job and follow it.
//
//	node client.mjs URL TOKEN DIR MODEL
//
// It prints the id of the job, then the kind of each of its events.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Validator } from "@seriousme/openapi-schema-validator";
import { generateApi } from "swagger-typescript-api";

const [url, token, dir, model] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const spec = await (await fetch(`${url}/openapi.json`, { headers })).json();

const checked = await new Validator().validate(structuredClone(spec));
if (!checked.valid) throw new Error(`not valid: ${JSON.stringify(checked.errors, null, 1).slice(0, 4000)}`);

const work = await mkdtemp(join(tmpdir(), "openapi-"));
await generateApi({ fileName: "client.mjs", output: work, spec, toJS: true, httpClientType: "fetch", silent: true, cleanOutput: false }).then(async ({ files }) => {
  for (const f of files) if (f.fileExtension !== ".d.ts") await writeFile(join(work, "client.mjs"), f.fileContent);
});
const { Api } = await import(pathToFileURL(join(work, "client.mjs")));
const api = new Api({ baseUrl: url, baseApiParams: { headers, format: "json" } });

const submitted = await api.v1.jobsSubmit({ dir, prompt: "Write it.", target: "agent:hand", model }, { headers: { ...headers, "Idempotency-Key": "once" } });
const id = submitted.data.job.id;
console.log(id);
await api.v1.jobsStart({ job: id });
for (let after = 0, ended = false; !ended; ) {
  const { data } = await api.v1.jobsEvents({ job: id, after, wait: "20s" });
  for (const ev of data.events) console.log(ev.kind);
  after = data.last;
  ended = data.ended ?? false;
}
try {
  await api.v1.jobsShow({ job: "J0000000000000" });
} catch (res) {
  console.log(res.status, res.error.kind);
}
