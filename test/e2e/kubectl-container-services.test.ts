import assert from 'node:assert/strict';
import { after } from 'node:test';
import { testContainerServices } from '../support/container-services.ts';
import { TestContainerd } from '../support/containerd.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { PrivateMachine } from '../support/private-machine.ts';

const machine = await PrivateMachine.start();
const containerd = await TestContainerd.start(machine.words);
containerd.removeNetworkConfiguration();
const runtime = ['--container-runtime-endpoint', containerd.endpoint, '--cni-conf-dir', containerd.networkDirectory];
const cluster = await HoldfastProcess.start(['--memory', '--nodes=2', ...runtime], undefined, machine.words);
after(async () => {
  await cluster[Symbol.asyncDispose]();
  const left = machine.run('nft', 'list', 'tables');
  const addresses = machine.run('ip', '-4', 'address', 'show');
  await containerd[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
  assert.doesNotMatch(left, /holdfast/, 'a cluster that stopped left rules on the machine');
  assert.doesNotMatch(addresses, /10\.96\./, 'a cluster that stopped left addresses on the machine');
});

const kubectl = createKubectl(() => cluster.ready.kubeconfig, machine.words);

testContainerServices({ machine, kubectl, warnings: () => cluster.ready.warnings, hasHairpins: true });
