import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ASK_TCP, ASK_UDP, SERVE_BOTH } from './datagrams.ts';
import type { Kubectl } from './kubectl.ts';
import { PodNetwork } from './pod-network.ts';
import type { PrivateMachine } from './private-machine.ts';
import { waitFor } from './wait.ts';

export interface ContainerCluster {
  /** The machine of the cluster, of the container runtime and of `kubectl`. */
  readonly machine: PrivateMachine;
  readonly kubectl: Kubectl;
  /** What the cluster warned of at its start. */
  readonly warnings: () => readonly string[];
  /** False: the bridge sends no packet back to where it came from. */
  readonly hasHairpins: boolean;
}

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
/** The process of a pod is found by the seconds for which it sleeps. */
const SLEEPS = { both: 1_000_000 + process.pid, asker: 100_000_000 + process.pid };
const PORTS = [{ port: 80, targetPort: 8080 }];

/** Tests of services between containers: they have two nodes, and what one makes is there for the next. */
export function testContainerServices({ machine, kubectl, warnings, hasHairpins }: ContainerCluster): void {
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

  test('containers reach services at cluster addresses and node ports', async () => {
    assert.deepEqual(warnings(), []);
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
    if (hasHairpins)
      await waitFor('a pod reaches itself', async () => (await answers('web-0', address, 80)) === 'web-0');
  });

  test('containers find services, their peers and the API by their names', async () => {
    const peer = { ...pod('peer', SERVE, { hostname: 'one', subdomain: 'peers' }, READY) };
    await kubectl.send(
      ['create'],
      { ...peer, metadata: { name: 'peer', labels: { app: 'peer' } } },
      service('peers', { clusterIP: 'None', selector: { app: 'peer' }, ports: PORTS }),
      service('far', { type: 'ExternalName', externalName: 'far.example.com' }),
    );
    await kubectl.run('wait', '--for=condition=Ready', 'pod/peer', '--timeout=60s');
    for (const name of ['web', 'web.default', 'web.default.svc', 'web.default.svc.cluster.local'])
      assert.match(await answers('client', name, 80), /^web-[01]$/);
    for (const name of ['peers', 'one.peers.default.svc.cluster.local'])
      assert.equal(await answers('client', name, 8080), 'one');
    const inClient = (...command: readonly string[]): Promise<string> =>
      kubectl.run('exec', 'client', '--', ...command);
    const file = await inClient('cat', '/etc/resolv.conf');
    assert.match(file, /^nameserver 10\.96\.0\.10$/m);
    assert.match(file, /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/m);
    assert.match(await inClient('nslookup', '-type=CNAME', 'far.default.svc.cluster.local'), /far\.example\.com/);
    // This client knows only versions of TLS that the API refuses: so it says who answers.
    const api = await kubectl.attempt('exec', 'client', '--', 'wget', '-qO-', 'https://kubernetes.default/version');
    assert.match(api.stderr, /TLS error from peer/);
  });

  test('session affinity is switched on and off, and a service changes its type', async () => {
    await kubectl.run('patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"ClientIP"}}');
    const address = await addressOf('web');
    const seen = async (host: string, port: number): Promise<number> =>
      new Set(await answersIn('client', host, port, 15)).size;
    const nodePort = await nodePortOf('web');
    const bothWays = async (count: number): Promise<boolean> =>
      (await seen(address, 80)) === count && (await seen(machine.address, nodePort)) === count;
    await waitFor('one pod answers all', () => bothWays(1));
    await kubectl.run('patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"None"}}');
    await waitFor('both answer again', () => bothWays(2));
    await kubectl.send(['create'], service('named', { type: 'ExternalName', externalName: 'example.com' }));
    const spec = { type: 'NodePort', externalName: null, selector: { app: 'web' }, ports: PORTS };
    await kubectl.run('patch', 'service', 'named', '-p', JSON.stringify({ spec }));
    assert.match(await answers('client', await addressOf('named'), 80), /^web-[01]$/);
    assert.match(await answers('client', machine.address, await nodePortOf('named')), /^web-[01]$/);
    for (const type of ['NodePort', 'ClusterIP']) {
      await kubectl.run('patch', 'service', 'named', '-p', JSON.stringify({ spec: { ...spec, type } }));
      assert.match(await answers('client', await addressOf('named'), 80), /^web-[01]$/);
      const outside = { type: 'ExternalName', externalName: 'far.example.com' };
      await kubectl.run('patch', 'service', 'named', '-p', JSON.stringify({ spec: outside }));
      const lookUp = ['exec', 'client', '--', 'nslookup', '-type=CNAME', 'named.default.svc.cluster.local'];
      await waitFor(`${type} becomes ExternalName`, async () =>
        (await kubectl.attempt(...lookUp)).stdout.includes('far.example.com'),
      );
    }
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

  test('a service carries UDP and TCP at one port, and a host port of UDP is not that of TCP', async () => {
    const ports = [{ containerPort: 8080, hostPort: 54_323, hostIP: machine.address, protocol: 'UDP' }];
    await kubectl.send(
      ['create'],
      {
        ...pod('both', `exec sleep ${SLEEPS.both}`, {}, { ports }),
        metadata: { name: 'both', labels: { app: 'both' } },
      },
      { ...pod('asker', `exec sleep ${SLEEPS.asker}`), metadata: { name: 'asker' } },
      service('both', {
        selector: { app: 'both' },
        ports: ['TCP', 'UDP'].map((protocol) => ({
          name: protocol.toLowerCase(),
          port: 80,
          targetPort: 8080,
          protocol,
        })),
      }),
    );
    await kubectl.run('wait', '--for=condition=Ready', 'pod/both', 'pod/asker', '--timeout=60s');
    await using both = PodNetwork.ofSleeper(SLEEPS.both);
    await using asker = PodNetwork.ofSleeper(SLEEPS.asker);
    both.serve(process.execPath, '-e', SERVE_BOTH, '8080', 'both');
    const address = await addressOf('both');
    const says = (script: string): string => asker.run(process.execPath, '-e', script, address, '80');
    for (const script of [ASK_UDP, ASK_TCP]) await waitFor('an answer', () => says(script) === 'both');
    const askHostPort = (script: string): string =>
      machine.run(process.execPath, '-e', script, machine.address, '54323').trim();
    assert.equal(await waitFor('an answer at the host port', () => askHostPort(ASK_UDP)), 'both');
    await kubectl.run('patch', 'service', 'both', '--type=json', '-p', '[{"op":"remove","path":"/spec/ports/1"}]');
    await waitFor('the end of the port of UDP', () => says(ASK_UDP) === '');
    assert.equal(says(ASK_TCP), 'both');
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
}
