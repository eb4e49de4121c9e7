import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { type Evidence, findingsOf } from './guarantees.ts';
import { baseStreamConfig, logNames, logStreamConfig } from './layout.ts';

const names = logNames();
const lineage = { incarnation: '0123456789', epoch: 1 };
const current = { lineage, stream: names.logStream(lineage), created: '2026-11-23T00:00:00Z' };
const wanted = { names, current, replicas: 3 };

function evidence(change: Partial<Evidence> = {}, logSettings: Readonly<Record<string, unknown>> = {}): Evidence {
  const stream = { created: current.created, firstSequence: 1, lastSequence: 1, bytes: 1, cluster: undefined };
  return {
    serverVersion: '2.15.1',
    base: { ...stream, config: { ...baseStreamConfig(names, 3) } },
    log: { ...stream, config: { ...logStreamConfig(names, lineage, 3), ...logSettings } },
    record: current,
    monitors: ['a', 'b', 'c'].map((url) => ({ url, answer: { config: { sync_always: true } }, failure: undefined })),
    ...change,
  };
}

test('I8: when everything is in force there is nothing to say', () => {
  assert.deepEqual(findingsOf(evidence(), wanted), { broken: [], cautions: [] });
});

for (const [setting, value] of [
  ['num_replicas', 1],
  ['discard', 'old'],
  ['deny_delete', false],
  ['max_age', 1],
  ['max_msgs_per_subject', 5],
  ['allow_direct', true],
  ['storage', 'memory'],
] as const) {
  test(`I8: a log with ${setting} ${value} is not served`, () => {
    const { broken } = findingsOf(evidence({}, { [setting]: value }), wanted);
    assert.equal(broken.length, 1);
    assert.match(broken[0] ?? '', new RegExp(`^${setting} of stream HOLDFAST_LOG_01234567_1 is `));
  });
}

test('I8: a server that does not sync before it acknowledges is named, one whose settings are not seen only counts', () => {
  const lax = { url: 'b', answer: { config: { sync_interval: 1 } }, failure: undefined };
  const silent = { url: 'c', answer: undefined, failure: 'refused' };
  const [a] = evidence().monitors;
  assert.ok(a !== undefined);
  assert.match(findingsOf(evidence({ monitors: [a, lax, silent] }), wanted).broken.join(), /at b is not "always"/);
  const one = findingsOf(evidence({ monitors: [a, { ...a, url: 'b' }, silent] }), wanted);
  assert.deepEqual(one, { broken: [], cautions: ['c does not answer: refused'] });
  const two = findingsOf(evidence({ monitors: [a, silent, { ...silent, url: 'd' }] }), wanted);
  assert.match(two.broken.join(), /seen on 1 of 3/);
  const few = findingsOf(evidence({ monitors: [a] }), wanted);
  assert.match(few.broken.join(), /seen on 1 of 3 .*needs 2 monitoring addresses \(--store-monitors\), not 1/);
  assert.match(findingsOf(evidence({ monitors: [] }), wanted).broken.join(), /--store-monitors/);
});

test('I8: a server that has turned its JetStream off is as one that does not answer', () => {
  const [a, b] = evidence().monitors;
  assert.ok(a !== undefined && b !== undefined);
  const off = { url: 'c', answer: { disabled: true, config: {} }, failure: undefined };
  const { broken, cautions } = findingsOf(evidence({ monitors: [a, b, off] }), wanted);
  assert.deepEqual(broken, []);
  assert.match(cautions.join(), /^JetStream is off on the NATS server at c/);
  const most = findingsOf(evidence({ monitors: [a, off, { ...off, url: 'd' }] }), wanted);
  assert.match(most.broken.join(), /seen on 1 of 3/);
});

test('I5, I8: a stream that is gone or was created anew is not served, all findings are named together', () => {
  const { log } = evidence();
  assert.ok(log !== undefined);
  const anew = { ...log, created: '2027-01-01T00:00:00Z' };
  const { broken } = findingsOf(evidence({ log: anew, base: undefined, serverVersion: '2.9.10' }), wanted);
  assert.equal(broken.length, 3);
  assert.match(broken.join(), /2\.9\.10.*HOLDFAST_STORE does not exist.*created anew/);
});

test('I5, I8: a record that is gone or names another log is not served', () => {
  assert.deepEqual(findingsOf(evidence({ record: undefined }), wanted).broken, [
    'stream HOLDFAST_STORE has no record of the log',
  ]);
  for (const other of [{ stream: 'HOLDFAST_LOG_89abcdef_1' }, { created: '2027-01-01T00:00:00Z' }]) {
    const { broken } = findingsOf(evidence({ record: { ...current, ...other } }), wanted);
    assert.match(broken.join(), /^the record of stream HOLDFAST_STORE names another log/);
  }
});

test('I12: a replica that is not current is a caution, and so is a version with known faults', () => {
  const cluster = {
    leader: 'n0',
    replicas: [
      { name: 'n1', current: true },
      { name: 'n2', current: false },
    ],
  };
  const { log } = evidence();
  assert.ok(log !== undefined);
  const { broken, cautions } = findingsOf(evidence({ log: { ...log, cluster }, serverVersion: '2.11.4' }), wanted);
  assert.deepEqual(broken, []);
  assert.match(cautions.join(), /2\.12\.8.*replica of the log on n2 is not current/);
});

test('I8: a server before 2.11 is refused unless the operator accepts it, also one that is only seen by its monitor', () => {
  const old = evidence({ serverVersion: '2.10.29' });
  assert.match(findingsOf(old, wanted).broken.join(), /2\.10\.29.*--store-accept-old-servers/);
  const accepted = findingsOf(old, { ...wanted, acceptOldServers: true });
  assert.deepEqual(accepted.broken, []);
  assert.match(accepted.cautions.join(), /2\.10\.29: replication is sound from 2\.12\.8 on/);
  const [a, b, c] = evidence().monitors;
  assert.ok(a !== undefined && b !== undefined && c !== undefined);
  const one = evidence({ monitors: [a, { ...b, version: '2.10.27' }, { ...c, version: '2.15.1' }] });
  assert.match(findingsOf(one, wanted).broken.join(), /^a NATS server has version 2\.10\.27/);
  const never = findingsOf(evidence({ serverVersion: '2.9.10' }), { ...wanted, acceptOldServers: true });
  assert.match(never.broken.join(), /cannot sync before it acknowledges/);
});
