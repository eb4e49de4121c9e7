import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from './clock.ts';
import { eventually } from './contract/index.ts';
import { nextTurn } from './event-loop.ts';
import { createSilentLog, type Log, type LogFields } from './log.ts';
import { PAIR_LOOK_INTERVAL_MS, type TlsPair, watchPair } from './pair-watch.ts';
import { createVirtualClock } from './testing/index.ts';
import { createPair } from './testing/pair.ts';

const DAY_MS = 86_400_000;
const LONG_AGO_MS = 1_577_836_800_000;

interface Said {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

function recordingLog(): { readonly log: Log; readonly said: Said[] } {
  const said: Said[] = [];
  const at =
    (level: Said['level']) =>
    (message: string, fields: LogFields = {}) => {
      said.push({ level, message, fields });
    };
  return { said, log: { ...createSilentLog(), info: at('info'), warn: at('warn'), error: at('error') } };
}

async function follow(t: TestContext, startMs = LONG_AGO_MS) {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-pair-watch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [certFile, keyFile] = [path.join(folder, 'tls.crt'), path.join(folder, 'tls.key')];
  const put = ({ certificate, key }: Partial<TlsPair>): void => {
    if (certificate !== undefined) writeFileSync(certFile, certificate);
    if (key !== undefined) writeFileSync(keyFile, key);
  };
  const pair = createPair();
  put(pair);
  const clock = createVirtualClock(startMs);
  const { log, said } = recordingLog();
  const renewals: TlsPair[] = [];
  const server = { refuses: false };
  const renew = (to: TlsPair): void => {
    if (server.refuses) throw new Error('no');
    renewals.push(to);
  };
  const watch = watchPair({ certFile, keyFile, pair, renew, clock, log });
  t.after(() => watch.stop());
  await watch.start();
  const look = async (): Promise<void> => {
    await clock.advance(PAIR_LOOK_INTERVAL_MS);
    await eventually(() => clock.pendingTimers() === 1, 'the look is over');
  };
  return { put, pair, keyFile, clock, said, renewals, server, watch, look };
}

test('a renewed pair is taken once, when both files are there, and the end of its validity is told', async (t) => {
  const { put, pair, said, renewals, look } = await follow(t);
  const renewed = createPair();
  await look();
  put({ certificate: renewed.certificate });
  await look();
  assert.deepEqual([renewals, said], [[], []]);
  put({ key: renewed.key });
  await look();
  await look();
  assert.deepEqual(renewals, [renewed]);
  assert.deepEqual(
    said.map(({ level, message }) => [level, message]),
    [['info', 'new connections get the renewed certificate']],
  );
  assert.match(String(said[0]?.fields['validUntil']), /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  put(pair);
  await look();
  assert.deepEqual(renewals, [renewed, pair]);
});

test('a pair that does not fit is reported once, with its reason, and never taken', async (t) => {
  const { put, said, renewals, look } = await follow(t);
  put({ certificate: createPair().certificate });
  for (let i = 0; i < 4; i++) await look();
  assert.deepEqual(renewals, []);
  assert.deepEqual(
    said.map(({ level }) => level),
    ['warn'],
  );
  assert.match(String(said[0]?.fields['why']), /tls\.key does not belong to .*tls\.crt$/);
  assert.match(String(said[0]?.fields['nextStep']), /^Write a certificate and the key/);
});

test('an expired pair is taken with a warning', async (t) => {
  const { put, said, renewals, look } = await follow(t, createSystemClock().now() + 3 * DAY_MS);
  put(createPair());
  await look();
  assert.equal(renewals.length, 1);
  assert.deepEqual(
    said.map(({ level }) => level),
    ['info', 'warn'],
  );
});

test('a stopped watch looks no more', async (t) => {
  const { watch, clock } = await follow(t);
  await watch.stop();
  assert.equal(clock.pendingTimers(), 0);
});

test('a watch that is stopped during a look takes nothing', async (t) => {
  const { put, renewals, watch, clock, keyFile } = await follow(t);
  const renewed = createPair();
  put(renewed);
  rmSync(keyFile);
  execFileSync('mkfifo', [keyFile]);
  clock.skip(PAIR_LOOK_INTERVAL_MS);
  await watch.stop();
  // The look goes on when the key has been written.
  const keyRead = once(createWriteStream(keyFile).end(renewed.key), 'close');
  await keyRead;
  for (let turn = 0; turn < LOOK_TURNS; turn++) await nextTurn();
  assert.deepEqual([renewals, clock.pendingTimers()], [[], 0]);
});

/** More than a look takes behind its last file. */
const LOOK_TURNS = 50;

test('a server that refuses a pair keeps the one before, and is asked again', async (t) => {
  const { put, said, renewals, server, look } = await follow(t);
  const renewed = createPair();
  put(renewed);
  server.refuses = true;
  await look();
  assert.deepEqual([renewals, said.map(({ level }) => level)], [[], ['error']]);
  server.refuses = false;
  await look();
  assert.deepEqual(renewals, [renewed]);
});

test('a stop does not wait for a file that does not answer', async (t) => {
  const { watch, clock, keyFile } = await follow(t);
  rmSync(keyFile);
  execFileSync('mkfifo', [keyFile]);
  clock.skip(PAIR_LOOK_INTERVAL_MS);
  await watch.stop();
  // Opens the other end, so that the thread that waits for it is free.
  writeFileSync(keyFile, '');
});
