import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, type Log } from '@holdfast/platform';
import { readStartConfig } from '../config.ts';
import { createEmbeddedCluster, type EmbeddedCluster, START_STEPS } from './cluster.ts';
import { isDataDirectoryInUse } from './data-directory-lock.ts';
import { createJsonProgress } from './progress.ts';

interface Start {
  readonly dataDir: string;
  readonly host: string;
  readonly stopTracing: () => Promise<void>;
  readonly log?: Log;
  readonly onStep?: () => void;
}

function clusterOf({ dataDir, host, stopTracing, log = createSilentLog(), onStep = () => {} }: Start): EmbeddedCluster {
  const random = createSystemRandom();
  const clock = createSystemClock();
  const argv = ['--memory', '--nodes', '0', '--port', '0', '--host', host, '--data-dir', dataDir];
  return createEmbeddedCluster({
    machine: { clock, random, ids: createIds(random), log },
    config: readStartConfig({ argv, env: {} }),
    progress: createJsonProgress({ steps: START_STEPS, monotonic: () => 0, print: onStep }),
    tracing: { stop: stopTracing },
  });
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-cluster-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a failed start reports why and leaves nothing running, even when a stop fails', async (t) => {
  const dataDir = makeFolder(t);
  const told: unknown[] = [];
  const log = { ...createSilentLog(), error: (_: string, fields?: object) => void told.push(fields) };
  const stopTracing = (): Promise<void> => Promise.reject(new Error('the receiver of traces is gone'));
  const nowhere = clusterOf({ dataDir, host: '198.51.100.7', stopTracing, log });
  t.after(() => nowhere.stop().catch(() => {}));
  await assert.rejects(nowhere.start(), /cannot listen/);
  assert.deepEqual(told, [{ error: 'the receiver of traces is gone' }]);
  // The data directory is unlocked again.
  const again = clusterOf({ dataDir, host: '127.0.0.1', stopTracing: async () => {} });
  await again.start();
  await again.stop();
});

test('a stop during a start gives it up, and frees the data directory', async (t) => {
  const dataDir = makeFolder(t);
  const stopTracing = async (): Promise<void> => {};
  for (let stopAt = 1; stopAt <= START_STEPS; stopAt++) {
    let [steps, stopping] = [0, Promise.resolve()];
    const onStep = (): void => {
      if (++steps === stopAt) stopping = cluster.stop();
    };
    const cluster = clusterOf({ dataDir, host: '127.0.0.1', stopTracing, onStep });
    await assert.rejects(cluster.start(), { code: 'StartGivenUp' }, `after step ${stopAt}`);
    await stopping;
    assert.equal(await isDataDirectoryInUse(dataDir), false);
  }
});
