import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScenario } from '../../scenario/parse.ts';
import type { Request } from '../clients/asking.ts';
import type { Sign } from '../losses/signs.ts';
import { latencyOf, renderRun, windowsOf } from './report.ts';

const failed = (beganMs: number, endedMs: number, isFailed = true): Request => ({
  what: 'get it',
  server: 0,
  beganMs,
  endedMs,
  isFailed,
});
const beat = (atMs: number): Sign => ({
  atMs,
  pod: 'db-0',
  uid: 'u',
  node: 'node-1',
  pid: '7',
  what: 'beat',
  record: Number.NaN,
});

test('failures of an API server that follow each other are one time without it', () => {
  const windows = windowsOf([failed(5_000, 5_100), failed(0, 900), failed(500, 2_000), failed(2_500, 2_600)]);
  assert.deepEqual(windows, [
    { fromMs: 0, toMs: 2_600, count: 3 },
    { fromMs: 5_000, toMs: 5_100, count: 1 },
  ]);
});

test('latencies and times without an API server are said in one line', () => {
  assert.equal(latencyOf([]), 'No clients.');
  assert.equal(
    latencyOf([failed(0, 10, false), failed(0, 20, false), failed(100, 2_100)]),
    '3 requests of clients: p50 20 ms, p99 2000 ms, max 2000 ms; 1 times without an API server, together 2.0 s',
  );
});

test('the report of a run shows its steps, its lives, its API servers and its verdicts', () => {
  const scenario = parseScenario(
    'name: a <run>\nlength: 10s\nschedule:\n  - { at: 1s, do: isolate, target: node-1, for: 5s }\n',
  );
  const html = renderRun(scenario, {
    broken: ['a rule: what happened'],
    steps: [{ step: { at: 1, do: 'isolate', target: 'node-1', for: 5 }, fromMs: 1_000, toMs: 6_000 }],
    signs: [beat(10_500), beat(12_000)],
    commits: [],
    requests: [failed(2_000, 4_000)],
    outages: [{ kind: 'isolate', ms: 1_250 }],
    beganAt: 10_000,
    beganMonotonic: 1_000,
    lengthMs: 20_000,
    load: '7 writes',
  });
  for (const text of [
    'a &lt;run&gt;',
    'node-1 loses its network',
    'db-0',
    'through apiserver-1',
    '1 requests failed',
    'what happened',
    '7 writes',
    'isolate: no write was acknowledged for 1.3 s',
  ])
    assert.ok(html.includes(text), text);
});
