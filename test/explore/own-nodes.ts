import { apply, applyStatus, atOnce, deployment, type OwnControllers, own, pod, remove } from './own-workload.ts';

/** Nobody plays this node. */
const ghost = (metadata: object = {}, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'ghost', ...metadata },
  spec,
});
const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

const READY = { type: 'Ready', status: 'True', reason: 'KubeletReady' };
const readyGhost = { ...ghost(), status: { conditions: [READY] } };

const played = (spec: object) => ({ ...node('hollow-1'), spec });
const LEAVE = { key: 'example.com/leave', value: 'now', effect: 'NoExecute' };

/** It does not stay on a node that is lost. */
const onGhost = pod('lost', {
  nodeName: 'ghost',
  tolerations: ['not-ready', 'unreachable'].map((name) => ({
    key: `node.kubernetes.io/${name}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 0,
  })),
});

/** The promise of a node that ends all its pods by itself. Nobody renews it. */
const promise = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    name: 'ghost',
    namespace: 'kube-node-lease',
    annotations: { 'holdfast.io/self-fencing': 'all', 'holdfast.io/self-fencing-holder': 'machine' },
  },
  spec: { holderIdentity: 'ghost', leaseDurationSeconds: 4 },
};

const ended = (name: string) =>
  pod(name, { restartPolicy: 'Never', containers: [{ name: 'main', image: 'app', command: ['sleep', '0'] }] });

/** A node that nobody plays would be judged by the cluster, at a moment of its own. */
const UNJUDGED = ['node-lifecycle'];

export const NODE_CONTROLLERS: readonly (readonly [string, OwnControllers])[] = [
  [
    'node-lifecycle',
    own(
      ['node-lifecycle'],
      [
        apply(deployment(2)),
        apply(played({ unschedulable: true })),
        apply(played({ unschedulable: false })),
        apply(played({ taints: [LEAVE] })),
        apply(played({ taints: null })),
      ],
    ),
  ],
  [
    'node-lost',
    own(['node-lifecycle'], [atOnce(apply(ghost())), atOnce(applyStatus(readyGhost)), apply(onGhost)], {
      flags: ['--node-monitor-grace-seconds', '20'],
      quietMs: 27_000,
    }),
  ],
  [
    'self-fencing',
    own(
      ['self-fencing'],
      [atOnce(apply(ghost())), atOnce(apply(promise)), apply(pod('lost', { nodeName: 'ghost' })), remove(promise)],
      { without: ['self-fencing', ...UNJUDGED], quietMs: 8_000 },
    ),
  ],
  [
    'ttl',
    own(
      ['ttl'],
      [
        apply(ghost()),
        apply(ghost({ annotations: { 'node.alpha.kubernetes.io/ttl': '7' } })),
        remove(ghost()),
        apply(ghost()),
      ],
      { without: ['ttl', ...UNJUDGED] },
    ),
  ],
  [
    'nodeipam',
    own(
      ['nodeipam'],
      // One network for one node: another choice is no finding.
      [apply(node('one')), remove(node('one')), apply(node('two')), atOnce(remove(node('two'))), apply(node('three'))],
      {
        flags: ['--allocate-node-cidrs', '--cluster-cidr', '10.244.0.0/24'],
        without: UNJUDGED,
        quietMs: 1_500,
        hollowNodes: 0,
      },
    ),
  ],
  [
    'pod-garbage-collector',
    own(
      ['pod-garbage-collector'],
      [atOnce(apply(ended('one'))), apply(ended('two')), apply(ended('three')), remove(ended('three'))],
      // That of the cluster cannot be left out, and keeps more ended pods.
      { flags: ['--terminated-pod-threshold', '1'], without: [], quietMs: 21_000 },
    ),
  ],
];
