// Starts and ends `nrv mcp --http`, and runs the tools that test it.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const modules = join(import.meta.dirname, 'node_modules');

/** The manifest of an installed package. */
export function manifest(name) {
  return JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
}

/** The variables by which nrv knows a CI machine. There it trusts a workspace by nrv.lock alone. */
const SERVICES = ['CI', 'GITHUB_ACTIONS', 'GITLAB_CI', 'TEAMCITY_VERSION', 'TF_BUILD', 'TRAVIS'];

/** The environment of nrv: a workspace that it trusts. */
export function environment(workspace) {
  const rest = Object.entries(process.env).filter(([name]) => !SERVICES.includes(name));
  return { ...Object.fromEntries(rest), NRV_TRUSTED_PATHS: workspace };
}

/** Runs a command of an installed package with the installed node. Resolves to its exit code and output. */
export async function run(name, command, args, { cwd, env } = {}) {
  const script = join(modules, name, manifest(name).bin[command]);
  const node = join(modules, '.bin', 'node');
  const child = spawn(node, [script, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', data => (output.stdout += data));
  child.stderr.on('data', data => (output.stderr += data));
  const [code] = await once(child, 'close');
  return { code, ...output };
}

/** Starts the server on a free port. Resolves to its URL, its token and a function that ends it. */
export async function serve(nrv, workspace) {
  const token = randomBytes(24).toString('hex');
  const env = { ...environment(workspace), NRV_MCP_TOKEN: token };
  const stdio = ['ignore', 'inherit', 'pipe'];
  const child = spawn(nrv, ['mcp', '--http', '127.0.0.1:0'], { cwd: workspace, env, stdio });
  const closed = once(child, 'close');
  let said = '';
  const url = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', code => reject(new Error(`nrv ended with ${code}: ${said}`)));
    child.stderr.on('data', data => {
      said += data;
      const found = said.match(/^Serving (\S+)$/m);
      if (found) resolve(found[1]);
    });
  });
  const end = async () => {
    if (child.exitCode !== null) throw new Error(`nrv ended with ${child.exitCode}: ${said}`);
    child.kill('SIGTERM');
    await closed;
  };
  return { url, token, end };
}
