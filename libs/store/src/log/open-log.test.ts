import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createIds, createSystemRandom } from '@holdfast/platform';
import type { NatsConnection } from 'nats';
import { type CurrentLog, encodeRecord, logNames } from './layout.ts';
import { openLog } from './open-log.ts';

const names = logNames();
const BASE = names.baseStream;
const OTHER = 'HOLDFAST_LOG_01234567_1';
const record: CurrentLog = { lineage: { incarnation: '0123456789', epoch: 1 }, stream: OTHER, created: 'then' };

/** Servers with these streams and their last sequences. `onNames` runs when somebody asks for the names of streams. */
function makeServers(streams: ReadonlyMap<string, number>, onNames: (world: World) => void = () => undefined) {
  const world: World = { streams: new Map(streams), record: undefined };
  const refuse = (code: number) => ({ error: { err_code: code, description: 'no' } });
  const answer = (subject: string, body: string): object => {
    const [, , , operation = '', stream = ''] = subject.split('.');
    if (subject === names.recordSubject) {
      world.record = Buffer.from(body);
      return { seq: 1 };
    }
    if (operation === 'NAMES') {
      onNames(world);
      const logs = [...world.streams.keys()].filter((name) => name !== BASE);
      return { total: logs.length, streams: logs.length === 0 ? null : logs };
    }
    if (operation === 'MSG') {
      return world.record === undefined
        ? refuse(10037)
        : { message: { seq: 1, data: world.record.toString('base64') } };
    }
    if (operation === 'CREATE') world.streams.set(stream, world.streams.get(stream) ?? 0);
    const last = world.streams.get(stream);
    if (last === undefined) return refuse(10059);
    return { created: 'then', config: {}, state: { first_seq: 1, last_seq: last, bytes: 0 } };
  };
  const request = async (subject: string, body: string) => ({ string: () => JSON.stringify(answer(subject, body)) });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
  const connection = { request } as unknown as NatsConnection;
  const open = () => openLog(connection, { names, replicas: 3, ids: createIds(createSystemRandom()) });
  return { world, open };
}

interface World {
  readonly streams: Map<string, number>;
  record: Buffer | undefined;
}

test('a log is created where none is, also where another process was interrupted before it had an entry', async () => {
  for (const streams of [
    new Map<string, number>(),
    new Map([
      [BASE, 0],
      [OTHER, 0],
    ]),
  ]) {
    const { world, open } = makeServers(streams);
    const { stream } = await open();
    assert.notEqual(stream, OTHER);
    assert.deepEqual([world.streams.has(stream), world.record !== undefined], [true, true]);
  }
});

for (const [why, streams] of [
  ['its base stream is gone', new Map([[OTHER, 5]])],
  [
    'the base stream is empty',
    new Map([
      [BASE, 0],
      [OTHER, 5],
    ]),
  ],
  ['its epoch began with a snapshot', new Map([['HOLDFAST_LOG_01234567_2', 0]])],
] as const) {
  test(`no second log is created beside one whose record is lost: ${why}`, async () => {
    const { world, open } = makeServers(streams);
    await assert.rejects(open(), { code: 'STORE_DAMAGED', message: /HOLDFAST_LOG_01234567_\d.*not the record/ });
    assert.deepEqual([...world.streams], [...streams], 'nothing was created');
  });
}

test('the log of a process that was faster is taken although it has entries already', async () => {
  const { open } = makeServers(new Map(), (world) => {
    world.streams.set(BASE, 1).set(OTHER, 2);
    world.record = encodeRecord(record);
  });
  assert.deepEqual(await open(), record);
});
