import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl, type KubectlStream } from '../support/kubectl.ts';
import { openFolder } from '../support/open-folder.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send, follow } = createKubectl(() => cluster.ready.kubeconfig);
/** Files with which the test makes a pod ready or lets it end. */
const signals = openFolder('budgets');

before(async () => {
  cluster = await HoldfastProcess.start(['--memory', '--nodes', '3']);
  await run('wait', 'nodes', '--all', '--for=condition=Ready', '--timeout=30s');
});
after(async () => {
  writeFileSync(path.join(signals, 'end'), '');
  await cluster[Symbol.asyncDispose]();
  rmSync(signals, { recursive: true, force: true });
});

const allow = (what: 'ready' | 'end', pod: string): void => writeFileSync(path.join(signals, `${what}-${pod}`), '');

/** Runs until it is stopped and its file permits the end; ready while its file exists. */
const podSpec = (cpu: string, affinity: object): object => ({
  terminationGracePeriodSeconds: 100,
  affinity: { nodeAffinity: affinity },
  containers: [
    {
      name: 'main',
      image: 'busybox',
      env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      command: [
        'sh',
        '-c',
        `trap 'until test -e ${signals}/end -o -e ${signals}/end-$POD_NAME; do sleep 0.1; done; exit 0' TERM; while :; do sleep 0.1; done`,
      ],
      readinessProbe: {
        exec: { command: ['sh', '-c', `test -e ${signals}/ready-$POD_NAME`] },
        periodSeconds: 1,
        failureThreshold: 1,
      },
      resources: { requests: { cpu } },
    },
  ],
});

const hostname = (...values: readonly string[]): object => ({
  matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }],
});

function deploy(name: string, replicas: number, spec: object): Promise<string> {
  const labels = { app: name };
  const template = { metadata: { labels }, spec };
  const metadata = { name, namespace: 'default' };
  const deployment = { replicas, selector: { matchLabels: labels }, template };
  return send(['create'], { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: deployment });
}

interface PodView {
  readonly name: string;
  readonly node: string;
  readonly phase: string;
  readonly terminating: boolean;
  readonly conditions: Readonly<Record<string, string>>;
}

async function podsOf(app: string): Promise<readonly PodView[]> {
  const { items } = JSON.parse(await run('get', 'pods', '-l', `app=${app}`, '-o', 'json'));
  return Array.from(items, ({ metadata, spec, status }): PodView => {
    const conditions = Array.from(status.conditions ?? [], ({ type, status: value, reason }) => [
      type,
      `${value} ${reason ?? ''}`.trim(),
    ]);
    return {
      name: metadata.name,
      node: spec.nodeName ?? '',
      phase: status.phase,
      terminating: metadata.deletionTimestamp !== undefined,
      conditions: Object.fromEntries(conditions),
    };
  });
}

/** The single new pod of the app that satisfies `isIt`. */
async function newcomer(app: string, known: readonly string[], isIt: (pod: PodView) => boolean): Promise<PodView> {
  let found: PodView | undefined;
  await waitFor(`a new pod of ${app}`, async () => {
    found = (await podsOf(app)).find((pod) => !known.includes(pod.name) && isIt(pod));
    return found !== undefined;
  });
  return found ?? assert.fail();
}

/** Nodes take new pods or not, as named. */
async function open(...nodes: readonly string[]): Promise<void> {
  for (const name of ['node-1', 'node-2', 'node-3']) await run(nodes.includes(name) ? 'uncordon' : 'cordon', name);
}

const figures = (): Promise<string> =>
  run(
    'get',
    'pdb',
    'web',
    '-o',
    'jsonpath={.status.expectedPods} {.status.currentHealthy} {.status.desiredHealthy} {.status.disruptionsAllowed}',
  );
const budgetIs = (expected: string): Promise<unknown> =>
  waitFor(`a budget of ${expected}`, async () => (await figures()) === expected);

const REFUSED = (pod: string): RegExp =>
  new RegExp(
    `error when evicting pods/"${pod}" -n "default" \\(will retry after 5s\\): Cannot evict pod as it would violate the pod's disruption budget`,
  );

/** The part of a node that two pods fill. */
async function almostHalfANode(): Promise<string> {
  const cpu = await run('get', 'node', 'node-1', '-o', 'jsonpath={.status.allocatable.cpu}');
  const milli = cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000;
  return `${Math.floor(milli * 0.45)}m`;
}

test('[DISR-13] [DISR-14] [DISR-19] [DISR-20] [DISR-21] [DISR-23] [DISR-24] [DISR-25] three nodes are drained in turn, at the pace of a budget', async () => {
  const cpu = await almostHalfANode();
  const prefersNode2 = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: hostname('node-2') }],
  };
  const notOnNode2 = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [hostname('node-1', 'node-3')] },
  };
  // The state at the beginning: a and x on node-1, b on node-2, c on node-3.
  await deploy('web', 0, podSpec(cpu, prefersNode2));
  const web: string[] = [];
  for (const name of ['node-1', 'node-2', 'node-3']) {
    await open(name);
    await run('scale', 'deployment/web', `--replicas=${web.length + 1}`);
    const placed = await newcomer('web', web, ({ node }) => node === name);
    web.push(placed.name);
    allow('ready', placed.name);
  }
  await open('node-1');
  await deploy('x', 1, podSpec(cpu, notOnNode2));
  const x = (await newcomer('x', [], ({ node }) => node === 'node-1')).name;
  allow('ready', x);
  await open('node-1', 'node-2', 'node-3');
  await run('create', 'pdb', 'web', '--selector=app=web', '--min-available=2');
  await budgetIs('3 3 2 1');
  const [a = '', b = '', c = ''] = web;

  // Step 1: a and x are terminating at the same time, and say why.
  await using first = follow('drain', 'node-1', '--timeout=110s');
  await waitFor('a and x on their way out', async () =>
    [...(await podsOf('web')), ...(await podsOf('x'))]
      .filter(({ name }) => name === a || name === x)
      .every(({ terminating, conditions }) => {
        return terminating && conditions['DisruptionTarget'] === 'True EvictionByEvictionAPI';
      }),
  );
  assert.match(
    await run('get', 'node', 'node-1', '-o', 'jsonpath={.spec}'),
    /"key":"node.kubernetes.io\/unschedulable"[\s\S]*"unschedulable":true/,
  );

  // Step 2: their replacements are on other nodes while they still end.
  const d = (await newcomer('web', web, ({ node }) => node !== '')).name;
  const y = (await newcomer('x', [x], ({ node }) => node !== '')).name;
  const placed = [...(await podsOf('web')), ...(await podsOf('x'))];
  const nodeOf = (name: string): string | undefined => placed.find((pod) => pod.name === name)?.node;
  assert.deepEqual([nodeOf(a), nodeOf(d), nodeOf(y)], ['node-1', 'node-2', 'node-3']);
  assert.ok(placed.filter(({ name }) => name === a || name === x).every(({ terminating }) => terminating));

  // Step 3: node-1 is empty; d is still starting, so that b and c have to stay.
  allow('ready', y);
  allow('end', a);
  allow('end', x);
  await waitFor('node-1 drained', () => first.printed.includes('node/node-1 drained'));
  assert.equal(await run('get', 'pods', '--field-selector=spec.nodeName=node-1', '-o', 'name'), '');
  await budgetIs('3 2 2 0');
  const blocked = await attempt('drain', 'node-3', '--pod-selector=app=web', '--timeout=7s');
  assert.equal(blocked.code, 1);
  assert.match(blocked.stderr, REFUSED(c));
  await run('uncordon', 'node-3');

  // Step 4: with d available node-2 can give up one of b and d, not both.
  allow('ready', d);
  await budgetIs('3 3 2 1');
  await using second = follow('drain', 'node-2', '--timeout=110s');
  const [gone, kept] = await oneOfTwo(second, b, d);

  // Step 5: there is no room for the replacement, and the drain waits for a node.
  // (Its name may be the one that a gave back.)
  const e = await newcomer('web', [b, c, d], ({ conditions }) => conditions['PodScheduled'] === 'False Unschedulable');
  assert.deepEqual([e.node, e.phase], ['', 'Pending']);
  const now = new Map([...(await podsOf('web')), ...(await podsOf('x'))].map((pod) => [pod.name, pod]));
  assert.deepEqual(
    [gone, kept, c, y].map((name) => [
      now.get(name)?.node,
      now.get(name)?.terminating,
      now.get(name)?.conditions['Ready'],
    ]),
    [
      ['node-2', true, now.get(gone)?.conditions['Ready']],
      ['node-2', false, 'True'],
      ['node-3', false, 'True'],
      ['node-3', false, 'True'],
    ],
  );
  const refusals = (): number => second.printed.split(`evicting pods/"${kept}"`).length - 1;
  const before = refusals();
  await waitFor('it asks again', () => refusals() > before);
  allow('end', gone);
  await run('uncordon', 'node-1');
  await newcomer('web', [b, c, d], ({ name, node }) => name === e.name && node === 'node-1');
  allow('ready', e.name);
  allow('end', kept);
  await waitFor('node-2 drained', () => second.printed.includes('node/node-2 drained'));
});

/** Whichever comes first is evicted; the other has to stay. */
async function oneOfTwo(drain: KubectlStream, ...pods: readonly [string, string]): Promise<readonly [string, string]> {
  const terminating = async (): Promise<readonly string[]> =>
    (await podsOf('web')).filter((pod) => pods.includes(pod.name) && pod.terminating).map(({ name }) => name);
  const [one, other] = pods;
  await waitFor('one of them refused', () => pods.some((pod) => REFUSED(pod).test(drain.printed)));
  await waitFor('one of them on its way out', async () => (await terminating()).length === 1);
  const [gone] = await terminating();
  const kept = gone === one ? other : one;
  assert.match(drain.printed, REFUSED(kept));
  return [gone ?? '', kept];
}
