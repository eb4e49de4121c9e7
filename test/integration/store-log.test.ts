import { strict as assert } from 'node:assert';
import { after, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { Compacted, type DurableStore } from '@holdfast/store';
import { type CreateStore, changesUpTo, storeContract, storeHistoryProperty } from '@holdfast/store/contract';
import { adoptLogStore, createLogStore, type LogStoreOptions, restoreLogStore } from '@holdfast/store/log';
import { createRedisStore, restoreRedisStore } from '@holdfast/store/redis';
import { connect, type NatsConnection } from 'nats';
import { ObjectTable } from '../../libs/store/src/internal/object-table.ts';
import { beginEpoch, firstState } from '../../libs/store/src/log/begin-epoch.ts';
import { encodeEntry } from '../../libs/store/src/log/entry.ts';
import {
  createStream,
  deleteStream,
  lastMessage,
  store as storeMessage,
  streamInfo,
} from '../../libs/store/src/log/jetstream.ts';
import { type CurrentLog, type LogNames, logNames, logStreamConfig } from '../../libs/store/src/log/layout.ts';
import { readCurrent } from '../../libs/store/src/log/open-log.ts';
import { decodeManifests } from '../../libs/store/src/log/snapshot.ts';
import { freePort } from '../support/free-port.ts';
import { type LogServers, startLogServers } from '../support/log-servers.ts';
import { startRedis } from '../support/redis-server.ts';
import { SeverableProxy } from '../support/severable-proxy.ts';

const single = await startLogServers();
after(() => single[Symbol.asyncDispose]());
const ids = createIds(createSystemRandom());

function open(servers: LogServers, options: Partial<LogStoreOptions> = {}): Promise<DurableStore> {
  const { urls, monitors, acceptOldServers } = servers;
  const replicas = urls.length;
  return createLogStore({
    servers: urls,
    monitors,
    replicas,
    acceptOldServers,
    clock: createSystemClock(),
    ids,
    log: createSilentLog(),
    ...options,
  });
}

/** Every store has streams of its own. */
const openEmptyStore: CreateStore = async (options = {}) => {
  const store = await open(single, { ...options, name: `T${ids.suffix(8)}` });
  return { store, close: () => store.close() };
};

storeContract('log', openEmptyStore);
storeHistoryProperty('log', openEmptyStore, { runs: 15, stepsPerClient: 15 });

const rejectsWithCode = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OperatorError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  assert.ok(error.nextStep.length > 0);
  return true;
};

/** Opens until the refusal is not only that nothing was connected in time, as on a machine without a free core. */
const refusalOf = (opening: () => Promise<DurableStore>): Promise<unknown> =>
  eventually(
    () =>
      opening().then(
        async (store) => {
          await store.close();
          return undefined;
        },
        (error: unknown) => (/not connected/.test(String(error)) ? undefined : error),
      ),
    'a refusal by the servers',
  );

test('log: servers that cannot be reached are an operator error that hides the password', async () => {
  const servers = [`nats://user:secret@127.0.0.1:${await freePort()}`];
  const machine = { clock: createSystemClock(), ids, log: createSilentLog() };
  const error = await refusalOf(() => createLogStore({ servers, ...machine, startTimeoutMs: 300 }));
  rejectsWithCode('STORE_UNREACHABLE', /ECONNREFUSED|CONNECTION_REFUSED/)(error);
  assert.doesNotMatch(String(error), /secret/);
});

/** The streams of a store, as its servers have them. */
async function withStreams<T>(
  name: string,
  body: (streams: { connection: NatsConnection; names: LogNames; current: CurrentLog }) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: [...single.urls] });
  try {
    const names = logNames(name);
    const current = await readCurrent(connection, names);
    assert.ok(current !== undefined);
    return await body({ connection, names, current });
  } finally {
    await connection.close();
  }
}

const create = (name: string) => ({ kind: 'create', key: `core/pods/default/${name}`, value: `"${name}"` }) as const;

async function writeEach(store: DurableStore, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.write([create(`p${n}`)]);
}

test('log: the log is dropped behind snapshots, and a process that starts later has the same state and revisions', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name, snapshotEntries: 20 });
  await writeEach(store, 100);
  const first = await eventually(
    () =>
      withStreams(name, async ({ connection, current }) => {
        const info = await streamInfo(connection, current.stream);
        return info !== undefined && info.firstSequence > 40 ? info.firstSequence : undefined;
      }),
    'the beginning of the log is dropped',
  );
  const late = await open(single, { name });
  assert.deepEqual(await late.list(''), await store.list(''));
  assert.equal(late.usage().objectBytes, store.usage().objectBytes);
  const kept = await late.compactedRevision();
  assert.ok(kept > 0 && kept < 100, `history begins after ${kept}, the log at ${first}`);
  assert.deepEqual(await changesUpTo(late, kept, 100), await changesUpTo(store, kept, 100));
  await late.write([create('late')]);
  assert.equal((await store.get('core/pods/default/late')).object?.revision, 101);
  await Promise.all([store.close(), late.close()]);
});

test('log: a snapshot with a damaged part is not used: the other one serves, or nothing does', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name, snapshotEntries: 20 });
  await writeEach(store, 100);
  await eventually(
    () =>
      withStreams(name, async ({ connection, current }) => {
        const info = await streamInfo(connection, current.stream);
        return info !== undefined && info.firstSequence > 40;
      }),
    'the beginning of the log is dropped',
  );
  await store.close();
  const damage = (which: 'newest' | 'previous') =>
    withStreams(name, async ({ connection, names, current }) => {
      const manifest = await lastMessage(connection, names.baseStream, names.manifestSubject(current.lineage));
      const { position = 0 } = decodeManifests(manifest?.data ?? Buffer.alloc(0))[which] ?? {};
      const subject = names.partSubject(current.lineage, position, 0);
      await storeMessage(connection, { stream: names.baseStream, subject, data: Buffer.from('{}\n') });
    });
  await damage('previous');
  const late = await open(single, { name });
  assert.equal((await late.list('')).objects.length, 100);
  await late.close();
  await damage('newest');
  await assert.rejects(
    open(single, { name }),
    rejectsWithCode('STORE_DAMAGED', /no complete snapshot reaches that far/),
  );
});

test('log: I5: a log that was created anew behind a running process halts it, and a later start refuses it', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name });
  await writeEach(store, 5);
  await withStreams(name, async ({ connection, names, current }) => {
    await deleteStream(connection, current.stream);
    const refusal = await refusalOf(() => open(single, { name, startTimeoutMs: 500 }));
    rejectsWithCode('STORE_DAMAGED', /not the log itself/)(refusal);
    await createStream(connection, logStreamConfig(names, current.lineage, 1));
  });
  await assert.rejects(store.write([create('x')]));
  await eventually(() => store.haltedBy() !== undefined, 'the store is halted');
  assert.match(store.haltedBy() ?? '', /the log went back/);
  await store.close();
  await assert.rejects(open(single, { name }), rejectsWithCode('STORE_UNSAFE', /created anew/));
});

test('log: an entry of a later version ends the service of this one with the next step, not with a guess', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name });
  await withStreams(name, ({ connection, names, current }) =>
    storeMessage(connection, {
      stream: current.stream,
      subject: names.logSubject(current.lineage),
      data: Buffer.from('{"f":2}\n'),
    }),
  );
  await eventually(async () => (await store.health()).join().includes('update this API server'), 'it refuses');
  await assert.rejects(store.get('core/pods/default/a'), { name: 'StoreUnavailable' });
  assert.equal(store.haltedBy(), undefined);
  await store.close();
});

test('log: a halt is recorded: every process halts, and so does one that starts later', async () => {
  const name = `T${ids.suffix(8)}`;
  const [one, other] = [await open(single, { name }), await open(single, { name })];
  one.halt('two histories');
  await eventually(() => other.haltedBy() === 'two histories', 'the other process halts');
  const late = await open(single, { name });
  assert.equal(late.haltedBy(), 'two histories');
  await Promise.all([one, other, late].map((store) => store.close()));
});

test('log: I8: servers that acknowledge before they sync, and servers that nobody can ask, are refused', async () => {
  await using lax = await startLogServers({ syncAlways: false });
  await assert.rejects(
    open(lax),
    rejectsWithCode('STORE_UNSAFE', /sync_interval of the NATS server at .* is not "always"/),
  );
  const allowed = await open(lax, { allowUnsafe: true });
  assert.match(allowed.cautions?.().join() ?? '', /is not "always"/);
  await allowed.close();
  const blind = open(single, { name: `T${ids.suffix(8)}`, monitors: [] });
  await assert.rejects(blind, rejectsWithCode('STORE_UNSAFE', /--store-monitors/));
});

test('log: too few servers, and servers without JetStream, are operator errors with the next step', async () => {
  const few = await refusalOf(() => open(single, { name: `T${ids.suffix(8)}`, replicas: 3, startTimeoutMs: 500 }));
  rejectsWithCode('STORE_UNFIT', /cannot hold 3 replicas/)(few);
  await using without = await startLogServers({ jetstream: false });
  const unfit = await refusalOf(() => open(without, { startTimeoutMs: 500 }));
  rejectsWithCode('STORE_UNFIT', /JetStream/)(unfit);
});

test('log: a write larger than the servers take is definitely not applied, and says so', async () => {
  const store = await open(single, { name: `T${ids.suffix(8)}` });
  const value = JSON.stringify('x'.repeat(9_000_000));
  const large = { kind: 'create', key: 'core/pods/default/large', value } as const;
  const [refused, small] = await Promise.allSettled([store.write([large]), store.write([create('small')])]);
  assert.match(String(refused.status === 'rejected' && refused.reason), /WriteTooLarge.*max_payload/);
  assert.equal(small.status, 'fulfilled');
  await store.close();
});

test('log: an adoption ends the halt: the next epoch has the objects and higher revisions, the old one never writes again', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name, snapshotEntries: 20 });
  await writeEach(store, 50);
  store.halt('two histories');
  const revision = await adoptLogStore({
    servers: single.urls,
    replicas: 1,
    clock: createSystemClock(),
    ids,
    log: createSilentLog(),
    name,
  });
  const adopted = await open(single, { name });
  assert.deepEqual([await adopted.currentRevision(), adopted.haltedBy()], [revision, undefined]);
  assert.deepEqual(adopted.lineage(), { incarnation: store.lineage().incarnation, epoch: 2 });
  const { objects } = await adopted.list('');
  assert.deepEqual([objects.length, objects.find(({ key }) => key.endsWith('/p7'))?.revision], [50, 8]);
  await assert.rejects(changesUpTo(adopted, 50, 51), Compacted);
  assert.deepEqual(await adopted.write([create('next')]), {
    outcome: 'committed',
    firstRevision: revision + 1,
    lastRevision: revision + 1,
  });
  await assert.rejects(store.write([create('old')]), { name: 'StoreUnavailable' });
  const again = await open(single, { name });
  assert.equal(await again.currentRevision(), revision + 1);
  await Promise.all([store, adopted, again].map((each) => each.close()));
});

test('log: a backup of another form begins a log with equal objects above all revisions, and goes back to Redis', async () => {
  const name = `T${ids.suffix(8)}`;
  const machine = { clock: createSystemClock(), ids, log: createSilentLog() };
  const access = { ...machine, servers: single.urls, replicas: 1, name };
  const objects = ['a', 'b'].map((key, i) => ({
    key: `core/pods/default/${key}`,
    value: `"${key}"`,
    revision: 40 + i,
    createRevision: 9,
  }));
  const revision = await restoreLogStore(access, ids.uuid(), { objects, revision: 50 });
  const store = await open(single, { name });
  const page = await store.list('');
  assert.deepEqual([page.objects, page.revision], [objects, revision]);
  assert.ok(revision > 50);
  await store.write([create('c')]);
  await assert.rejects(
    restoreLogStore(access, ids.uuid(), { objects, revision: 50 }),
    rejectsWithCode('STORE_NOT_EMPTY', /hold a store/),
  );
  await using redis = await startRedis();
  const back = await restoreRedisStore({ ...machine, url: redis.url }, ids.uuid(), await store.list(''));
  assert.ok(back > revision + 1, 'revisions never go back');
  const again = await createRedisStore({ ...machine, url: redis.url });
  assert.deepEqual((await again.list('')).objects, (await store.list('')).objects);
  await Promise.all([store.close(), again.close()]);
});

test('log: parts of snapshots that came to nothing are dropped', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name, snapshotEntries: 20 });
  await withStreams(name, async ({ connection, names, current }) => {
    const subject = names.partSubject(current.lineage, 7, 0);
    await storeMessage(connection, { stream: names.baseStream, subject, data: Buffer.from('lost against another') });
    await writeEach(store, 100);
    const isDropped = async (): Promise<boolean> =>
      (await lastMessage(connection, names.baseStream, subject)) === undefined;
    await eventually(isDropped, 'the part is dropped');
  });
  const late = await open(single, { name });
  assert.equal((await late.list('')).objects.length, 100);
  await Promise.all([store.close(), late.close()]);
});

test('log: an epoch that began with a snapshot never begins again without it', async () => {
  const name = `T${ids.suffix(8)}`;
  const machine = { clock: createSystemClock(), ids, log: createSilentLog() };
  const access = { ...machine, servers: single.urls, replicas: 1, name };
  const objects = [{ key: 'core/pods/default/a', value: '"a"', revision: 4, createRevision: 4 }];
  await restoreLogStore(access, ids.uuid(), { objects, revision: 5 });
  const replace = (data: string) =>
    withStreams(name, async ({ connection, names, current }) => {
      const subject = names.partSubject(current.lineage, 0, 0);
      const message = await lastMessage(connection, names.baseStream, subject);
      await storeMessage(connection, { stream: names.baseStream, subject, data: Buffer.from(data) });
      return message?.data.toString() ?? '';
    });
  const whole = await replace('{}\n');
  await assert.rejects(
    open(single, { name }),
    rejectsWithCode('STORE_DAMAGED', /epoch 2 begins is missing or damaged/),
  );
  await replace(whole);
  const store = await open(single, { name });
  assert.equal((await store.list('')).objects.length, 1);
  await store.close();
});

test('log: a beginning that was interrupted twice has all its objects the third time', async () => {
  const name = `T${ids.suffix(8)}`;
  const seed = await open(single, { name });
  const lineage = { incarnation: ids.uuid(), epoch: 2 };
  await withStreams(name, async ({ connection, names, current }) => {
    const record = await lastMessage(connection, names.baseStream, names.recordSubject);
    const begin = (after: number): Promise<boolean> => {
      const table = new ObjectTable();
      table.restore({ key: 'core/pods/default/a', value: '"a"', revision: 4, createRevision: 4 });
      return beginEpoch(connection, { names, lineage, state: firstState(table, 9), replicas: 1, after });
    };
    assert.notEqual(current.stream, names.logStream(lineage));
    assert.deepEqual([await begin(99_999), await begin(99_999)], [false, false]);
    assert.equal(await begin(record?.sequence ?? 0), true);
  });
  const store = await open(single, { name });
  assert.equal((await store.list('')).objects.length, 1);
  await Promise.all([store.close(), seed.close()]);
});

test('log: a server that is of no use although it answers is left for another one', async () => {
  await using without = await startLogServers({ jetstream: false });
  const servers = [...without.urls, ...single.urls];
  const store = await open(single, { name: `T${ids.suffix(8)}`, servers });
  assert.equal(await store.currentRevision(), 0);
  await store.close();
});

test('log: a process that was away while the log was dropped tries again before it halts everybody', async () => {
  const name = `T${ids.suffix(8)}`;
  const port = Number(new URL(single.urls[0] ?? '').port);
  await using proxy = await SeverableProxy.start(port);
  const warnings: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void warnings.push(message) };
  const away = await open(single, { name, log, servers: [`nats://127.0.0.1:${proxy.port}`] });
  const store = await open(single, { name, snapshotEntries: 20 });
  proxy.lead(await freePort());
  proxy.cut();
  // Snapshots are seen when another process says the same.
  const third = await open(single, { name });
  await writeEach(store, 100);
  await withStreams(name, async ({ connection, names, current }) => {
    const isDropped = async (): Promise<boolean> => {
      await store.write([{ kind: 'update', key: 'core/pods/default/p0', value: '"p0"', expectedRevision: 0 }]);
      await third.currentRevision();
      return ((await streamInfo(connection, current.stream))?.firstSequence ?? 0) > 40;
    };
    await eventually(isDropped, 'the beginning of the log is dropped');
    // No snapshot is taken any more.
    await Promise.all([store.close(), third.close()]);
    const manifest = await lastMessage(connection, names.baseStream, names.manifestSubject(current.lineage));
    const { newest, previous } = decodeManifests(manifest?.data ?? Buffer.alloc(0));
    const subjects = [newest, previous].map((each) => names.partSubject(current.lineage, each?.position ?? 0, 0));
    const whole = await Promise.all(subjects.map((subject) => lastMessage(connection, names.baseStream, subject)));
    const put = async (data: (index: number) => Buffer): Promise<void> => {
      for (const [index, subject] of subjects.entries())
        await storeMessage(connection, { stream: names.baseStream, subject, data: data(index) });
    };
    await put(() => Buffer.from('not to be read now'));
    proxy.lead(port);
    await eventually(() => warnings.includes('the log cannot be read again'), 'the first attempt fails');
    await put((index) => whole[index]?.data ?? Buffer.alloc(0));
  });
  await eventually(async () => {
    const objects = await away.list('').then(
      (page) => page.objects.length,
      () => 0,
    );
    return objects === 100;
  }, 'it serves again');
  assert.equal(away.haltedBy(), undefined);
  await away.close();
});

test('log: nobody sees a snapshot before another process has made the same of the log', async () => {
  const name = `T${ids.suffix(8)}`;
  const other = await open(single, { name });
  const store = await open(single, { name, snapshotEntries: 20 });
  await writeEach(store, 60);
  await withStreams(name, async ({ connection, names, current }) => {
    const last = (subject: string) => lastMessage(connection, names.baseStream, subject);
    const positions = Array.from({ length: 60 }, (_, position) => names.partSubject(current.lineage, position, 0));
    await eventually(async () => {
      const parts = await Promise.all(positions.map(last));
      return parts.some((part) => part !== undefined);
    }, 'the parts of a snapshot are stored');
    assert.equal(await last(names.manifestSubject(current.lineage)), undefined);
    await other.currentRevision();
    await eventually(async () => (await last(names.manifestSubject(current.lineage))) !== undefined, 'it is confirmed');
  });
  await Promise.all([store.close(), other.close()]);
});

test('log: I7: a process that another one contradicts, and that nobody agrees with, serves no more', async () => {
  const name = `T${ids.suffix(8)}`;
  const store = await open(single, { name });
  await writeEach(store, 5);
  await withStreams(name, async ({ connection, names, current }) => {
    const claim = { sequence: 3, digest: 'something else' };
    const stranger = { session: 'other', number: 1, claim, limits: undefined, writes: [] };
    const data = encodeEntry({ ...stranger, command: { kind: 'open' } });
    await storeMessage(connection, { stream: current.stream, subject: names.logSubject(current.lineage), data });
  });
  await eventually(() => store.haltedBy() !== undefined, 'it stops');
  assert.match(store.haltedBy() ?? '', /made something else of the same log/);
  await assert.rejects(store.get('core/pods/default/p1'), { name: 'StoreUnavailable' });
  await store.close();
});
