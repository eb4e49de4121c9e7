import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import type {
  EndpointSlice,
  Pod as KubePod,
  NetworkPolicy,
  NetworkPolicySpec,
  Service,
  TrafficPlace,
} from '@holdfast/api';
import { createPodNetwork, type PodNetwork } from '@holdfast/kubelet/pod-network';
import { createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import { createNftFilter } from '@holdfast/proxy';
import { podFragment } from '../../services/proxy/src/policies/pod-fragment.ts';
import { policyFragment } from '../../services/proxy/src/policies/policy-fragment.ts';
import { Assembly } from '../../services/proxy/src/ruleset/assembly.ts';
import { BASE_UNIT, baseFragment } from '../../services/proxy/src/ruleset/base.ts';
import { FAMILIES } from '../../services/proxy/src/ruleset/model.ts';
import { serviceFragment } from '../../services/proxy/src/services/service-fragment.ts';
import {
  type EndpointSketch,
  node,
  type ServiceSketch,
  service,
  slice,
} from '../../services/proxy/src/testing/builders.ts';
import { ensurePackages, findOnPath } from '../../tools/setup/packages.ts';

/** The gateway of the pods: an address of the namespace that has the rules. */
const [NODE, RELAYED, OUTSIDE] = ['10.244.3.1', '10.96.0.1', '198.51.100.7'];
const OPTIONS = {
  clusterCidrs: ['10.244.0.0/16', 'fd00:244::/64'],
  masqueradeAll: false,
  nodePortAddresses: [`${NODE}/32`],
};
/** Enough that random choices miss one of two endpoints less than once in a million runs. */
const PROBES = 24;

/** In each pod. It answers with the pod's address and the client's, and connects to what a line names. */
const POD = `
const [own] = process.argv.slice(1);
require('node:net').createServer((socket) => socket.end(own + ' ' + socket.remoteAddress)).listen(8080, '0.0.0.0', () => console.log('ready'));
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { host, port, timeout } = JSON.parse(line);
  const socket = require('node:net').connect({ host, port });
  let said = '';
  const end = (text) => { clearTimeout(timer); socket.destroy(); console.log(text); };
  const timer = setTimeout(() => end('dropped'), timeout);
  socket.on('data', (chunk) => (said += chunk)).on('end', () => end(said)).on('error', (error) => end(error.code));
});`;

class Pod {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(address: string, child: ChildProcess) {
    this.address = address;
    this.#child = child;
    assert.ok(child.stdout !== null);
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    assert.ok(done !== true, 'the pod ended');
    return value;
  }

  /** What a connection leads to: `pod client`, `dropped`, or the error code. */
  ask(host: string, port: number, timeout = 30_000): Promise<string> {
    this.#child.stdin?.write(`${JSON.stringify({ host, port, timeout })}\n`);
    return this.line();
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.kill('SIGKILL');
    });
  }
}

const policyOf = (egress: NonNullable<NetworkPolicySpec['egress']>): NetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: 'default', name: 'p', uid: 'uid-p' },
  spec: { podSelector: {}, policyTypes: ['Egress'], egress },
});

const podAt = (ip: string): KubePod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'client', uid: 'uid-client' },
  spec: { containers: [{ name: 'main', resources: {} }] },
  status: { phase: 'Running', podIPs: [{ ip }] },
});

/** Without root the namespaces belong to a user namespace, which has to be entered first. */
function entering({ path: file, agent }: { readonly path: string; readonly agent: number }): readonly string[] {
  const user = process.getuid?.() === 0 ? [] : [`--user=/proc/${agent}/ns/user`, '--preserve-credentials'];
  return [...user, `--net=${file}`, '--'];
}

before(() => {
  const needed = [
    ['iproute2', 'ip'],
    ['nftables', 'nft'],
  ] as const;
  const missing = needed.filter(([, program]) => findOnPath(program) === undefined);
  if (missing.length > 0) ensurePackages(missing.map(([name]) => name));
});

describe('the kernel routes by the rules as Kubernetes says', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-rules-'));
  const outside = createServer((socket) => socket.end('from the relay'));
  const clock = createSystemClock();
  let network: PodNetwork;
  let one: Pod;
  let two: Pod;
  let client: Pod;

  async function openPod(name: string): Promise<Pod> {
    const attachment = await network.attach(`n/${name}/0`, '10.244.3.0/24');
    const words = [...entering(attachment), process.execPath, '-e', POD, attachment.address];
    const pod = new Pod(attachment.address, spawn('nsenter', words, { stdio: ['pipe', 'pipe', 'inherit'] }));
    assert.equal(await pod.line(), 'ready');
    return pod;
  }

  before(async () => {
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
    const { port } = outside.address() as AddressInfo;
    network = createPodNetwork({
      directory,
      clusterNetwork: '10.244.0.0/16',
      clock,
      log: createSilentLog(),
      targets: new Map([['outside', { tcp: () => ({ host: '127.0.0.1', port }) }]]),
      relays: () => [{ address: RELAYED, port: 443, protocol: 'tcp', target: 'outside' }],
    });
    await network.start();
    [one, two, client] = await Promise.all([openPod('one'), openPod('two'), openPod('client')]);
  });
  after(async () => {
    await Promise.all([one, two, client].map((pod) => pod.stop()));
    await network.shutdown();
    outside.close();
    rmSync(directory, { recursive: true, force: true });
  });

  interface Scene {
    readonly services: readonly (readonly [Service, readonly EndpointSlice[]])[];
    readonly place?: TrafficPlace;
    /** What a policy allows the client. */
    readonly egress?: NonNullable<NetworkPolicySpec['egress']>;
  }

  async function load({ services, place = { nodeName: 'a' }, egress }: Scene): Promise<void> {
    const filter = createNftFilter({
      clock,
      random: createSystemRandom(),
      run: (nft) => network.nft(nft),
    });
    const tables = FAMILIES.map((family) => {
      const assembly = new Assembly(family);
      assembly.replace([[BASE_UNIT, baseFragment(family, { node: node('a'), relayed: [RELAYED] }, OPTIONS)]]);
      for (const [each, slices] of services) {
        const fragment = serviceFragment({ service: each, slices }, family, place);
        assembly.replace([[`service default/${each.metadata.name}`, fragment]]);
      }
      if (egress !== undefined) {
        const policy = policyOf(egress);
        assembly.replace([['policy default/p', policyFragment(policy, family)]]);
        const view = { pod: podAt(client.address), namespace: undefined, policies: [policy], isLocal: true };
        assembly.replace([['pod default/client', podFragment(view, family)]]);
      }
      return assembly.table();
    });
    await filter.reset(tables);
  }

  const endpoints = (first: Partial<EndpointSketch> = {}, second: Partial<EndpointSketch> = {}) => [
    slice([
      { address: one.address, ...first },
      { address: two.address, node: 'b', ...second },
    ]),
  ];
  const web = (sketch: ServiceSketch = {}): Service => service({ clusterIP: '10.96.0.80', ...sketch });
  /** The pods that answer, over many connections from the client. */
  async function answering(host: string, port: number): Promise<readonly string[]> {
    const seen = new Set<string>();
    for (let i = 0; i < PROBES; i++) seen.add((await client.ask(host, port)).split(' ')[0] ?? '');
    return [...seen].toSorted();
  }
  const both = (): readonly string[] => [one.address, two.address].toSorted();
  const isDropped = async (host: string, port: number): Promise<boolean> =>
    (await client.ask(host, port, 1_000)) === 'dropped';

  test('a cluster address balances over all endpoints and keeps the source', async () => {
    await load({ services: [[web(), endpoints()]] });
    assert.deepEqual(await answering('10.96.0.80', 80), both());
    assert.match(await client.ask('10.96.0.80', 80), new RegExp(`(::ffff:)?${client.address}$`));
    assert.equal(await client.ask('10.96.0.80', 81), 'ECONNREFUSED', 'a port that the service does not have');
  });

  test('an endpoint that reaches itself sees the node as the client', async () => {
    await load({ services: [[web(), [slice([{ address: one.address }])]]] });
    assert.equal(await one.ask('10.96.0.80', 80), `${one.address} ${NODE}`);
  });

  test('terminating endpoints serve only when nothing is ready, and without endpoints the kernel refuses', async () => {
    const last = { ready: false, serving: true, terminating: true };
    await load({ services: [[web(), endpoints(last)]] });
    assert.deepEqual(await answering('10.96.0.80', 80), [two.address]);
    await load({ services: [[web(), endpoints(last, { ready: false })]] });
    assert.deepEqual(await answering('10.96.0.80', 80), [one.address]);
    await load({ services: [[web(), endpoints({ ready: false }, { ready: false })]] });
    assert.equal(await client.ask('10.96.0.80', 80), 'ECONNREFUSED');
  });

  test('a node port leads to all endpoints with the node as the source', async () => {
    await load({ services: [[web({ type: 'NodePort', ports: [{ nodePort: 30_080 }] }), endpoints()]] });
    assert.deepEqual(await answering(NODE, 30_080), both());
    assert.match(await client.ask(NODE, 30_080), new RegExp(` ${NODE}$`));
  });

  test('session affinity keeps the endpoint of a client', async () => {
    await load({ services: [[web({ sessionAffinity: 'ClientIP' }), endpoints()]] });
    assert.equal((await answering('10.96.0.80', 80)).length, 1);
  });

  test('traffic policies keep traffic on the node', async () => {
    const local = { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local', externalIPs: [OUTSIDE] };
    await load({ services: [[web(local), endpoints()]] });
    assert.deepEqual(await answering('10.96.0.80', 80), [one.address]);
    await load({ services: [[web(local), endpoints()]], place: { nodeName: 'c' } });
    assert.ok(await isDropped('10.96.0.80', 80));
    assert.deepEqual(await answering(OUTSIDE, 80), both(), 'pods use all endpoints of an address from outside');
  });

  test('the address of a load balancer is closed to all but its source ranges', async () => {
    const balanced: ServiceSketch = { type: 'LoadBalancer', ingress: [{ ip: OUTSIDE }] };
    await load({ services: [[web({ ...balanced, loadBalancerSourceRanges: ['203.0.113.0/24'] }), endpoints()]] });
    assert.ok(await isDropped(OUTSIDE, 80));
    await load({ services: [[web({ ...balanced, loadBalancerSourceRanges: ['10.244.0.0/16'] }), endpoints()]] });
    assert.deepEqual(await answering(OUTSIDE, 80), both());
  });

  test('no service takes over an address of the network itself or of another service', async () => {
    const thief = service({
      name: 'a-thief',
      clusterIP: '10.96.0.66',
      ports: [{ port: 443 }, { name: 'web', port: 80 }, { name: 'more', port: 81 }],
      externalIPs: [RELAYED, '10.96.0.80'],
    });
    await load({
      services: [
        [thief, [slice([{ address: client.address }], { of: 'a-thief' })]],
        [web(), endpoints()],
      ],
    });
    assert.deepEqual(await answering('10.96.0.80', 80), both());
    assert.equal(await client.ask('10.96.0.80', 81), 'ECONNREFUSED');
    assert.equal(await client.ask(RELAYED, 443), 'from the relay');
  });

  test('policies for egress close and open the servers of the network itself', async () => {
    const services: Scene['services'] = [[web(), endpoints()]];
    await load({ services, egress: [] });
    assert.ok(await isDropped(RELAYED, 443));
    assert.ok(await isDropped('10.96.0.80', 80));
    await load({ services, egress: [{ to: [{ ipBlock: { cidr: `${RELAYED}/32` } }], ports: [{ port: 443 }] }] });
    assert.equal(await client.ask(RELAYED, 443), 'from the relay');
    assert.equal(await one.ask(RELAYED, 443), 'from the relay', 'the policy does not select this pod');
    assert.ok(await isDropped('10.96.0.80', 80));
  });

  test('services of both families are accepted by the kernel', async () => {
    const dual = web({ clusterIPs: ['10.96.0.80', 'fd00:96::80'], type: 'NodePort', ports: [{ nodePort: 30_080 }] });
    const six = slice([{ address: 'fd00:244::2' }, { address: 'fd00:244::3' }], { name: 'six' });
    for (const sessionAffinity of ['None', 'ClientIP']) {
      await load({ services: [[{ ...dual, spec: { ...dual.spec, sessionAffinity } }, [...endpoints(), six]]] });
      assert.match(
        await network.nft({ args: ['list', 'table', 'ip6', 'holdfast-proxy'], input: '' }),
        /fd00:96::80 \. tcp \. 80/,
      );
    }
  });
});
