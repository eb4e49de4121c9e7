import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../log.ts';

export interface LogUnderTest {
  readonly log: Log;
  /** The records written so far. */
  readonly records: () => readonly Readonly<Record<string, unknown>>[];
}

/** Tests the contract of `Log`. */
export function logContract(name: string, create: () => LogUnderTest): void {
  test(`${name}: a record carries message, level, own fields and those of its ancestors`, () => {
    const { log, records } = create();
    log.child({ controller: 'x' }).child({ key: 'a/b' }).warn('conflict, trying again', { attempt: 2 });
    const [record, ...more] = records();
    assert.deepEqual(more, []);
    assert.equal(record?.['controller'], 'x');
    assert.equal(record?.['key'], 'a/b');
    assert.equal(record?.['attempt'], 2);
    assert.ok(Object.values(record).includes('conflict, trying again'));
  });

  test(`${name}: an error is written with its chain of causes`, () => {
    const { log, records } = create();
    log.error('pass failed', { error: new Error('outer', { cause: new Error('inner') }) });
    const text = JSON.stringify(records());
    assert.ok(text.includes('outer') && text.includes('inner'), text);
  });

  test(`${name}: secrets under their usual names are not written`, () => {
    const { log, records } = create();
    log.info('connecting', { token: 'hunter2', authorization: 'Bearer hunter2', bus: { password: 'hunter2' } });
    const text = JSON.stringify(records());
    assert.ok(text.includes('connecting') && !text.includes('hunter2'), text);
  });
}
