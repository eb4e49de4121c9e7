import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { earlyModules } from './early-modules.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const CLUSTER = 'services/holdfast/src/embedded/cluster.ts';
/** Keys, threads and the store begin before everything else is loaded (docs/internals/start.md). */
const EARLY_ROOMS = /^(?:libs\/(?:platform|store|bus|pki)|services\/holdfast)\//;
/** Small files of other rooms. */
const EARLY_FILES: ReadonlySet<string> = new Set([
  'services/apiserver/src/encryption/setting.ts',
  'services/kubelet/src/runtime/container-runtimes.ts',
  'services/kubelet/src/runtime/port.ts',
]);

test('a start loads neither the kinds nor a component before its threads begin', () => {
  const modules = [...earlyModules(ROOT, CLUSTER)];
  assert.ok(modules.includes('libs/store/src/index.ts'), 'the modules are found');
  const others = modules.filter((file) => !EARLY_ROOMS.test(file) && !EARLY_FILES.has(file));
  assert.deepEqual(others, []);
});

test('what a module loads early is found through packages, and what it loads later is not', () => {
  const modules = earlyModules(ROOT, 'services/holdfast/src/embedded/components.ts');
  for (const file of ['libs/api/src/index.ts', 'services/scheduler/src/app.ts']) assert.ok(modules.has(file), file);
  assert.ok(!earlyModules(ROOT, CLUSTER).has('services/holdfast/src/embedded/components.ts'));
});
