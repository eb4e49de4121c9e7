import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { decidePair, type PairDecision, type SeenPair, type TlsPair } from './served-pair.ts';
import { createPair } from './testing/pair.ts';

const served = createPair();
const renewed = createPair();
const endsMs = new X509Certificate(renewed.certificate).validToDate.getTime();
const NOW_MS = endsMs - 1_000;
const MISFIT = 'tls.key does not belong to tls.crt';

const seen = ({ certificate, key }: Partial<TlsPair>): SeenPair => ({
  certificate: { name: 'tls.crt', text: certificate },
  key: { name: 'tls.key', text: key },
});
const taken = { do: 'take', pair: renewed, endsMs } as const;
const first = (flaw: string): PairDecision => ({ do: 'keep', suspicion: { flaw, isTold: false } });

interface Case {
  readonly title: string;
  readonly files: Partial<TlsPair>;
  readonly before?: { readonly flaw: string; readonly isTold: boolean };
  readonly nowMs?: number;
  readonly expected: PairDecision;
}

const CHAIN_END = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const NOTHING_NEW = { do: 'keep', suspicion: undefined } as const;
const CASES: readonly Case[] = [
  { title: 'the served pair', files: served, expected: NOTHING_NEW },
  {
    title: 'the served pair after half a renewal that was reported',
    files: served,
    before: { flaw: MISFIT, isTold: true },
    expected: NOTHING_NEW,
  },
  { title: 'a renewed pair', files: renewed, expected: { ...taken, hasExpired: false } },
  {
    title: 'a renewed pair after its half',
    files: renewed,
    before: { flaw: MISFIT, isTold: false },
    expected: { ...taken, hasExpired: false },
  },
  { title: 'an expired pair', files: renewed, nowMs: endsMs, expected: { ...taken, hasExpired: true } },
  {
    title: 'a renewed certificate with the key from before',
    files: { ...renewed, key: served.key },
    expected: first(MISFIT),
  },
  {
    title: 'a renewed key with the certificate from before',
    files: { ...served, key: renewed.key },
    expected: first(MISFIT),
  },
  {
    title: 'the same half a second time',
    files: { ...renewed, key: served.key },
    before: { flaw: MISFIT, isTold: false },
    expected: { do: 'warn', suspicion: { flaw: MISFIT, isTold: true } },
  },
  {
    title: 'the same half a third time',
    files: { ...renewed, key: served.key },
    before: { flaw: MISFIT, isTold: true },
    expected: { do: 'keep', suspicion: { flaw: MISFIT, isTold: true } },
  },
  {
    title: 'another flaw after one that was reported',
    files: { certificate: renewed.certificate },
    before: { flaw: MISFIT, isTold: true },
    expected: first('tls.key cannot be read'),
  },
  { title: 'no certificate', files: { key: renewed.key }, expected: first('tls.crt cannot be read') },
  {
    title: 'an empty certificate',
    files: { ...renewed, certificate: '' },
    expected: first('tls.crt is not a certificate'),
  },
  {
    title: 'half a key',
    files: { ...renewed, key: renewed.key.slice(0, renewed.key.length / 2) },
    expected: first('tls.key is not a private key'),
  },
];

for (const { title, files, before, nowMs = NOW_MS, expected } of CASES) {
  test(`a look at certificate files that finds ${title}: ${expected.do}`, () => {
    assert.deepEqual(decidePair({ served, suspicion: before }, seen(files), nowMs), expected);
  });
}

test('a look at certificate files that finds a chain with a spoiled end: keep', () => {
  const spoiled = { ...renewed, certificate: renewed.certificate + CHAIN_END };
  const decision = decidePair({ served, suspicion: undefined }, seen(spoiled), NOW_MS);
  assert.ok(decision.do === 'keep');
  assert.match(decision.suspicion?.flaw ?? '', /^tls\.crt cannot be served: /);
});
