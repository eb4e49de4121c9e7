import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '@holdfast/platform';
import fc from 'fast-check';
import { createMemoryBackend } from './backends/memory-backend.ts';
import type { VolumeBackend } from './backends/port.ts';
import { judgeToken } from './domain/judge-token.ts';
import { FencedVolume, StaleToken } from './fenced-volume.ts';

const text = (value: string): Buffer => Buffer.from(value);

/** Nothing here waits for anything but promises. */
const TURNS = 100;

/** A disk whose writes and saved tokens wait until they are let through, or fail. */
function slowBackend() {
  const inner = createMemoryBackend();
  const gates: { readonly what: string; readonly pass: () => void; readonly fail: () => void }[] = [];
  const gate = async (what: string): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    gates.push({ what, pass: resolve, fail: () => reject(new Error('the disk failed')) });
    return promise;
  };
  const backend: VolumeBackend = {
    ...inner,
    open: async (name) => {
      const { token, data } = await inner.open(name);
      const write = async (offset: number, bytes: Uint8Array): Promise<void> => {
        await gate('write');
        await data.write(offset, bytes);
      };
      return { token, data: { ...data, write } };
    },
    saveToken: async (name, token) => {
      await gate('token');
      await inner.saveToken(name, token);
    },
  };
  const next = async (what: string) => {
    for (let turn = 0; gates[0] === undefined && turn < TURNS; turn++) await nextTurn();
    const first = gates.shift() ?? assert.fail(`the disk was never asked for "${what}"`);
    assert.equal(first.what, what);
    return first;
  };
  return { backend, next, inner };
}

const write = (volume: FencedVolume, token: number, value: string): Promise<void> =>
  volume.run(token, (data) => data.write(0, text(value)));
const read = async (volume: FencedVolume, token: number): Promise<string> =>
  (await volume.run(token, (data) => data.read(0, 3))).toString();

test('[RWO-15] a writer with an older token than the newest is refused, and its bytes are not written', async () => {
  const volume = new FencedVolume('data', createMemoryBackend());
  await volume.open(5);
  await write(volume, 5, 'old');
  await volume.open(6);
  await assert.rejects(write(volume, 5, 'bad'), StaleToken);
  await assert.rejects(read(volume, 5), StaleToken);
  await assert.rejects(volume.open(5), /opened with token 6: the token 5 is of an earlier attachment/);
  assert.equal(await read(volume, 6), 'old');
});

test('writers with the same token count as one: the pods of one node', async () => {
  const volume = new FencedVolume('data', createMemoryBackend());
  await Promise.all([volume.open(5), volume.open(5)]);
  await write(volume, 5, 'one');
  assert.equal(await read(volume, 5), 'one');
});

test('[RWO-15] a write in progress ends before the greater token is accepted; the next write with the old token is refused', async () => {
  const { backend, next } = slowBackend();
  const volume = new FencedVolume('data', backend);
  const opening = volume.open(1);
  (await next('token')).pass();
  await opening;
  const onItsWay = write(volume, 1, 'one');
  const order: string[] = [];
  void onItsWay.then(() => order.push('written'));
  const opened = volume.open(2).then(() => order.push('opened'));
  const late = assert.rejects(write(volume, 1, 'bad'), StaleToken);
  (await next('write')).pass();
  (await next('token')).pass();
  await Promise.all([opened, late]);
  assert.deepEqual(order, ['written', 'opened']);
  assert.equal(await read(volume, 2), 'one');
});

test('[RWO-15] a token that could not be saved is not accepted, and still blocks older writers', async () => {
  const { backend, next } = slowBackend();
  const volume = new FencedVolume('data', backend);
  const first = volume.open(1);
  (await next('token')).pass();
  await first;
  const failing = assert.rejects(volume.open(2), /the disk failed/);
  (await next('token')).fail();
  await failing;
  await assert.rejects(write(volume, 1, 'bad'), StaleToken);
  const again = volume.open(2);
  (await next('token')).pass();
  await again;
});

test('[RWO-15] the token is on disk before it is accepted: a restarted server refuses the same writers', async () => {
  const { backend, next, inner } = slowBackend();
  const volume = new FencedVolume('data', backend);
  let isAccepted = false;
  const opening = volume.open(3).then(() => (isAccepted = true));
  const saving = await next('token');
  assert.equal(isAccepted, false);
  saving.pass();
  await opening;
  await assert.rejects(new FencedVolume('data', inner).open(2), StaleToken);
});

type Step = { readonly kind: 'open' | 'write' | 'crash'; readonly token: number };
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('open', 'write', 'write', 'crash'),
  token: fc.integer({ min: 1, max: 6 }),
});

/** The accepted writes. `isChecked`: false is a server that accepts every writer. */
async function play(steps: readonly Step[], isChecked: boolean): Promise<readonly Step[]> {
  const backend = createMemoryBackend();
  let volume = new FencedVolume('data', backend);
  const done: Step[] = [];
  for (const each of steps) {
    if (each.kind === 'crash') {
      volume = new FencedVolume('data', backend);
      continue;
    }
    const { data } = await backend.open('data');
    const act = isChecked
      ? () => (each.kind === 'open' ? volume.open(each.token) : write(volume, each.token, 'abc'))
      : () => data.write(0, text('abc'));
    await act().then(
      () => done.push(each),
      (error: unknown) => assert.ok(error instanceof StaleToken),
    );
  }
  return done;
}

const goesBack = (done: readonly Step[]): boolean =>
  done.some(({ token }, i) => done.slice(0, i).some((before) => before.token > token));

test('[RWO-15] in any order of writers and crashes accepted tokens never decrease; without the check data are corrupted', async () => {
  let damaged = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      assert.equal(goesBack(await play(steps, true)), false);
      if (goesBack(await play(steps, false))) damaged++;
    }),
    { seed: 1 },
  );
  assert.ok(damaged > 0, 'the negative control shows damage');
});

test('a token that is not on disk yet counts for refusals and not for acceptance', () => {
  assert.equal(judgeToken({ floor: 5, durable: 3 }, 4).kind, 'stale');
  assert.deepEqual(judgeToken({ floor: 5, durable: 3 }, 5), { kind: 'save', token: 5 });
  assert.equal(judgeToken({ floor: 5, durable: 5 }, 5).kind, 'accept');
});
