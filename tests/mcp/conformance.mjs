// Runs the conformance suites of the protocol against `nrv mcp --http`: node conformance.mjs NRV WORKSPACE
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { manifest, run, serve } from './server.mjs';

const STABLE = '@modelcontextprotocol/conformance';
const NEXT = 'conformance-next';

/** The suite itself makes these checks of every message. A scenario that does not apply has to pass them too. */
const ALWAYS = ['wire-schema-valid', 'scenario-timeout'];

/** The checks and scenarios that do not apply to nrv, each with the reason. */
const listed = JSON.parse(readFileSync(join(import.meta.dirname, 'conformance.json'), 'utf8'));
const seen = new Set();
const counts = { passed: 0, 'not applicable': 0, FAILED: 0 };

/** Adds the token to every request, since the suites can't, and passes on the rest as it is. */
async function proxy(server) {
  const { hostname, port } = new URL(server.url);
  const listener = http.createServer((request, response) => {
    const { url: path, method } = request;
    const headers = [...request.rawHeaders, 'Authorization', `Bearer ${server.token}`];
    const onward = http.request({ hostname, port, path, method, headers, setHost: false, agent: false });
    onward.on('response', answer => {
      response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const close = () => {
    listener.close();
    listener.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${listener.address().port}/mcp`, close };
}

/** The scenarios of a suite, each with the versions of the protocol that it knows. */
async function scenarios(suite) {
  const { stdout } = await run(suite, 'conformance', ['list', '--server']);
  const lines = [...stdout.matchAll(/^ +- (\S+) \[(\S+)\]$/gm)];
  const found = lines.map(([, name, versions]) => [name, versions.split(',')]);
  if (found.length === 0) throw new Error(`${suite} lists no scenario`);
  return found;
}

/** Runs scenarios of a suite and prints the verdict on each of the expected names. */
async function check(suite, label, url, args, names) {
  const folder = mkdtempSync(join(tmpdir(), 'nrv-conformance-'));
  const all = ['server', '--url', url, '--output-dir', folder, ...args];
  const { stdout, stderr } = await run(suite, 'conformance', all, { cwd: folder });
  const results = new Map();
  for (const entry of readdirSync(folder)) {
    const name = entry.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[-\dZ]+$/, '');
    try {
      results.set(name, JSON.parse(readFileSync(join(folder, entry, 'checks.json'), 'utf8')));
    } catch {
      // A scenario that breaks leaves no checks.
    }
  }
  rmSync(folder, { recursive: true });
  if (results.size === 0) console.log(stdout + stderr);
  for (const name of names) judge(`${manifest(suite).version} ${label} ${name}`, name, results.get(name));
}

function judge(title, name, checks) {
  const say = (verdict, text = '') => {
    counts[verdict] += 1;
    console.log(`${verdict} ${title}${text}`);
  };
  seen.add(name);
  if (checks === undefined) return say('FAILED', ': it has left no result');
  const open = checks.filter(({ status }) => !['SUCCESS', 'INFO'].includes(status));
  checks.forEach(({ id }) => seen.add(`${name}:${id}`));
  const stale = Object.keys(listed).filter(key => {
    const [scenario, id] = key.split(':');
    return scenario === name && !open.some(one => id === undefined || one.id === id);
  });
  if (stale.length > 0) return say('FAILED', `: listed as not applicable, but passed: ${stale.join(', ')}`);
  const reason = ({ id }) => listed[`${name}:${id}`] ?? (ALWAYS.includes(id) ? undefined : listed[name]);
  const wrong = open.filter(one => reason(one) === undefined);
  if (wrong.length > 0) {
    const texts = wrong.map(({ id, status, errorMessage }) => `${id} (${status}): ${errorMessage}`);
    return say('FAILED', `: ${texts.join('; ')}`);
  }
  if (listed[name] !== undefined) return say('not applicable', `: ${listed[name]}`);
  say('passed', open.map(one => `; not applicable: ${one.id}: ${reason(one)}`).join(''));
}

const [nrv, workspace] = process.argv.slice(2).map(path => resolve(path));
if (workspace === undefined) {
  console.error('usage: node conformance.mjs NRV WORKSPACE');
  process.exit(2);
}
const server = await serve(nrv, workspace);
try {
  const { url, close } = await proxy(server);
  const stable = await scenarios(STABLE);
  await check(STABLE, '2025-11-25', url, ['--suite', 'all'], stable.map(([name]) => name));
  const next = await scenarios(NEXT);
  const known = new Set(next.flatMap(([, versions]) => versions));
  const all = [...known].filter(version => version !== 'extension').sort();
  for (const version of all) {
    const names = next.filter(([, versions]) => versions.includes(version)).map(([name]) => name);
    await check(NEXT, version, url, ['--suite', 'all', '--spec-version', version], names);
  }
  for (const [name] of next.filter(([, versions]) => versions.includes('extension'))) {
    await check(NEXT, 'extension', url, ['--scenario', name], [name]);
  }
  close();
} finally {
  await server.end();
}
for (const key of Object.keys(listed).filter(key => !seen.has(key))) {
  counts.FAILED += 1;
  console.log(`FAILED ${key}: listed as not applicable, but no suite has it`);
}
console.log(Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`).join(', '));
process.exitCode = counts.FAILED > 0 ? 1 : 0;
