import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { Commands } from './commands.ts';
import type { Engine } from './engine.ts';

/** An engine that could not start the command, and whose container runs for some looks more. */
function engineWhere(looksUntilEnd: number): Engine {
  let looks = 0;
  const answers = new Map<string, () => unknown>([
    ['/exec/e/json', () => ({ Running: false, ExitCode: 126, Pid: 0, ContainerID: 'c' })],
    ['/containers/c/json', () => ({ State: { Running: ++looks <= looksUntilEnd } })],
  ]);
  return { json: async ({ path }: { readonly path: string }) => answers.get(path)?.() } as unknown as Engine;
}

for (const looks of [0, 3]) {
  test(`[SAFE-12] a command that cannot enter a container that ends was killed with it, ${looks} looks later`, async () => {
    const clock = createVirtualClock();
    const ended = new Commands(engineWhere(looks), clock).ended({ id: 'e' }, () => 'error executing setns process');
    await clock.advance(1_000);
    assert.deepEqual(await ended, { exitCode: 137 });
  });
}

test('a command that cannot be started in a container that runs on is refused with its reason', async () => {
  const clock = createVirtualClock();
  const ended = new Commands(engineWhere(Number.POSITIVE_INFINITY), clock).ended({ id: 'e' }, () => 'no such file');
  const refused = assert.rejects(ended, { name: 'RuntimeError', message: 'no such file' });
  await clock.advance(1_000);
  await refused;
});
