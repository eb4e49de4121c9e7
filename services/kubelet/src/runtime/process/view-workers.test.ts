import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { unlessRoot } from '@holdfast/testing';
import { mountSilent, unlessFuse } from '../../testing/silent-mount.ts';
import { containerConfig } from '../contract.ts';
import { RuntimeError } from '../port.ts';
import type { IsolationRequest } from './isolation-script.ts';
import { VIEW_DEADLINE_MS } from './limits.ts';
import { NO_ISOLATION } from './node-isolation.ts';
import { createViewWorkers } from './view-workers.ts';

function folderOf(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-views-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const showing = (source: string): IsolationRequest => ({
  config: containerConfig(['/bin/true'], { mounts: [{ source, target: '/data', readOnly: false }] }),
  sandbox: { hostname: 'web-0' },
  node: NO_ISOLATION,
});

const isUnavailable = (error: unknown): boolean => error instanceof RuntimeError && error.code === 'Unavailable';

test('a process of its own writes the same script as the supervisor would', async (t) => {
  const folder = folderOf(t);
  mkdirSync(join(folder, 'volume'));
  const scriptOf = async (mayHang: boolean): Promise<string> => {
    const views = createViewWorkers({ clock: createSystemClock(), mayHang: () => mayHang, deadlineMs: 60_000 });
    const script = await views.writeScript(join(folder, 'root'), showing(join(folder, 'volume')));
    assert.equal(await views.isDirectory(folder), true);
    assert.equal(await views.isDirectory(script), false);
    return readFileSync(script, 'utf8');
  };
  assert.equal(await scriptOf(true), await scriptOf(false));
  const views = createViewWorkers({ clock: createSystemClock(), mayHang: () => true, deadlineMs: 60_000 });
  await assert.rejects(views.writeScript(join(folder, 'root/start.sh'), showing(folder)), /ENOTDIR|EEXIST/);
});

test('a volume whose server is silent holds one process; other starts go on, and its own is tried again later', {
  skip: unlessRoot() || unlessFuse(),
}, async (t) => {
  const folder = folderOf(t);
  const silent = await mountSilent(t);
  const clock = createVirtualClock();
  const views = createViewWorkers({ clock, workersMax: 2 });
  const refused = assert.rejects(views.writeScript(join(folder, 'one'), showing(join(silent, 'logs'))), isUnavailable);
  const script = await views.writeScript(join(folder, 'two'), showing(folder));
  assert.ok(existsSync(script));
  await clock.advance(VIEW_DEADLINE_MS);
  await refused;
});

test('looks that wait for servers are bounded', { skip: unlessRoot() || unlessFuse() }, async (t) => {
  const silent = await mountSilent(t);
  const clock = createVirtualClock();
  const views = createViewWorkers({ clock, workersMax: 1 });
  const refused = assert.rejects(views.isDirectory(join(silent, 'logs')), isUnavailable);
  await assert.rejects(views.isDirectory('/'), /1 looks at volumes of the node wait for their servers/);
  await clock.advance(VIEW_DEADLINE_MS);
  await refused;
});
