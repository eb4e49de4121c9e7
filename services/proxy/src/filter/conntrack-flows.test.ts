import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createConntrackFlows } from './conntrack-flows.ts';

const UDP = { protocol: 'UDP', family: 'ip' } as const;

function rig(failure?: string) {
  const runs: string[] = [];
  const warnings: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void warnings.push(message) };
  const run = async (args: readonly string[]): Promise<string> => {
    runs.push(args.join(' '));
    if (failure !== undefined) throw new Error(failure);
    return '';
  };
  return { runs, warnings, flows: createConntrackFlows({ clock: createVirtualClock(), log, run }) };
}

test('each kind of stale flow has its filter, and equal ones are removed once', async () => {
  const { runs, flows } = rig();
  const gone = { ...UDP, address: '10.96.0.9', port: 53, target: '10.244.0.2' } as const;
  await flows.forget([gone, gone, { ...UDP, address: '10.96.0.9', port: 53 }]);
  await flows.forget([{ ...UDP, family: 'ip6', port: 30_053, target: 'fd00::2' }]);
  await flows.forget([{ ...UDP, family: 'ip6', port: 30_053 }]);
  assert.deepEqual(runs, [
    '--delete --proto udp --orig-dst 10.96.0.9 --orig-port-dst 53 --dst-nat 10.244.0.2',
    '--delete --proto udp --orig-dst 10.96.0.9 --orig-port-dst 53',
    '--delete --family ipv6 --proto udp --orig-port-dst 30053 --dst-nat fd00::2',
    '--delete --family ipv6 --proto udp --orig-port-dst 30053',
  ]);
});

test('a program that is missing is mentioned once and not run again; no match is no failure', async () => {
  const missing = rig('conntrack cannot be run');
  for (let i = 0; i < 3; i++) await missing.flows.forget([{ ...UDP, port: i }]);
  assert.deepEqual([missing.runs.length, missing.warnings.length], [1, 1]);
  const none = rig('conntrack ended with code 1: conntrack v1.4.7: 0 flow entries have been deleted.');
  for (let i = 0; i < 3; i++) await none.flows.forget([{ ...UDP, port: i }]);
  assert.deepEqual([none.runs.length, none.warnings.length], [3, 0]);
});
