import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import type { StartConfig } from '../config.ts';
import { choosePodNetwork, type PodNetworks } from './pod-network-choice.ts';
import type { NodeRuntime } from './runtime-choice.ts';

const CONFIG = { clusterCidr: '10.244.0.0/16', nodes: 1 };

/** `refusals`: what each trial of this machine says; '' = it can. */
function machine(...refusals: readonly string[]) {
  const left = [...refusals];
  let kept: string | undefined;
  let wayOut = '';
  let apart = '';
  const networks = {
    networkRefusal: async () => left.shift() ?? assert.fail('an unexpected trial'),
    wayOutRefusal: () => wayOut,
    wayOutProtocols: () => ['tcp', 'udp'],
    machineLinkName: () => 'hf-1',
    machineLinkRefusal: async () => apart,
  };
  const directory = {
    networkPath: '/data/network',
    podNetwork: () => kept,
    keepPodNetwork: (mode: string) => {
      kept = mode;
    },
  };
  const choose = async (
    podNetwork: StartConfig['podNetwork'],
    config: object = {},
    kind: NodeRuntime['kind'] = 'process',
  ) => {
    const choice = await choosePodNetwork(
      { ...CONFIG, podNetwork, ...config },
      { kind },
      directory,
      async () => networks as unknown as PodNetworks,
    );
    return [choice.networks === undefined ? 'host' : 'private', choice.line];
  };
  return Object.assign(choose, {
    closeWayOut: (refusal: string) => (wayOut = refusal),
    keepApart: (refusal: string) => (apart = refusal),
  });
}

test('without a wish, without process nodes and with a container runtime nothing is tried or said', async () => {
  const choose = machine();
  assert.deepEqual(await choose('host'), ['host', undefined]);
  assert.deepEqual(await choose('private', { nodes: 0 }), ['host', undefined]);
  assert.deepEqual(await choose('auto', {}, 'docker'), ['host', undefined]);
});

test('auto decides once for a data directory, and says why', async () => {
  const unable = machine('ip is not installed');
  assert.deepEqual(await unable('auto'), [
    'host',
    'host (pods share the network of this machine: ip is not installed)',
  ]);
  assert.deepEqual(await unable('auto'), ['host', 'host (as chosen by an earlier start in this data directory)']);
  const able = machine('', '', 'the system refuses network namespaces');
  const [mode, line = ''] = await able('auto');
  assert.match(`${mode}: ${line}`, /^private: private \(every pod has an address of 10\.244\.0\.0\/16/);
  assert.equal((await able('auto'))[0], 'private');
  await assert.rejects(able('auto'), OperatorError, 'pods of this directory count on it');
});

test('the start tells whether pods reach other networks', async () => {
  const choose = machine('', '');
  const line = async (): Promise<string> => (await choose('private'))[1] ?? '';
  assert.match(await line(), /; other networks are reached by TCP and UDP\)$/);
  choose.closeWayOut('nft is not installed');
  assert.match(await line(), /; no way to other networks: nft is not installed\)$/);
});

test('the start tells whether this machine reaches pods at their addresses', async () => {
  const choose = machine('', '');
  const line = async (): Promise<string> => (await choose('private'))[1] ?? '';
  assert.match(await line(), /; this machine reaches pods and services at their addresses;/);
  choose.keepApart('only root may link the two');
  assert.match(await line(), /; this machine reaches pods by kubectl port-forward: only root may link the two;/);
});

test('private on a machine that cannot is refused, with the reason and the next step', async () => {
  await assert.rejects(machine('ip is not installed')('private'), (error: unknown) => {
    assert.ok(error instanceof OperatorError);
    assert.match(error.message, /ip is not installed/);
    assert.match(error.nextStep, /--pod-network=host/);
    return true;
  });
});
