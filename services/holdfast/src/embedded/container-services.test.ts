import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseContainerServices, type MachineRules } from './container-services.ts';

const HOLD = { release: () => {} };
const MACHINE: MachineRules = {
  machineRulesRefusal: async () => '',
  holdMachineRules: async () => HOLD,
  areBridgesFiltered: () => true,
};

const choose = (machine: Partial<MachineRules> = {}, config: object = {}, kind: 'cri' | 'docker' | 'process' = 'cri') =>
  chooseContainerServices({ nodes: 1, without: new Set(), ...config }, { kind }, async () => ({
    ...MACHINE,
    ...machine,
  }));

test('a cluster of containers routes services with the rules of the machine, which it holds', async () => {
  for (const kind of ['cri', 'docker'] as const)
    assert.deepEqual(await choose({}, {}, kind), { services: { hold: HOLD, areBridgesFiltered: true } });
});

test('processes, no nodes and --without=proxy need no rules of the machine', async () => {
  const nothing = { services: undefined };
  const never = { machineRulesRefusal: () => Promise.reject(new Error('nobody asks')) };
  assert.deepEqual(await choose(never, {}, 'process'), nothing);
  assert.deepEqual(await choose(never, { nodes: 0 }), nothing);
  assert.deepEqual(await choose(never, { without: new Set(['proxy']) }), nothing);
});

test('what prevents the rules is told with its reason', async () => {
  const { services, caution } = await choose({ machineRulesRefusal: async () => 'nft is not installed' });
  assert.equal(services, undefined);
  assert.match(caution ?? '', /do not reach services at their addresses: nft is not installed\./);
  const other = await choose({ holdMachineRules: async () => undefined });
  assert.equal(other.services, undefined);
  assert.match(other.caution ?? '', /another cluster of this machine/);
});

test('where packets of a bridge pass no rules, services are routed and policies are not enforced', async () => {
  const { services, caution } = await choose({ areBridgesFiltered: () => false });
  assert.equal(services?.areBridgesFiltered, false);
  assert.match(caution ?? '', /^Network policies are not enforced between containers/);
});
