// Drives `nrv mcp` with the official TypeScript SDKs: node client.mjs NRV WORKSPACE stdio|http [--sdk 1|2] [--era old|new]

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { sdk: { type: "string", default: "2" }, era: { type: "string", default: "old" } },
});
const [nrv, workspace, transportName] = [resolve(positionals[0]), resolve(positionals[1]), positionals[2]];
const isNew = flags.era === "new";
assert(["stdio", "http"].includes(transportName) && ["1", "2"].includes(flags.sdk), "usage: see the first line");
assert(["old", "new"].includes(flags.era) && !(isNew && flags.sdk === "1"), "SDK 1 speaks the old protocol only");

const v1 = "@modelcontextprotocol/sdk";
const v2 = "@modelcontextprotocol/client";
const load = async (one, two) => (flags.sdk === "1" ? import(`${v1}/${one}.js`) : import(two));
const { Client } = await load("client/index", v2);
const { StdioClientTransport } = await load("client/stdio", `${v2}/stdio`);
const { StreamableHTTPClientTransport } = await load("client/streamableHttp", v2);

const env = { ...process.env, NRV_TRUSTED_PATHS: "/" };
delete env.CI;

/** The hash of each file, without the records of runs. */
function tree() {
  const rows = readdirSync(workspace, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(workspace.length + 1))
    .filter((path) => !path.startsWith(".runs"));
  const hash = (path) => createHash("sha256").update(readFileSync(join(workspace, path))).digest("hex");
  return Object.fromEntries(rows.sort().map((path) => [path, hash(path)]));
}

function changed(before, after) {
  return Object.keys({ ...before, ...after }).filter((path) => before[path] !== after[path]).sort();
}

let step = "start";
async function check(name, work) {
  step = name;
  const value = await work();
  console.log(`ok ${name}`);
  return value;
}

/** The server that this script has started; none for stdio. */
let server;

async function serve(token) {
  const options = { cwd: workspace, env: { ...env, NRV_MCP_TOKEN: token }, stdio: ["ignore", "ignore", "pipe"] };
  server = spawn(nrv, ["mcp", "--http", "127.0.0.1:0"], options);
  for await (const line of createInterface({ input: server.stderr })) {
    const url = /Serving (http:\S+)/.exec(line)?.[1];
    if (url) {
      server.stderr.resume();
      return new URL(url);
    }
  }
  throw new Error("the server has not said where it serves");
}

async function transport() {
  if (transportName === "stdio") {
    return new StdioClientTransport({ command: nrv, args: ["mcp"], cwd: workspace, env, stderr: "ignore" });
  }
  const token = randomBytes(32).toString("hex");
  const url = await serve(token);
  const headers = { "content-type": "application/json", connection: "close" };
  const refused = await fetch(url, { method: "POST", body: "{}", headers });
  assert.equal(refused.status, 401, "a request without the token is refused");
  return new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
}

/** The questions of the server, and the answer to the next ones. */
const asked = [];
let answer = { action: "accept", content: { approve: true } };

async function connect() {
  const options = { capabilities: { elicitation: { form: {} } } };
  if (flags.sdk === "2") options.versionNegotiation = { mode: isNew ? "auto" : "legacy" };
  const client = new Client({ name: "nrv-test", version: "1" }, options);
  const handler = async (request) => {
    asked.push(request.params);
    return answer;
  };
  if (flags.sdk === "1") {
    const { ElicitRequestSchema } = await import(`${v1}/types.js`);
    client.setRequestHandler(ElicitRequestSchema, handler);
  } else {
    client.setRequestHandler("elicitation/create", handler);
  }
  const via = await transport();
  // SDK 1 tells the version to its transport alone.
  let version;
  const tell = via.setProtocolVersion?.bind(via);
  via.setProtocolVersion = (told) => {
    version = told;
    tell?.(told);
  };
  await client.connect(via);
  return { client, via, version: version ?? client.getNegotiatedProtocolVersion() };
}

async function drive() {
  const start = tree();
  const { client, via, version } = await check("connect", connect);
  console.log(`protocol ${version}`);
  assert.equal(version >= "2026-07-28", isNew, "the protocol is of the era");
  const pid = via.pid;

  const told = [];
  const call = (name, args) => {
    const steps = [];
    told.push({ name, steps });
    const options = { onprogress: ({ progress }) => steps.push(progress), timeout: 60_000 };
    const params = { name, arguments: args };
    return flags.sdk === "1" ? client.callTool(params, undefined, options) : client.callTool(params, options);
  };
  const good = (result) => {
    assert(!result.isError, JSON.stringify(result.content));
    return result.structuredContent;
  };

  if (!isNew) await check("ping", () => client.ping());
  await check("tools", async () => {
    const { tools } = await client.listTools();
    assert(tools.length > 10, `${tools.length} tools`);
    for (const tool of tools) {
      assert.equal(tool.inputSchema?.type, "object", `${tool.name}: input schema`);
      assert.equal(tool.outputSchema?.type, "object", `${tool.name}: output schema`);
      assert.equal(typeof tool.annotations?.readOnlyHint, "boolean", `${tool.name}: annotations`);
    }
  });
  // Over HTTP a call without a run is a run of its own, which forgets its proposals.
  const open = () => check("run_open", async () => good(await call("run_open", {})).run);
  const run = transportName === "http" ? await open() : undefined;
  const inRun = (args) => (run ? { ...args, run } : args);

  const proposal = await check("propose", async () => {
    const params = { from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
    const result = await call("dta_link_updater_propose", inRun({ target: { glob: "**/*.html" }, params }));
    const said = good(result);
    assert(said.result.files.length > 1 && said.result.id, "the proposal has an id and files");
    const link = result.content.find((block) => block.type === "resource_link");
    assert(link?.uri.startsWith(`nrv://run/${said.run}/`), "the answer links the diff");
    return { ...said.result, uri: link.uri };
  });
  const paths = proposal.files.map((file) => file.path).sort();
  assert.deepEqual(tree(), start, "a proposal changes nothing");

  await check("diff", async () => {
    const { contents } = await client.readResource({ uri: proposal.uri });
    assert.match(contents[0].text, /^\+.*new\.example\.com/m);
  });
  const applied = await check("apply", async () => {
    const said = good(await call("dta_link_updater_apply", inRun({ proposal: proposal.id })));
    assert.equal(asked.length, 1, "the handler was called once");
    assert.match(asked[0].message, new RegExp(`\\b${paths.length} files\\b`));
    assert.equal(said.result.verifier.passed, true);
    return said.run;
  });
  const after = tree();
  await check("changed", () => assert.deepEqual(changed(start, after), paths));

  await check("decline", async () => {
    answer = { action: "decline" };
    const result = await call("apply_create", { path: "declined.txt", text: "no\n" });
    assert.equal(asked.length, 2, "the handler was called again");
    assert.equal(result.isError, true, "a declined call is an error");
    assert.deepEqual(tree(), after, "a declined call changes nothing");
  });
  await check("rollback", async () => {
    answer = { action: "accept", content: { approve: true } };
    good(await call("rollback", { run: applied }));
    assert.deepEqual(changed(start, tree()), []);
  });
  await check("progress", () => {
    assert(told.some(({ steps }) => steps.length > 0), "no progress was told");
    // In the new protocol a call that is made again counts anew.
    const stays = isNew ? [] : told.filter(({ steps }) => steps.some((value, at) => at > 0 && value <= steps[at - 1]));
    assert.equal(stays.length, 0, `the progress of a call increases: ${JSON.stringify(stays)}`);
  });
  await check("close", async () => {
    await client.close();
    if (pid) assert.throws(() => process.kill(pid, 0), "the server has ended");
    if (server) assert.equal(await stop(), 0, "the server ends well");
    const { status, stderr } = spawnSync(nrv, ["recover", "--check"], { cwd: workspace, env, encoding: "utf8" });
    assert.equal(status, 0, `each run has ended: ${stderr}`);
  });
}

async function stop() {
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  const [code, signal] = await ended;
  server = undefined;
  return code ?? signal;
}

const limit = setTimeout(() => fail(new Error("no answer in 120 s")), 120_000);

function fail(error) {
  console.log(`not ok ${step}: ${error.message.replaceAll("\n", " ")}`);
  if (process.env.NRV_TEST_TRACE) console.error(error);
  server?.kill("SIGKILL");
  process.exit(1);
}

await drive().catch(fail);
clearTimeout(limit);
