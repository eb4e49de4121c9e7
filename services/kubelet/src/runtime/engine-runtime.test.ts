import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { listingWithSweep, schemeOf } from './engine-runtime.ts';
import type { PodFiles } from './pod-files.ts';
import type { ContainerRuntime, SandboxStatus } from './port.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
const sandbox = (podUid: string): SandboxStatus => ({ config: { podUid } }) as SandboxStatus;

test('only the first look at all pods removes files of pods that are gone', async () => {
  const swept: (readonly string[])[] = [];
  const asked: (string | undefined)[] = [];
  const list = async (podUid: string | undefined): Promise<readonly SandboxStatus[]> => {
    asked.push(podUid);
    return [sandbox('a'), sandbox('b')];
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
  const files = { sweep: (present: ReadonlySet<string>) => void swept.push([...present]) } as unknown as PodFiles;
  const listing = listingWithSweep({ list }, files);
  await listing({ podUid: 'a' });
  assert.deepEqual(swept, [], 'one pod says nothing about the others');
  await listing();
  await listing();
  assert.deepEqual(swept, [['a', 'b']]);
  assert.deepEqual(asked, ['a', undefined, undefined]);
});

test('files stay when the first look fails', async () => {
  let sweeps = 0;
  let fails = true;
  const list = async (): Promise<readonly SandboxStatus[]> => {
    if (fails) throw new Error('the runtime does not answer');
    return [];
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
  const files = { sweep: () => void (sweeps += 1) } as unknown as PodFiles;
  const listing = listingWithSweep({ list }, files);
  await assert.rejects(listing());
  assert.equal(sweeps, 0);
  fails = false;
  await listing();
  assert.equal(sweeps, 1);
});

for (const [version, scheme] of [
  ['cri-o://1.32', 'cri-o'],
  ['', 'guess'],
  [undefined, 'guess'],
] as const) {
  test(`a runtime that says ${version} has the scheme ${scheme}`, async () => {
    const answer = version === undefined ? Promise.reject(new Error('gone')) : Promise.resolve(version);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
    const runtime = { version: () => answer } as unknown as ContainerRuntime;
    assert.equal(await schemeOf(runtime, 'guess'), scheme);
  });
}
