import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, isIPv4 } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { machineLinkName } from '@holdfast/kubelet/pod-network';
import { networkPathOf } from '../../services/holdfast/src/embedded/data-directory.ts';
import { ensurePackages, findOnPath } from '../../tools/setup/packages.ts';
import { ASK_TCP, ASK_UDP, SERVE_BOTH } from '../support/datagrams.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl, KubectlStream, spawnKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';
import { WITHOUT_ROOT } from '../support/without-root.ts';

const execute = promisify(execFile);

const USERS = [
  { who: 'the user of the test', words: [], expose: '127.97.0.1', isLinked: true, closesTerminal: false },
  { who: 'a user without rights', words: WITHOUT_ROOT, expose: '127.97.0.2', isLinked: false, closesTerminal: true },
] as const;

/** Every replica listens on the same port; a second one only inside the pod. */
const SERVER = `
const { createServer } = require('node:http');
createServer((request, response) => response.end(process.env.POD_IP + ' ' + request.socket.remoteAddress)).listen(80);
createServer((request, response) => response.end('inside')).listen(81, '127.0.0.1');`;

/** The default network is the private one where this user can make namespaces. */
const FLAGS = ['--memory', '--nodes', '2'];
const ASK = `fetch(process.argv[1]).then((answer) => answer.text()).then(console.log);`;
/** Nothing may answer a machine that has no route. */
const ASK_WITHIN = `const [, host, ms] = process.argv, signal = AbortSignal.timeout(Number(ms));
fetch('http://' + host, { signal }).then((answer) => answer.text()).catch(() => 'no answer').then(console.log);`;
/** A packet that a policy drops is not answered, so only time tells. */
const IS_CUT = `require('node:net').connect({ host: process.argv[1], port: 80, timeout: 1_000 })
  .on('timeout', () => process.exit(0)).on('connect', () => process.exit(1)).on('error', () => process.exit(2));`;
const RESOLVE = `require('node:dns').resolve4(process.argv[1], (error, found) => console.log(error ?? found.join()));`;
const API = `process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
fetch('https://kubernetes.default/version').then((answer) => answer.json()).then(({ major }) => console.log(major));`;

const KEPT = 'only-for-the-keeper';

/** Prints the paths at which one of the wanted words can be read: as they are, through each process, and in environments. */
const SPY = `const fs = require('node:fs'), { paths, wanted } = JSON.parse(process.argv[1]);
const processes = fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== String(process.pid));
const roots = ['', ...processes.map((pid) => '/proc/' + pid + '/root')];
const tried = [...roots.flatMap((root) => paths.map((path) => root + path)), ...processes.map((pid) => '/proc/' + pid + '/environ')];
console.log(JSON.stringify(tried.filter((path) => {
  try {
    const text = fs.readFileSync(path, 'utf8');
    return wanted.some((word) => text.includes(word));
  } catch { return false; }
})));`;

/** The files below a directory whose text has one of these words. */
const filesWith = (directory: string, words: readonly string[]): readonly { file: string; text: string }[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }))
    .filter(({ text }) => words.some((word) => text.includes(word)));

const container = (command: readonly string[]) => ({ name: 'main', image: 'node', command });

const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            ...container([process.execPath, '-e', SERVER]),
            env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
            readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
            livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1, failureThreshold: 60 },
          },
        ],
      },
    },
  },
};

/** Two tiers: `front` asks the replicas of `store`, which listen on the same port and find each other by name. */
const tierServer = (answer: string): string => `
const peer = (name) => fetch('http://' + name + '.store/').then((answer) => answer.text());
const answer = async (asked) => ${answer};
require('node:http').createServer(({ url }, response) => {
  answer(url.slice(1)).then((text) => response.end(text), () => response.destroy());
}).listen(80);`;
const STORE_SERVER = tierServer(`asked === '' ? process.env.NAME : peer(asked)`);
const FRONT_SERVER = tierServer(`(await Promise.all([peer('store-0'), peer('store-1')])).join()`);

const tier = (name: string, script: string) => ({
  metadata: { labels: { tier: name } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        ...container([process.execPath, '-e', script]),
        env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
      },
    ],
  },
});

const tierOf = (kind: string, name: string, script: string, spec: object) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: { ...spec, selector: { matchLabels: { tier: name } }, template: tier(name, script) },
});

const serviceOf = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { selector: { tier: name }, ports: [{ port: 80 }], ...spec },
});

const BOTH_PORTS = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 80, protocol }));

const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { terminationGracePeriodSeconds: 1, containers: [container(['sleep', '1000'])], ...spec },
});

const policy = (name: string, ingress: readonly object[]) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace: 'default' },
  spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'], ingress },
});

/** The machine's end of the link to pods. */
const MACHINE = '169.254.244.6';

const isLinkedTo = (dataDir: string): boolean =>
  readdirSync('/sys/class/net').includes(machineLinkName(networkPathOf(dataDir)));

/** Processes that were started with this word in their command line. */
const processesOf = (word: string): readonly string[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandOf(name).includes(word));

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

before(() => {
  const missing = [['iproute2', 'ip'] as const, ['nftables', 'nft'] as const].filter(
    ([, program]) => findOnPath(program) === undefined,
  );
  if (missing.length > 0) ensurePackages(missing.map(([name]) => name));
});

for (const { who, words, expose, isLinked, closesTerminal } of USERS) {
  describe(`private pod network, as ${who}`, () => {
    let cluster: HoldfastProcess;
    const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);
    const addresses = async (selector: string): Promise<readonly string[]> =>
      (await run('get', 'pods', '-l', selector, '-o', 'jsonpath={.items[*].status.podIP}')).split(' ');
    const inClient = (script: string, ...args: readonly string[]): Promise<string> =>
      run('exec', 'client', '--', process.execPath, '-e', script, ...args).then((text) => text.trim());

    before(async () => {
      cluster = await HoldfastProcess.start([...FLAGS, '--expose', expose], undefined, words);
      await send(['create'], WEB, pod('client'), pod('of-machine', { hostNetwork: true }));
      await run('expose', 'deployment', 'web', '--port=80');
      await run('wait', '--for=condition=Ready', 'pod/client', 'pod/of-machine', '--timeout=60s');
      await run('rollout', 'status', 'deployment/web', '--timeout=60s');
    });
    after(async () => {
      await cluster[Symbol.asyncDispose]();
    });

    test('[POD-27] replicas listen on the same port, each at an address of its node', async () => {
      const found = await addresses('app=web');
      assert.equal(new Set(found).size, 3);
      const networks = await run('get', 'nodes', '-o', 'jsonpath={.items[*].spec.podCIDR}');
      for (const address of found) {
        assert.ok(networks.includes(address.split('.').slice(0, 3).join('.')), `${address} of ${networks}`);
        const client = await run('get', 'pod', 'client', '-o', 'jsonpath={.status.podIP}');
        assert.equal(await inClient(ASK, `http://${address}/`), `${address} ::ffff:${client}`);
      }
    });

    test('a pod reaches a service and the API by their names', async () => {
      const found = await addresses('app=web');
      // The rules follow the endpoints a moment later.
      const said = await waitFor('an answer of the service', async () => {
        const { code, stdout } = await attempt('exec', 'client', '--', process.execPath, '-e', ASK, 'http://web/');
        return code === 0 && stdout;
      });
      const [answered = ''] = said.split(' ');
      assert.ok(found.includes(answered), `${answered} of ${found.join()}`);
      const address = await run('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
      assert.equal(await inClient(RESOLVE, 'web.default.svc.cluster.local'), address);
      assert.equal(await inClient(API), '1');
    });

    test('the replicas of a StatefulSet find each other by name, and the tier before them finds all', async () => {
      await send(
        ['create'],
        serviceOf('store', { clusterIP: 'None' }),
        tierOf('StatefulSet', 'store', STORE_SERVER, { serviceName: 'store', replicas: 2 }),
        serviceOf('front'),
        tierOf('Deployment', 'front', FRONT_SERVER, { replicas: 1 }),
      );
      await run('rollout', 'status', 'statefulset/store', '--timeout=60s');
      await run('rollout', 'status', 'deployment/front', '--timeout=60s');
      const says = (url: string): Promise<string> =>
        waitFor(`an answer of ${url}`, async () => {
          const { code, stdout } = await attempt('exec', 'client', '--', process.execPath, '-e', ASK, url);
          return code === 0 && stdout.trim();
        });
      assert.equal(await says('http://store-0.store/store-1'), 'store-1');
      assert.equal(await says('http://store-1.store/store-0'), 'store-0');
      assert.equal(await says('http://front/'), 'store-0,store-1');
    });

    test('a service carries UDP and TCP at one port, and a pod answers both at its address', async () => {
      const both = pod('both', { containers: [container([process.execPath, '-e', SERVE_BOTH, '80', 'both'])] });
      await send(
        ['create'],
        { ...both, metadata: { ...both.metadata, labels: { tier: 'both' } } },
        serviceOf('both', { ports: BOTH_PORTS }),
      );
      await run('wait', '--for=condition=Ready', 'pod/both', '--timeout=60s');
      const says = async (from: string, script: string, host: string): Promise<string> =>
        (await attempt('exec', from, '--', process.execPath, '-e', script, host, '80')).stdout.trim();
      const answers = (from: string, script: string, host: string): Promise<string> =>
        waitFor(`${from} has an answer of ${host}`, () => says(from, script, host));
      const address = await run('get', 'pod', 'both', '-o', 'jsonpath={.status.podIP}');
      for (const script of [ASK_UDP, ASK_TCP]) {
        assert.equal(await answers('client', script, address), 'both');
        assert.equal(await answers('client', script, 'both'), 'both');
        if (isLinked) assert.equal(await answers('of-machine', script, address), 'both');
      }
      await run('patch', 'service', 'both', '--type=json', '-p', '[{"op":"remove","path":"/spec/ports/1"}]');
      await waitFor('the end of the port of UDP', async () => (await says('client', ASK_UDP, 'both')) === '');
      assert.equal(await answers('client', ASK_TCP, 'both'), 'both');
      await run('delete', 'pod/both', 'service/both');
    });

    test('[POD-28] a pod has its own localhost, which port-forward reaches', async () => {
      const name = (await run('get', 'pods', '-l', 'app=web', '-o', 'name')).split('\n')[0] ?? '';
      assert.equal(await run('exec', name, '--', process.execPath, '-e', ASK, 'http://127.0.0.1:81/'), 'inside\n');
      await using forward = new KubectlStream(
        spawnKubectl(cluster.ready.kubeconfig, ['port-forward', name, ':80', ':81'], 60_000),
      );
      const ports = await waitFor('two local ports', () => {
        const all = [...forward.printed.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => port);
        return all.length === 2 ? all : undefined;
      });
      const said = await Promise.all(
        ports.map(async (port) =>
          (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })).text(),
        ),
      );
      assert.match(said[0] ?? '', /^10\.244\./);
      assert.equal(said[1], 'inside');
    });

    test('the API server leads to pods and services', async () => {
      const [address = ''] = await addresses('app=web');
      const name = (await run('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[0].metadata.name}')).trim();
      const raw = (resource: string): Promise<string> =>
        run('get', '--raw', `/api/v1/namespaces/default/${resource}/proxy/`);
      assert.match(await raw(`pods/${name}:80`), new RegExp(`^${address} `));
      assert.match(await raw('services/web'), /^10\.244\./);
    });

    test(`programs of this machine ${isLinked ? 'reach' : 'do not reach'} pods and services at their addresses, whatever policies say`, async () => {
      const [address = ''] = await addresses('app=web');
      const service = await run('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
      const ask = async (host: string): Promise<string> =>
        (await execute(process.execPath, ['-e', ASK_WITHIN, host, isLinked ? '20000' : '500'])).stdout.trim();
      // Another network may have this address: what answers there is no pod.
      const expected = isLinked ? /^10\.244\.\d+\.\d+ ::ffff:/ : /^(?!10\.244\.)/;
      assert.match(await ask(address), expected);
      assert.match(await ask(service), expected);
      await send(['create'], policy('deny', []));
      await waitFor('the cut of pods', async () => {
        const { code } = await attempt('exec', 'client', '--', process.execPath, '-e', IS_CUT, address);
        return code === 0;
      });
      assert.match(await ask(address), expected);
      await run('delete', 'networkpolicy', 'deny');
    });

    test('a pod opens no connection to this machine, whatever listens there', async () => {
      let taken = 0;
      const server = createServer((socket) => {
        taken += 1;
        socket.destroy();
      }).listen(0, '0.0.0.0');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const own = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address: each }) => each));
      const places = [...own, MACHINE].filter((each) => isIPv4(each) && !each.startsWith('127.'));
      // The way to other networks accepts what it then refuses, so only the server knows.
      const tries = places.map((place) => `timeout 5 bash -c 'exec 3<>/dev/tcp/${place}/${port}; cat <&3'`);
      await attempt('exec', 'client', '--', 'bash', '-c', tries.join('; '));
      assert.equal(taken, 0);
      server.close();
    });

    test('a pod reads neither the credentials of the cluster nor a secret of another pod', async () => {
      const data = { word: Buffer.from(KEPT).toString('base64') };
      const metadata = { name: 'kept', namespace: 'default' };
      await send(
        ['create'],
        { apiVersion: 'v1', kind: 'Secret', metadata, data },
        pod('keeper', {
          containers: [
            {
              ...container(['sleep', '1000']),
              env: [{ name: 'KEPT', valueFrom: { secretKeyRef: { name: 'kept', key: 'word' } } }],
              volumeMounts: [{ name: 'kept', mountPath: '/kept' }],
            },
          ],
          volumes: [{ name: 'kept', secret: { secretName: 'kept' } }],
        }),
      );
      await run('wait', '--for=condition=Ready', 'pod/keeper', '--timeout=60s');
      assert.equal(await run('exec', 'keeper', '--', 'cat', '/kept/word'), KEPT);
      const token = /token: "?([^"\s]+)/.exec(readFileSync(cluster.ready.kubeconfig, 'utf8'))?.[1] ?? '';
      const wanted = [KEPT, token];
      const files = filesWith(cluster.dataDir, wanted);
      for (const word of wanted) assert.ok(files.some(({ text }) => word !== '' && text.includes(word)));
      const paths = files.map(({ file }) => file);
      const own = JSON.stringify({ paths: ['/kept/word'], wanted: [KEPT] });
      const found = await run('exec', 'keeper', '--', process.execPath, '-e', SPY, own);
      assert.match(found, /^\["\/kept\/word"/, 'the spy finds what it may read');
      assert.equal(await inClient(SPY, JSON.stringify({ paths, wanted })), '[]');
      await run('delete', 'pod/keeper', 'secret/kept');
    });

    test('a node port and a load balancer lead in from this machine', async () => {
      await run('expose', 'deployment', 'web', '--name=balanced', '--port=80', '--type=LoadBalancer');
      const path = 'jsonpath={.status.loadBalancer.ingress[0].ip}';
      const address = await waitFor('the address of the load balancer', async () => {
        const said = await run('get', 'service', 'balanced', '-o', path);
        return said !== '' && said;
      });
      assert.match(address, /^127\.96\./);
      assert.match(await run('get', 'service', 'balanced'), new RegExp(`LoadBalancer.*${address}.*80:3\\d{4}/TCP`));
      const port = await run('get', 'service', 'balanced', '-o', 'jsonpath={.spec.ports[0].nodePort}');
      const errors = await run('get', 'service', 'balanced', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ports}');
      const ask = async (place: string): Promise<string> =>
        (await fetch(`http://${place}/`, { headers: { connection: 'close' } })).text();
      // A user without rights may not open port 80, and the event says where to go instead.
      const places = [`${address}:${port}`, `${expose}:${port}`, ...(errors === '' ? [`${address}:80`] : [])];
      for (const place of places) {
        const said = await waitFor(`an answer at ${place}`, () => ask(place).catch(() => undefined));
        assert.match(said, /^10\.244\./);
      }
      if (errors !== '') {
        const events = await run('get', 'events', '--field-selector', 'involvedObject.name=balanced');
        assert.match(events, new RegExp(`PortNotOpened.*${address}:${port}`));
      }
      await run('delete', 'service', 'balanced');
      await waitFor('the end of the load balancer', () =>
        ask(places[0] ?? '').then(
          () => false,
          () => true,
        ),
      );
    });

    test('host ports lead in from this machine, told apart by address and protocol', async () => {
      const other = `${expose}1`;
      const places = [
        { name: 'at-host', hostIP: expose, protocol: 'TCP', script: ASK_TCP },
        { name: 'at-other', hostIP: other, protocol: 'TCP', script: ASK_TCP },
        { name: 'at-host-udp', hostIP: expose, protocol: 'UDP', script: ASK_UDP },
      ] as const;
      const ask = async ({ hostIP, script }: (typeof places)[number]): Promise<string> =>
        (await execute(process.execPath, ['-e', script, hostIP, '8099'])).stdout.trim();
      const pods = places.map(({ name, hostIP, protocol }) => {
        const ports = [{ containerPort: 80, hostPort: 8_099, hostIP, protocol }];
        return pod(name, { containers: [{ ...container([process.execPath, '-e', SERVE_BOTH, '80', name]), ports }] });
      });
      await send(['create'], ...pods);
      for (const place of places)
        assert.equal(await waitFor(`an answer at the host port of ${place.name}`, () => ask(place)), place.name);
      await run('delete', 'pod', ...places.map(({ name }) => name));
      for (const place of places) await waitFor('the end of the host port', async () => (await ask(place)) === '');
    });

    test('a pod on the network of the machine keeps the address of the node', async () => {
      const [ip, host] = (
        await run('get', 'pod', 'of-machine', '-o', 'jsonpath={.status.podIP} {.status.hostIP}')
      ).split(' ');
      assert.equal(ip, host);
    });

    test('network policies cut pods off and let clients in by label and port, and never the node', async () => {
      const [address = ''] = await addresses('app=web');
      const isDone = async (...command: readonly string[]): Promise<boolean> =>
        (await attempt('exec', 'client', '--', process.execPath, '-e', ...command)).code === 0;
      await send(['create'], policy('deny', []));
      await waitFor('the cut', () => isDone(IS_CUT, address));
      assert.equal(await inClient(API), '1');
      const name = (await run('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[0].metadata.name}')).trim();
      const answer = await run('get', '--raw', `/api/v1/namespaces/default/pods/${name}:80/proxy/`);
      assert.match(answer, /^10\.244\./, 'the node reaches its pods');
      const from = [{ podSelector: { matchLabels: { role: 'client' } } }];
      await send(['create'], policy('allow', [{ from, ports: [{ port: 80 }] }]));
      await run('label', 'pod', 'client', 'role=client');
      await waitFor('an answer to the client', () => isDone(ASK, 'http://web/'));
      await run('label', 'pod', 'client', 'role-');
      await waitFor('the cut of a pod without the label', () => isDone(IS_CUT, address));
      await run('delete', 'networkpolicy', 'allow', 'deny');
      await waitFor('an answer without policies', () => isDone(ASK, 'http://web/'));
    });

    test('the first packet of a pod that a network policy selects is bound by it', async () => {
      const [address = ''] = await addresses('app=web');
      const podSelector = { matchLabels: { app: 'hasty' } };
      const shut = policy('shut', []);
      await send(['create'], { ...shut, spec: { podSelector, policyTypes: ['Egress'] } });
      const command = ['timeout', '1', 'bash', '-c', `exec 3<>/dev/tcp/${address}/80`];
      const hasty = pod('hasty', { restartPolicy: 'Never', containers: [container(command)] });
      await send(['create'], { ...hasty, metadata: { ...hasty.metadata, labels: podSelector.matchLabels } });
      await run('wait', '--for=jsonpath={.status.phase}=Failed', 'pod/hasty', '--timeout=60s');
      await run('delete', 'networkpolicy/shut', 'pod/hasty');
    });

    test(`after the stop${closesTerminal ? ', also without a terminal,' : ''} nothing is left on the machine`, async () => {
      assert.equal(isLinkedTo(cluster.dataDir), isLinked);
      const links = Object.keys(networkInterfaces()).filter((name) => /^(?:pod|eth0@)/.test(name));
      assert.deepEqual(links, []);
      if (closesTerminal) cluster.closeOutput();
      assert.equal(await cluster.stop(), 0);
      assert.ok(!isLinkedTo(cluster.dataDir));
      await waitFor('the end of every process', () => processesOf(cluster.dataDir).length === 0);
      assert.ok(!readFileSync('/proc/mounts', 'utf8').includes(cluster.dataDir));
    });
  });
}

test('pods keep their addresses when the cluster is killed, and get new networks when theirs is lost', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-e2e-network-'));
  const flags = ['--pod-network', 'private'];
  let cluster = await HoldfastProcess.start(flags, folder);
  try {
    const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);
    const field = (name: string): Promise<string> => run('get', 'pod', 'client', '-o', `jsonpath={${name}}`);
    const isReady = (): Promise<string> => run('wait', '--for=condition=Ready', 'pod/client', '--timeout=60s');
    /** The pod has this address in its own network. */
    const isInside = (address: string): Promise<boolean> =>
      waitFor(`${address} in the pod`, async () => {
        const { stdout } = await attempt('exec', 'client', '--', 'cat', '/proc/net/fib_trie');
        return new RegExp(`-- ${address}\\b`).test(stdout);
      });
    await send(['create'], pod('client'));
    await isReady();
    const before = await field('.status.podIP');
    await cluster.stop('SIGKILL');
    cluster = await HoldfastProcess.start(flags, folder);
    await isReady();
    assert.deepEqual(
      [await field('.status.podIP'), await field('.status.containerStatuses[0].restartCount')],
      [before, '0'],
    );
    await isInside(before);
    for (const agent of processesOf(`agent-main.mjs\0${folder}`)) process.kill(Number(agent), 'SIGKILL');
    await waitFor('the restart', async () => (await field('.status.containerStatuses[0].restartCount')) === '1');
    await isReady();
    const after = await field('.status.podIP');
    await isInside(after);
    assert.equal(isLinkedTo(folder), process.getuid?.() === 0, 'the new network has a link, too');
  } finally {
    await cluster[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
});
