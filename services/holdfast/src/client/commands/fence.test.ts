import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { NODES } from '@holdfast/api';
import { startCluster } from '@holdfast/cluster';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { runCommand } from '../run.ts';

test('fence and unfence ask the fencer, tell its steps, and say what to do when nobody answers', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-fence-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await using cluster = await startCluster({ https: true, hollowNodes: 1 });
  writeFileSync(kubeconfig, cluster.kubeconfig);
  const name = 'hollow-1';
  await eventually(() => cluster.client.find(NODES, { name }), 'the node', { deadlineMs: 30_000, pollMs: 20 });
  const run = async (command: string, ...argv: readonly string[]) => {
    const lines: string[] = [];
    const note = (line: string): void => void lines.push(line);
    const terminal = { print: note, tell: note, env: {}, clock: createSystemClock() };
    const code = await runCommand(command, [...argv, '--kubeconfig', kubeconfig], terminal);
    return { code, text: lines.join('\n') };
  };
  const condition = (status: string, reason: string): Promise<unknown> => {
    const conditions = [{ type: 'Fenced', status, reason, message: 'outlet 4' }];
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    const body = JSON.stringify({ status: { conditions } });
    return cluster.fetch(`/api/v1/nodes/${name}/status`, { method: 'PATCH', headers, body });
  };
  const annotations = async () => (await cluster.client.get(NODES, { name })).metadata.annotations ?? {};

  assert.match((await run('fence', name)).text, /Warning: the agent of node .*\n.*the node is not fenced.*--confirm/);
  assert.equal((await annotations())['fencing/requested'], undefined);
  const unanswered = await run('fence', name, '--confirm', '--wait-seconds', '0');
  assert.deepEqual([unanswered.code, /waits for a fencer\n.*The request stays/s.test(unanswered.text)], [1, true]);
  assert.equal((await annotations())['fencing/requested'], 'true');

  await condition('True', 'NodeFenced');
  const fenced = await run('fence', name, '--confirm', '--release', '--json');
  assert.deepEqual(JSON.parse(fenced.text.split('\n').at(-1) ?? ''), {
    node: name,
    done: true,
    text: 'fenced (NodeFenced): outlet 4',
  });
  assert.equal((await annotations())['fencing/release'], 'true');

  const lifting = run('unfence', name, '--confirm');
  const isAsked = async () => (await annotations())['fencing/unfence'] === 'true';
  await eventually(isAsked, 'the request', { deadlineMs: 30_000, pollMs: 20 });
  await condition('False', 'Unfenced');
  const body = JSON.stringify({ metadata: { annotations: { 'fencing/unfence': null } } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  await cluster.fetch(`/api/v1/nodes/${name}`, { method: 'PATCH', headers, body });
  assert.match((await lifting).text, /node "hollow-1": not fenced$/);
  assert.equal((await run('unfence')).code, 2);
});
