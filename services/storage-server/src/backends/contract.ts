import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { VolumeBackend } from './port.ts';

/** Opens the same place again after `close`. */
export type Reopen = () => VolumeBackend;

/** What every backend has to do. */
export function backendContract(name: string, createPlace: (t: TestContext) => Reopen): void {
  const check = (title: string, body: (open: Reopen) => Promise<void>): void => {
    test(`${name}: ${title}`, (t) => body(createPlace(t)));
  };

  check('what is written is read, and what was never written reads as zeros', async (open) => {
    const backend = open();
    const { data } = await backend.open('data');
    await data.write(4, Buffer.from('heart'));
    await data.write(6, Buffer.from('AB'));
    assert.equal((await data.read(0, 12)).toString(), '\0\0\0\0heABt\0\0\0');
    assert.equal((await data.read(1_000, 2)).toString(), '\0\0');
    await data.flush();
    await backend.close();
  });

  check('data and tokens are there after the next start', async (open) => {
    const first = open();
    const { token, data } = await first.open('data');
    assert.equal(token, 0);
    await data.write(0, Buffer.from('kept'));
    await first.saveToken('data', 2 ** 52);
    await first.close();
    const second = open();
    assert.deepEqual([second.exists('data'), second.exists('other'), second.count()], [true, false, 1]);
    const again = await second.open('data');
    assert.equal(again.token, 2 ** 52);
    assert.equal((await again.data.read(0, 4)).toString(), 'kept');
    await second.close();
  });

  check('a token never goes back', async (open) => {
    const backend = open();
    await backend.open('data');
    await backend.saveToken('data', 7);
    await backend.saveToken('data', 6);
    assert.equal((await backend.open('data')).token, 7);
    await backend.close();
    const next = open();
    assert.equal((await next.open('data')).token, 7);
    await next.close();
  });

  check('volumes do not see each other', async (open) => {
    const backend = open();
    const [one, two] = [await backend.open('one'), await backend.open('two')];
    await one.data.write(0, Buffer.from('1'));
    await backend.saveToken('one', 5);
    assert.equal((await two.data.read(0, 1))[0], 0);
    assert.equal((await backend.open('two')).token, 0);
    await backend.close();
  });
}
