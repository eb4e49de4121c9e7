import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
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

test('containers get addresses of the next network of the cluster when that of the first node is used up', async () => {
  const networks = await kubectl.run('get', 'nodes', '-o', 'jsonpath={range .items[*]}{.spec.podCIDR} {end}');
  const [first = '', second = ''] = networks.trim().split(' ');
  // The plugin goes on after the address that it gave last.
  writeFileSync('/var/lib/cni/networks/holdfast/last_reserved_ip.0', first.replace(/0\/24$/, '254'));
  const serve = 'echo late | nc -l -p 8080 >/dev/null; sleep 1000';
  await kubectl.run('run', 'late', '--image=busybox:1.36', '--command', '--', '/bin/sh', '-c', serve);
  await kubectl.run('wait', '--for=condition=Ready', 'pod/late', '--timeout=60s');
  const address = await kubectl.run('get', 'pod', 'late', '-o', 'jsonpath={.status.podIP}');
  assert.ok(address.startsWith(second.replace(/0\/24$/, '')), `${address} is not in ${second}`);
  await kubectl.run('exec', 'late', '--', 'nslookup', 'web.default.svc.cluster.local');
  assert.equal(await kubectl.run('exec', 'client', '--', 'sh', '-c', `echo | nc -w 5 ${address} 8080`), 'late\n');
});
