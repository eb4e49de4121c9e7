import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestContainerd } from '../support/containerd.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { PrivateMachine } from '../support/private-machine.ts';
import { waitFor } from '../support/wait.ts';

const machine = await PrivateMachine.start();
const containerd = await TestContainerd.start(machine.words);
containerd.removeNetworkConfiguration();
const runtime = ['--container-runtime-endpoint', containerd.endpoint, '--cni-conf-dir', containerd.networkDirectory];
const cluster = await HoldfastProcess.start(['--memory', '--nodes=2', ...runtime], undefined, machine.words);
after(async () => {
  await cluster[Symbol.asyncDispose]();
  const left = machine.run('nft', 'list', 'tables');
  await containerd[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
  assert.doesNotMatch(left, /holdfast/, 'a cluster that stopped left rules on the machine');
});

const kubectl = createKubectl(() => cluster.ready.kubeconfig, machine.words);

const pod = (name: string, command: string, spec: object = {}, main: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'busybox:1.36', command: ['/bin/sh', '-c', command], ...main }],
    ...spec,
  },
});

const SERVE = 'mkdir /tmp/w; hostname >/tmp/w/name; exec httpd -f -p 8080 -h /tmp/w';
const READY = { readinessProbe: { httpGet: { port: 8080, path: '/name' }, periodSeconds: 1 } };
const web = (name: string, port: object = {}) =>
  pod(name, SERVE, {}, { ...READY, ports: [{ containerPort: 8080, ...port }] });

const service = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec });
const PORTS = [{ port: 80, targetPort: 8080 }];

/** The pods that answer a program in this pod, one for each of its requests. */
async function answersIn(from: string, host: string, port: number, requests = 1): Promise<readonly string[]> {
  const get = `printf 'GET /name HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${host} ${port} | tail -1`;
  const script = `for i in $(seq ${requests}); do ${get}; done`;
  const { stdout } = await kubectl.attempt('exec', from, '--', 'sh', '-c', script);
  return stdout.split('\n').filter(Boolean);
}

const answers = (from: string, host: string, port: number): Promise<string> =>
  waitFor(`${from} reaches ${host}:${port}`, async () => (await answersIn(from, host, port))[0] ?? '');

const fieldOf = (name: string, path: string): Promise<string> =>
  kubectl.run('get', 'service', name, '-o', `jsonpath={${path}}`);
const addressOf = (name: string): Promise<string> => fieldOf(name, '.spec.clusterIP');
const nodePortOf = async (name: string): Promise<number> => Number(await fieldOf(name, '.spec.ports[0].nodePort'));

test('containers reach services at cluster addresses and node ports, their own pod included', async () => {
  assert.deepEqual(cluster.ready.warnings, []);
  await kubectl.send(['create'], web('web-0'), web('web-1'), pod('client', 'sleep 1000', {}, {}));
  await kubectl.run('label', 'pod', 'client', 'app=client', '--overwrite');
  await kubectl.send(['create'], service('web', { type: 'NodePort', selector: { app: 'web' }, ports: PORTS }));
  await kubectl.run('wait', '--for=condition=Ready', 'pod', '--all', '--timeout=60s');
  const address = await addressOf('web');
  const nodePort = await nodePortOf('web');
  const seen = async () => [...new Set(await answersIn('client', address, 80, 15))].toSorted();
  await waitFor('both pods answer', async () => (await seen()).join() === 'web-0,web-1');
  assert.match(await answers('client', machine.address, nodePort), /^web-[01]$/);
  assert.match(
    machine.run('curl', '-sS', '--max-time', '5', `http://${machine.address}:${nodePort}/name`),
    /^web-[01]/,
  );
  assert.match(machine.run('curl', '-sS', '--max-time', '5', `http://${address}/name`), /^web-[01]/);
  await waitFor('a pod reaches itself', async () => (await answers('web-0', address, 80)) === 'web-0');
});

test('session affinity is switched on and off, and a service changes its type', async () => {
  await kubectl.run('patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"ClientIP"}}');
  const address = await addressOf('web');
  const seen = async (): Promise<number> => new Set(await answersIn('client', address, 80, 15)).size;
  await waitFor('one pod answers all', async () => (await seen()) === 1);
  await kubectl.run('patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"None"}}');
  await waitFor('both answer again', async () => (await seen()) === 2);
  await kubectl.send(['create'], service('named', { type: 'ExternalName', externalName: 'example.com' }));
  const spec = { type: 'NodePort', externalName: null, selector: { app: 'web' }, ports: PORTS };
  await kubectl.run('patch', 'service', 'named', '-p', JSON.stringify({ spec }));
  assert.match(await answers('client', await addressOf('named'), 80), /^web-[01]$/);
  assert.match(await answers('client', machine.address, await nodePortOf('named')), /^web-[01]$/);
});

test('pods of one node with the same host port and different host addresses are told apart', async () => {
  const at = (name: string, hostIP: string) => ({
    ...web(name, { hostPort: 54_323, hostIP }),
    metadata: { name, labels: { app: 'host-port' } },
  });
  await kubectl.send(['create'], at('on-loopback', '127.0.0.1'), at('on-address', machine.address));
  await kubectl.run('wait', '--for=condition=Ready', 'pod', '-l', 'app=host-port', '--timeout=60s');
  const ask = (host: string): string =>
    machine.run('curl', '-sS', '--max-time', '5', '--interface', machine.address, `http://${host}:54323/name`).trim();
  assert.equal(ask('127.0.0.1'), 'on-loopback');
  assert.equal(ask(machine.address), 'on-address');
});

test('a network policy cuts containers off from each other', async () => {
  const policy = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'], ingress: [] };
  const address = await addressOf('web');
  await answers('client', address, 80);
  await kubectl.send(['create'], {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'closed' },
    spec: policy,
  });
  await waitFor('nobody answers', async () => (await answersIn('client', address, 80)).length === 0);
  await kubectl.run('delete', 'networkpolicy', 'closed');
  await answers('client', address, 80);
});
