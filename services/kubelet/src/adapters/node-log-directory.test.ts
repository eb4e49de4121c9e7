import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { StatusError } from '@holdfast/machinery';
import { createNodeLogDirectory, type NodeLogs } from './node-log-directory.ts';

function logsIn(t: TestContext): { readonly root: string; readonly logs: NodeLogs } {
  const base = mkdtempSync(path.join(tmpdir(), 'node-logs-'));
  t.after(() => rmSync(base, { recursive: true }));
  writeFileSync(path.join(base, 'secret'), 'secret');
  const root = path.join(base, 'log');
  mkdirSync(path.join(root, 'pods'), { recursive: true });
  writeFileSync(path.join(root, 'sys log'), 'one\ntwo\n');
  writeFileSync(path.join(root, 'empty'), '');
  writeFileSync(path.join(root, 'pods', 'a?<b>.log'), 'of a pod');
  return { root, logs: createNodeLogDirectory(root) };
}

async function textAt(logs: NodeLogs, at: string): Promise<string> {
  const { body } = logs(at);
  if (body.kind === 'text') return body.text;
  assert.ok(body.kind === 'stream');
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.chunks) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function statusAt(logs: NodeLogs, at: string): number {
  try {
    return logs(at).status;
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error.body.code ?? 0;
  }
}

test('files and directories of the log directory are shown', async (t) => {
  const { logs } = logsIn(t);
  assert.equal(await textAt(logs, '/logs/sys log'), 'one\ntwo\n');
  assert.equal(await textAt(logs, '/logs/empty'), '');
  assert.equal(
    await textAt(logs, '/logs/'),
    '<pre>\n<a href="./empty">empty</a>\n<a href="./pods/">pods/</a>\n<a href="./sys%20log">sys log</a>\n</pre>\n',
  );
  assert.match(await textAt(logs, '/logs/pods/'), /<a href="\.\/a%3F%3Cb%3E\.log">a\?&#60;b&#62;\.log<\/a>/);
  assert.equal(await textAt(logs, '/logs/pods/a?<b>.log'), 'of a pod');
  assert.deepEqual([logs('/logs/pods').status, logs('/logs/pods').headers['location']], [301, 'pods/']);
  assert.equal(logs('/logs').headers['location'], 'logs/');
});

test('nothing outside of the log directory is shown, neither by .. nor by symbolic links of pods', (t) => {
  const { root, logs } = logsIn(t);
  symlinkSync('../secret', path.join(root, 'file-link'));
  symlinkSync('..', path.join(root, 'directory-link'));
  for (const at of [
    '../secret',
    'pods/../../secret',
    'file-link',
    'directory-link/',
    'directory-link/secret',
    '..',
    './',
  ])
    assert.equal(statusAt(logs, `/logs/${at}`), 404, at);
  const listing = logs('/logs/').body;
  assert.ok(listing.kind === 'text' && !listing.text.includes('link'));
  assert.equal(statusAt(logs, '/logs/none'), 404);
  assert.equal(statusAt(logs, `/logs/${'x'.repeat(300)}`), 404);
  assert.equal(statusAt(createNodeLogDirectory(path.join(root, 'none')), '/logs/'), 404);
});
