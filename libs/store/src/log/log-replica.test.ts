import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
import { pod } from '../contract/support.ts';
import {
  ADOPTION_JUMP,
  LOG_INCOMPLETE_READINGS,
  LOG_MOVE_ON_AFTER_MS,
  LOG_REQUEST_TIMEOUT_MS,
  LOG_SNAPSHOT_PART_BYTES,
} from '../limits.ts';
import { OutcomeUnknown, StoreUnavailable } from '../port.ts';
import { adoptLogStore } from './adopt.ts';
import { encodeEntry } from './entry.ts';
import { LogServers, noteWarnings, write, writeEach } from './testing.ts';

const namesFrom = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `p${first + n}`);

test('a process that read on after a snapshot needs no newer one when it did not reach the end in time', async () => {
  const servers = new LogServers();
  const { log, warnings } = noteWarnings();
  const away = await servers.open({ log, startTimeoutMs: 6_000 });
  const mend = servers.cut(away);
  const writer = await servers.open();
  await writeEach(servers, writer, namesFrom(0, 20));
  await writer.close();
  servers.takesEntries = () => false;
  await servers.snapshotAt(10);
  await servers.snapshotAt(15);
  mend();
  await servers.until(() => warnings.includes('the log cannot be read again'), 'the first attempt fails');
  assert.equal(away.revision, 20, 'it has read on');
  servers.takesEntries = () => true;
  await servers.until(() => away.trouble() === undefined, 'it serves again');
  await away.close();
});

test('what was sent while a snapshot was loaded may be in that snapshot: its outcome is unknown', async () => {
  const servers = new LogServers();
  const away = await servers.open();
  const mend = servers.cut(away);
  const writer = await servers.open();
  await writeEach(servers, writer, namesFrom(0, 20));
  await servers.snapshotAt(10);
  await servers.snapshotAt(15);
  let isLoading = false;
  const { promise: written, resolve: goOn } = Promise.withResolvers<void>();
  servers.beforeRequest = async (subject) => {
    if (!subject.includes('.MSG.GET.')) return;
    isLoading = true;
    await written;
  };
  mend();
  await servers.until(() => isLoading, 'it asks for the snapshots');
  const before = servers.last;
  const outcome = away.write(write('sent')).catch((error: unknown) => error);
  await servers.until(() => servers.last > before, 'its entry is stored');
  servers.beforeRequest = async () => undefined;
  await writeEach(servers, writer, namesFrom(20, 10));
  await servers.snapshotAt(servers.last - 4);
  await servers.snapshotAt(servers.last - 2);
  goOn();
  assert.ok((await servers.settle(outcome)) instanceof OutcomeUnknown);
  await servers.until(() => away.trouble() === undefined, 'it serves again');
  assert.notEqual(away.table.get(pod('sent')), undefined);
  await Promise.all([away, writer].map((each) => each.close()));
});

test('a snapshot that takes long to load arrives on one connection, although nothing else comes back meanwhile', async () => {
  const servers = new LogServers();
  const { log, warnings } = noteWarnings();
  const away = await servers.open({ log, servers: ['nats://a', 'nats://b'] });
  const mend = servers.cut(away);
  const writer = await servers.open();
  const large = JSON.stringify('x'.repeat(LOG_SNAPSHOT_PART_BYTES));
  await writeEach(servers, writer, namesFrom(0, 10), large);
  await servers.snapshotAt(servers.last - 1);
  await servers.snapshotAt(servers.last);
  servers.beforeRequest = async (subject) => {
    if (subject.includes('.MSG.GET.')) await servers.clock.sleep(LOG_REQUEST_TIMEOUT_MS / 2);
  };
  const reading = away.barrier().catch(() => 'given up');
  const mendedAt = servers.clock.monotonic();
  mend();
  await servers.until(() => away.trouble() === undefined, 'it serves again');
  assert.ok(servers.clock.monotonic() - mendedAt > LOG_MOVE_ON_AFTER_MS, 'it took long');
  assert.equal(warnings.filter((warning) => warning.startsWith('moving on')).length, 0);
  assert.equal(await reading, 'given up');
  await Promise.all([away, writer].map((each) => each.close()));
});

/** Servers whose log has lost its last entries, although a snapshot has them. */
async function makeRegressed(lost: number): Promise<LogServers> {
  const servers = new LogServers();
  const writer = await servers.open();
  await writeEach(servers, writer, namesFrom(0, 20));
  await writer.close();
  await servers.snapshotAt(10);
  await servers.snapshotAt(servers.last);
  servers.lose(lost);
  return servers;
}

for (const lost of [1, 5]) {
  for (const acknowledges of [true, false]) {
    const how = acknowledges ? 'acknowledged' : 'read';
    test(`I5: a log that ends ${lost} before its newest snapshot is not served once an entry is ${how}`, async () => {
      const servers = await makeRegressed(lost);
      servers.acknowledges = acknowledges;
      const replica = await servers.open();
      assert.match(
        replica.haltedBy ?? '',
        acknowledges ? /the log went back.*was stored at/ : /the log went back.*it ends at entry/,
      );
      await assert.rejects(replica.barrier(), StoreUnavailable);
      await replica.close();
    });
  }

  for (const halted of [0, 1, 4])
    test(`an adoption of a log that ends ${lost} before its newest snapshot continues with the snapshot (${halted} halted)`, async () => {
      const servers = await makeRegressed(lost);
      for (let i = 0; i < halted; i++) await (await servers.open()).close();
      const machine = { clock: servers.clock, ids: createIds(createSystemRandom()), log: createSilentLog() };
      const options = { ...machine, servers: ['nats://a'] };
      const revision = await servers.settle(adoptLogStore(options, () => servers.dial()));
      assert.equal(revision, ADOPTION_JUMP + 20);
    });
}

/** Takes two snapshots whenever somebody has read which there are, so that those are dropped: as often as asked. */
function outrun(servers: LogServers, times: number): void {
  let isOutrunning = false;
  let left = times;
  servers.beforeRequest = async (_subject, body) => {
    if (isOutrunning || left === 0 || !body.includes('.parts.')) return;
    isOutrunning = true;
    left -= 1;
    const { last } = servers;
    for (const payload of [1, 2]) servers.append(strangeEntry(`${last} ${payload}`));
    await servers.snapshotAt(last + 1);
    await servers.snapshotAt(last + 2);
    isOutrunning = false;
  };
}

const strangeEntry = (session: string): Buffer =>
  encodeEntry({ session, number: 1, claim: undefined, limits: undefined, command: undefined, writes: [] });

test('snapshots that are dropped while they are loaded are no lost entries: nobody is halted', async () => {
  const servers = new LogServers();
  const away = await servers.open();
  const mend = servers.cut(away);
  const writer = await servers.open();
  await writeEach(servers, writer, namesFrom(0, 20));
  await writer.close();
  await servers.snapshotAt(10);
  await servers.snapshotAt(20);
  // Each reading tries both snapshots.
  outrun(servers, 2 * (LOG_INCOMPLETE_READINGS + 1));
  mend();
  await servers.until(() => away.trouble() === undefined && away.revision === 20, 'it serves again');
  assert.equal(away.haltedBy, undefined);
  await away.close();
});

test('a process that starts and is outrun by snapshots reads them again', async () => {
  const servers = new LogServers();
  const writer = await servers.open();
  await writeEach(servers, writer, namesFrom(0, 20));
  await writer.close();
  await servers.snapshotAt(10);
  await servers.snapshotAt(20);
  outrun(servers, 2);
  const late = await servers.open();
  assert.equal(late.revision, 20);
  await late.close();
});

test('I5: a process that hears from another that has seen more of the log than there is halts, and so does everybody', async () => {
  const servers = new LogServers();
  const [one, other] = [await servers.open(), await servers.open()];
  await writeEach(servers, one, namesFrom(0, 3));
  const claim = { sequence: servers.last + 100, digest: 'x' };
  const ahead = { session: 'ahead', number: 1, claim, limits: undefined, writes: [] };
  servers.append(encodeEntry({ ...ahead, command: { kind: 'open' } }));
  for (const each of [one, other]) {
    await servers.until(() => each.haltedBy !== undefined, 'it halts');
    assert.match(each.haltedBy ?? '', /the log went back: an API server has seen more of it than entry \d+/);
  }
  await Promise.all([one, other].map((each) => each.close()));
});
