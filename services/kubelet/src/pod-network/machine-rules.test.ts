import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineLinkName } from './machine-routes.ts';
import { areBridgesFiltered, areMachineRulesHeld, holdMachineRules, leadsToPods } from './machine-rules.ts';

test('one cluster at a time has the rules of the machine, and a released hold is free', async () => {
  const place = `\0holdfast-test-${process.pid}`;
  assert.equal(await areMachineRulesHeld(place), false);
  const hold = await holdMachineRules(place);
  assert.ok(hold);
  assert.equal(await holdMachineRules(place), undefined);
  assert.equal(await areMachineRulesHeld(place), true);
  hold.release();
  assert.ok(await holdMachineRules(place));
});

test('the link of a cluster of processes is known by its name', () => {
  const link = machineLinkName('/var/lib/one/network');
  assert.equal(leadsToPods(`10.96.0.0/12 via 169.254.244.5 dev ${link} src 169.254.244.6\n`), true);
  assert.equal(leadsToPods('10.100.0.0/16 via 192.0.2.1 dev tun0\n'), false);
});

test('without the module for bridges they are not filtered', () => {
  assert.equal(areBridgesFiltered('/nowhere/bridge-nf-call-iptables'), false);
});
