import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createDeadlineFile } from './deadline-file.ts';

const BOOT = 'b0071d00-0000-4000-8000-000000000000';
const FAR_MS = 1_000_000;
const PROMISES = 5_000;

/** Looks as a supervisor does that has just seen that nothing is promised. */
const READER = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(({ createDeadlineFile }) => {
    const { directory, bootId, flag } = workerData;
    const stop = new Int32Array(flag);
    let past = 0;
    parentPort.postMessage('ready');
    while (Atomics.load(stop, 0) === 0) {
      if (createDeadlineFile(directory, bootId).read()?.untilMs === 0) past++;
    }
    parentPort.postMessage(past);
  });
`;

test('the first deadline after none is written atomically: no reader takes an empty file for an expired one', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-deadline-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const flag = new SharedArrayBuffer(4);
  const module = new URL('deadline-file.ts', import.meta.url).href;
  const reader = new Worker(READER, { eval: true, workerData: { directory, bootId: BOOT, module, flag } });
  const told = (): Promise<unknown> => new Promise((resolve) => reader.once('message', resolve));
  assert.equal(await told(), 'ready');
  const file = createDeadlineFile(directory, BOOT);
  for (let promise = 0; promise < PROMISES; promise++) {
    file.write({ untilMs: FAR_MS, policy: 'exclusive' });
    file.remove();
  }
  Atomics.store(new Int32Array(flag), 0, 1);
  assert.equal(await told(), 0);
  await reader.terminate();
});
