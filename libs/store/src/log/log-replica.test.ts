import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { LogServers, noteWarnings, writeEach } from './testing.ts';

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
