// Drives the inspector's command line against nrv over stdio and over HTTP: node inspector.mjs NRV WORKSPACE
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { environment, run, serve } from './server.mjs';

const [nrv, workspace] = process.argv.slice(2).map(path => resolve(path));
if (workspace === undefined) {
  console.error('usage: node inspector.mjs NRV WORKSPACE');
  process.exit(2);
}
const notes = readFileSync(join(workspace, 'notes.md'), 'utf8');

/** The arguments of each step, and what its answer has to be. */
const STEPS = {
  'tools/list': [[], ({ tools }) => tools.some(({ name }) => name === 'files_read')],
  'tools/call': [
    ['--tool-name', 'files_read', '--tool-arg', 'path=notes.md'],
    ({ content, isError }) => isError !== true && content.some(({ text }) => text === notes),
  ],
  'resources/list': [[], ({ resources }) => resources.length > 0 && resources.every(({ uri }) => uri.startsWith('nrv://'))],
  'prompts/list': [[], ({ prompts }) => Array.isArray(prompts)],
};

let wrong = 0;

/** Takes the steps against a server, in both eras of the protocol. */
async function drive(label, target) {
  for (const era of ['legacy', 'modern']) await steps(`${label} ${era}`, [...target, '--protocol-era', era]);
}

/** The inspector keeps its files in a home of its own. */
async function steps(label, target) {
  const home = mkdtempSync(join(tmpdir(), 'nrv-inspector-'));
  const env = { ...process.env, HOME: home, USERPROFILE: home };
  for (const [method, [args, expected]] of Object.entries(STEPS)) {
    const all = ['--cli', ...target, '--method', method, ...args];
    const { code, stdout, stderr } = await run('@modelcontextprotocol/inspector', 'mcp-inspector', all, { env });
    const passed = code === 0 && answers(stdout, expected);
    wrong += passed ? 0 : 1;
    console.log(passed ? `passed ${label} ${method}` : `FAILED ${label} ${method}: exit code ${code}\n${stdout}${stderr}`);
  }
  rmSync(home, { recursive: true });
}

function answers(stdout, expected) {
  try {
    return expected(JSON.parse(stdout));
  } catch {
    return false;
  }
}

const { NRV_TRUSTED_PATHS: trusted } = environment(workspace);
await drive('stdio', [nrv, 'mcp', '--cwd', workspace, '-e', `NRV_TRUSTED_PATHS=${trusted}`]);
const server = await serve(nrv, workspace);
try {
  const header = `Authorization: Bearer ${server.token}`;
  await drive('http', [server.url, '--transport', 'http', '--stored-auth-only', '--header', header]);
} finally {
  await server.end();
}
process.exitCode = wrong > 0 ? 1 : 0;
