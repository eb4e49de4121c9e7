import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { waitFor } from '../support/wait.ts';

const execute = promisify(execFile);
const MAIN = path.resolve(import.meta.dirname, '../../tools/chaos/main.ts');
const SCENARIO = path.resolve(import.meta.dirname, 'scenarios/isolate-node.yaml');
const STARTS_MS = 120_000;
const INTERRUPTED = 130;

async function listOf(things: 'ps' | 'network' | 'volume', project: string): Promise<string> {
  const words = things === 'ps' ? ['ps', '--all'] : [things, 'ls'];
  const filter = ['--filter', `label=com.docker.compose.project=${project}`];
  return (await execute('docker', [...words, '--quiet', ...filter])).stdout.trim();
}

test('a run that is ended while its containers start, and whose output nobody reads any more, leaves nothing', async (t) => {
  const child = spawn(process.execPath, [MAIN, SCENARIO], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  t.after(() => void child.kill('SIGKILL'));
  const project = `holdfast-chaos-${child.pid}`;
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('the containers')) break;
  await waitFor('a container', () => listOf('ps', project), STARTS_MS);
  child.stdout.destroy();
  child.stderr.destroy();
  child.kill('SIGHUP');
  assert.deepEqual(await ended, [INTERRUPTED, null]);
  for (const things of ['ps', 'network', 'volume'] as const) assert.equal(await listOf(things, project), '', things);
});
