import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock, type Log } from '@holdfast/platform';
import { readSettings } from '@holdfast/platform/config';
import { eventually } from '@holdfast/platform/contract';
import { AUDIT_QUEUE_EVENTS_MAX, AUDIT_STOP_MS, AUDIT_WEBHOOK_BATCH_EVENTS } from '../limits.ts';
import { tls } from '../testing/https.ts';
import { openAudit } from './configuration.ts';
import { type AuditFile, createLogSink } from './log-sink.ts';
import { createRotatingFile } from './rotating-file.ts';
import { AUDIT_SETTINGS, readAuditConfig } from './settings.ts';
import type { AuditMode } from './sink.ts';
import { createWebhookSink } from './webhook-sink.ts';

const clock = createSystemClock();
const log = createSilentLog();

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'holdfast-audit-'));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Counts log messages. */
function countingLog(): { readonly log: Log; readonly said: string[] } {
  const said: string[] = [];
  const note = (message: string): void => void said.push(message);
  return { said, log: { ...createSilentLog(), error: note, info: note } };
}

function fakeFile(append: (text: string) => Promise<void>): AuditFile {
  return { open: async () => {}, append, close: async () => {} };
}

const settings = (given: Record<string, string | number>): Parameters<typeof readAuditConfig>[0] => {
  const defaults = Object.entries(AUDIT_SETTINGS).map(([name, spec]) => [
    name,
    'default' in spec ? spec.default : undefined,
  ]);
  return { ...Object.fromEntries(defaults), ...given } as Parameters<typeof readAuditConfig>[0];
};

const ROOMY = { maxBytes: 1e9, maxBackups: 0, maxAgeMs: 0 };

test('only the owner can read the audit log, also when the file existed before', async (t) => {
  const file = path.join(await folder(t), 'new', 'audit.log');
  const rotating = createRotatingFile(file, ROOMY, clock);
  await rotating.open();
  await rotating.append('a\n');
  await rotating.close();
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const other = path.join(path.dirname(file), 'other.log');
  await writeFile(other, 'before\n', { mode: 0o644 });
  const again = createRotatingFile(other, ROOMY, clock);
  await again.open();
  await again.append('after\n');
  await again.close();
  assert.equal((await stat(other)).mode & 0o777, 0o600);
  assert.equal(await readFile(other, 'utf8'), 'before\nafter\n');
});

test('a log that was removed or moved by others, and undeletable old files, lose no events', async (t) => {
  const made = await folder(t);
  const file = path.join(made, 'audit.log');
  const rotating = createRotatingFile(file, { maxBytes: 10, maxBackups: 1, maxAgeMs: 0 }, clock);
  // Two folders with names like files that were put aside: the older cannot be removed as a file.
  await mkdir(path.join(made, 'audit-2020-01-01T00-00-00.000.log'));
  await mkdir(path.join(made, 'audit-2020-01-01T00-00-01.000.log'));
  await rotating.open();
  await rotating.append('line-0\n');
  await rm(file);
  await rotating.append('line-1\n');
  await rotating.append('line-2\n');
  await rotating.append('line-3\n');
  await rotating.close();
  assert.equal(await readFile(file, 'utf8'), 'line-3\n');
});

test('a log above its maximum size is rotated, and only the newest files are kept', async (t) => {
  const made = await folder(t);
  const rotating = createRotatingFile(
    path.join(made, 'audit.log'),
    { maxBytes: 10, maxBackups: 2, maxAgeMs: 0 },
    clock,
  );
  await writeFile(path.join(made, 'audit-notes.log'), 'not ours');
  await rotating.open();
  for (let i = 0; i < 6; i++) await rotating.append(`line-${i}\n`);
  await rotating.close();
  const names = (await readdir(made)).filter((name) => /^audit-\d{4}-/.test(name)).toSorted();
  const kept = await Promise.all(names.map((name) => readFile(path.join(made, name), 'utf8')));
  assert.deepEqual(kept, ['line-3\n', 'line-4\n']);
  assert.equal(await readFile(path.join(made, 'audit.log'), 'utf8'), 'line-5\n');
  assert.equal(await readFile(path.join(made, 'audit-notes.log'), 'utf8'), 'not ours');
});

test('a log above its maximum age is removed', async (t) => {
  const made = await folder(t);
  const old = path.join(made, 'audit-2020-01-01T00-00-00.000.log');
  await writeFile(old, 'old');
  const rotating = createRotatingFile(
    path.join(made, 'audit.log'),
    { maxBytes: 1, maxBackups: 0, maxAgeMs: 1_000 },
    clock,
  );
  await rotating.open();
  await rotating.append('a\n');
  await rotating.append('b\n');
  await rotating.close();
  assert.ok(!(await readdir(made)).includes(path.basename(old)));
});

for (const [mode, kept] of [
  ['blocking', true],
  ['blocking-strict', false],
  ['batch', undefined],
] as const satisfies readonly (readonly [AuditMode, boolean | undefined])[]) {
  test(`a full disk loses events, counts them and logs it once (${mode})`, async () => {
    let isFull = true;
    const written: string[] = [];
    const { log: counting, said } = countingLog();
    const file = fakeFile(async (text) => {
      if (isFull) throw new Error('ENOSPC: no space left on device, write');
      written.push(text);
    });
    const sink = createLogSink({ file, mode, clock, log: counting });
    for (const event of ['1', '2']) assert.equal(await sink.take(event), kept);
    await eventually(async () => sink.lost() === 2, 'both are counted');
    isFull = false;
    await sink.take('3');
    await eventually(async () => written.length === 1, 'it is written again');
    await sink.stop();
    assert.deepEqual(written, ['3\n']);
    assert.deepEqual(said, [
      'audit events are lost: the audit log cannot be written',
      'the audit log is written again',
    ]);
  });
}

test('after a partial write the next event starts on a new line', async (t) => {
  const file = path.join(await folder(t), 'audit.log');
  const rotating = createRotatingFile(file, ROOMY, clock);
  await rotating.open();
  await rotating.append('{"whole":1}\n');
  await rotating.close();
  await writeFile(file, '{"torn', { flag: 'a' });
  const again = createRotatingFile(file, ROOMY, clock);
  await again.open();
  await again.append('{"whole":2}\n');
  await again.close();
  const lines = (await readFile(file, 'utf8')).split('\n');
  assert.deepEqual(lines, ['{"whole":1}', '{"torn', '{"whole":2}', '']);
});

test('events that arrive during a write are written together, in order', async () => {
  const writes: string[] = [];
  const first = Promise.withResolvers<void>();
  const file = fakeFile(async (text) => {
    writes.push(text);
    if (writes.length === 1) await first.promise;
  });
  const sink = createLogSink({ file, mode: 'batch', clock, log });
  sink.take('1');
  await eventually(async () => writes.length === 1, 'the first write is under way');
  for (const event of ['2', '3', '4']) sink.take(event);
  first.resolve();
  await sink.stop();
  assert.deepEqual(writes, ['1\n', '2\n3\n4\n']);
});

test('a sink that hangs holds a bounded number of events', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sink = createLogSink({ file: fakeFile(() => promise), mode: 'batch', clock, log });
  sink.take('under way');
  await Promise.resolve();
  await Promise.resolve();
  for (let i = 0; i < AUDIT_QUEUE_EVENTS_MAX + 100; i++) sink.take('{}');
  assert.ok(sink.lost() >= 99, String(sink.lost()));
  resolve();
  await sink.stop();
});

test('a failed webhook call is retried, and events keep their order', async () => {
  const bodies: string[] = [];
  let failures = 2;
  const sleeps: number[] = [];
  const quick = {
    ...clock,
    timer: (_delay: number, fire: () => void) => clock.timer(0, fire),
    sleep: async (delay: number) => void sleeps.push(delay),
  };
  const send = async (body: string): Promise<void> => {
    if (failures-- > 0) throw new Error('the webhook answered with status 503');
    bodies.push(body);
  };
  const sink = createWebhookSink({ send, close: async () => {}, clock: quick, log });
  for (const event of ['{"a":1}', '{"a":2}']) assert.equal(sink.take(event), undefined);
  await eventually(async () => bodies.length === 1, 'the batch arrives');
  await sink.stop();
  assert.deepEqual(JSON.parse(bodies[0] ?? ''), {
    kind: 'EventList',
    apiVersion: 'audit.k8s.io/v1',
    metadata: {},
    items: [{ a: 1 }, { a: 2 }],
  });
  assert.deepEqual(sleeps, [1_000, 2_000]);
  assert.equal(sink.lost(), 0);
});

test('an event that comes while the last batch ends is sent without another one', async () => {
  const quick = { ...clock, timer: (_: number, fire: () => void) => clock.timer(0, fire) };
  for (let turns = 0; turns < 12; turns++) {
    const bodies: string[] = [];
    const send = async (body: string): Promise<void> => {
      bodies.push(body);
      if (bodies.length > 1) return;
      const takeLater = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        sink.take('{"late":1}');
      };
      void takeLater();
    };
    const sink = createWebhookSink({ send, close: async () => {}, clock: quick, log });
    sink.take('{"first":1}');
    await eventually(async () => bodies.join('').includes('late'), `it is sent when it comes ${turns} turns later`);
    await sink.stop();
  }
});

test('an unavailable webhook loses a bounded number of events, logs one line, and fails no request', async () => {
  const { log: counting, said } = countingLog();
  const quick = { ...clock, timer: (_: number, fire: () => void) => clock.timer(0, fire), sleep: async () => {} };
  const send = async (): Promise<void> => {
    throw new Error('connection refused');
  };
  const sink = createWebhookSink({ send, close: async () => {}, clock: quick, log: counting });
  for (let i = 0; i < AUDIT_QUEUE_EVENTS_MAX * 2; i++) assert.equal(sink.take('{}'), undefined);
  await sink.stop();
  assert.equal(sink.lost(), AUDIT_QUEUE_EVENTS_MAX * 2);
  assert.deepEqual(said, ['audit events are lost: the audit webhook does not accept them']);
});

/** Only the deadline of a stop passes, immediately. */
const stopsAtOnce = {
  ...clock,
  timer: (delayMs: number, fire: () => void) =>
    delayMs === AUDIT_STOP_MS ? clock.timer(0, fire) : { cancel: () => {} },
};

test('a webhook that delays the stop loses the queued events, which are counted and logged', async () => {
  const { log: counting, said } = countingLog();
  let closed = 0;
  const answer = Promise.withResolvers<void>();
  const close = async (): Promise<void> => {
    closed += 1;
    answer.reject(new Error('closed'));
  };
  const sink = createWebhookSink({ send: () => answer.promise, close, clock: stopsAtOnce, log: counting });
  for (let i = 0; i < AUDIT_WEBHOOK_BATCH_EVENTS + 7; i++) sink.take('{}');
  await sink.stop();
  assert.equal(sink.lost(), AUDIT_WEBHOOK_BATCH_EVENTS + 7);
  sink.take('{}');
  assert.equal(
    sink.lost(),
    AUDIT_WEBHOOK_BATCH_EVENTS + 8,
    'what comes later is counted once, and so is what was on its way',
  );
  assert.equal(closed, 1);
  assert.equal(said[0], 'audit events are lost: the server stops before the audit webhook has accepted them');
});

test('a stop delivers all queued events, batch by batch', async () => {
  const sizes: number[] = [];
  const send = async (body: string): Promise<void> => {
    sizes.push((JSON.parse(body) as { items: unknown[] }).items.length);
  };
  const sink = createWebhookSink({
    send,
    close: async () => {},
    clock: { ...clock, timer: () => ({ cancel: () => {} }) },
    log,
  });
  const first = AUDIT_WEBHOOK_BATCH_EVENTS;
  for (let i = 0; i < first * 2 + 5; i++) sink.take('{}');
  await sink.stop();
  assert.deepEqual([sizes, sink.lost()], [[first, first, 5], 0]);
});

test('a log file that delays the stop loses the queued events, which are counted and logged', async () => {
  const { log: counting, said } = countingLog();
  const file = fakeFile(() => new Promise(() => {}));
  const sink = createLogSink({ file, mode: 'batch', clock: stopsAtOnce, log: counting });
  for (const event of ['1', '2']) sink.take(event);
  await Promise.resolve();
  sink.take('3');
  await sink.stop();
  assert.equal(sink.lost(), 3);
  assert.deepEqual(said, ['audit events are lost: the server stops before the audit log is written']);
  sink.take('4');
  assert.equal(sink.lost(), 4, 'what comes after the stop is counted, too');
});

test('a webhook from a kubeconfig is called over TLS with its credentials', async (t) => {
  const asked: { readonly authorization: string | undefined; readonly body: string }[] = [];
  const server = createServer({ cert: tls.certificate, key: tls.key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      asked.push({ authorization: request.headers.authorization, body: Buffer.concat(chunks).toString() });
      response.end();
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/events`;
  const made = await folder(t);
  const kubeconfig = {
    clusters: [
      {
        name: 'c',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(tls.certificate).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  const [policyFile, webhookFile] = [path.join(made, 'policy.yaml'), path.join(made, 'kubeconfig')];
  await writeFile(policyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n');
  await writeFile(webhookFile, JSON.stringify(kubeconfig));
  const config = readAuditConfig(
    settings({ 'audit-policy-file': policyFile, 'audit-webhook-config-file': webhookFile }),
  );
  const opened = await openAudit(config, { clock, log });
  const [sink] = opened?.sinks ?? [];
  sink?.take('{"a":1}');
  await sink?.stop();
  assert.deepEqual(
    asked.map(({ authorization, body }) => [authorization, (JSON.parse(body) as { items: unknown }).items]),
    [['Bearer secret', [{ a: 1 }]]],
  );
});

test('operator mistakes are reported in one sentence with the next step', async (t) => {
  const made = await folder(t);
  const policyFile = path.join(made, 'policy.yaml');
  const refusal = (given: Record<string, string>): Promise<string> =>
    Promise.resolve()
      .then(() => openAudit(readAuditConfig(settings(given)), { clock, log }))
      .then(async (opened) => opened?.sinks[0]?.start())
      .then(
        () => assert.fail('it is refused'),
        (error: Error & { nextStep?: string }) => `${error.message} ${error.nextStep}`,
      );
  assert.match(await refusal({ 'audit-log-path': '-' }), /^--audit-log-path needs --audit-policy-file Name a file/);
  assert.match(await refusal({ 'audit-policy-file': policyFile }), /have no place to go Say with --audit-log-path/);
  const logPath = path.join(made, 'audit.log');
  const both = { 'audit-policy-file': policyFile, 'audit-log-path': logPath };
  assert.match(await refusal(both), /cannot be read\. Check the path/);
  await writeFile(policyFile, 'rules: [{level: Everything}]');
  assert.match(
    await refusal(both),
    /cannot be used: apiVersion: must be audit.k8s.io\/v1; .*not "Everything"\. Correct the file/,
  );
  await writeFile(policyFile, ': : [');
  assert.match(await refusal(both), /is not valid YAML: .* Correct the file\.$/);
  await writeFile(policyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n');
  const unwritable = { ...both, 'audit-log-path': path.join(policyFile, 'audit.log') };
  assert.match(await refusal(unwritable), /^The audit log .* cannot be written: .*Name a file in a folder/);
  assert.throws(
    () => readSettings(AUDIT_SETTINGS, { argv: ['--audit-log-mode=fast'], env: {} }),
    /takes one of batch, blocking, blocking-strict, not "fast"/,
  );
});
