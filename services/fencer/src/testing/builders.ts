import { NO_NODE_INFO, type Node, type PersistentVolume, type Pod, type PodDisruptionBudget } from '@holdfast/api';
import { decodeConfiguration, type FencerConfiguration } from '../configuration/configuration.ts';
import type { FenceSnapshot } from '../domain/decide.ts';
import { CLAIM, encodeClaim, type FenceClaim } from '../domain/marks.ts';

export type Ready = 'True' | 'False' | 'Unknown';
export type Fenced = readonly [status: Ready, reason: string, message?: string];

export interface NodeSketch {
  readonly name?: string;
  readonly ready?: Ready;
  readonly fenced?: Fenced;
  readonly taints?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly claim?: FenceClaim;
  readonly volumesInUse?: readonly string[];
}

const NOW = '2026-01-01T00:00:00Z';

export function node(sketch: NodeSketch = {}): Node {
  const { name = 'a', ready = 'True', fenced, taints = [], claim, volumesInUse = [] } = sketch;
  const times = { lastHeartbeatTime: NOW, lastTransitionTime: NOW };
  const annotations = { ...sketch.annotations, ...(claim === undefined ? {} : { [CLAIM]: encodeClaim(claim) }) };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `uid-${name}`, annotations },
    spec: { taints: taints.map((key) => ({ key, effect: key === 'fencing/fenced' ? 'NoSchedule' : 'NoExecute' })) },
    status: {
      conditions: [
        { type: 'Ready', status: ready, reason: '', message: '', ...times },
        ...(fenced === undefined
          ? []
          : [{ type: 'Fenced', status: fenced[0], reason: fenced[1], message: fenced[2] ?? '', ...times }]),
      ],
      volumesInUse: [...volumesInUse],
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { ...NO_NODE_INFO },
    },
  };
}

export interface PodSketch {
  readonly name?: string;
  readonly app?: string;
  readonly priority?: number;
  readonly phase?: string;
  /** Toleration of the unreachable taint; `for ever` has no limit, absent means none. */
  readonly tolerates?: number | 'for ever';
  readonly isDown?: boolean;
  readonly isMirror?: boolean;
  /** Force-deleted, and kept by a finalizer. */
  readonly isHeld?: boolean;
}

const UNREACHABLE = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' } as const;

export function pod(sketch: PodSketch = {}): Pod {
  const { name = 'db-0', app = 'db', priority = 0, phase = 'Running', tolerates, isDown = false } = sketch;
  const toleration = tolerates === 'for ever' ? UNREACHABLE : { ...UNREACHABLE, tolerationSeconds: tolerates ?? 0 };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      labels: { app },
      ...(sketch.isHeld === true ? { finalizers: ['a/b'], deletionTimestamp: NOW, deletionGracePeriodSeconds: 0 } : {}),
      ...(sketch.isMirror === true ? { annotations: { 'kubernetes.io/config.mirror': 'x' } } : {}),
    },
    spec: {
      nodeName: 'a',
      priority,
      containers: [{ name: 'main', image: 'db', resources: {} }],
      ...(tolerates === undefined ? {} : { tolerations: [toleration] }),
    },
    status: { phase, ...(isDown ? { conditions: [{ type: 'NodeDown', status: 'True' }] } : {}) },
  };
}

/** A disk of the server `storage.example`, used on a node by these pods; `portals` are additional paths. */
export const volume = (
  name: string,
  nodeName?: string,
  users: readonly Pod[] = [],
  portals: readonly string[] = [],
): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, uid: `uid-${name}` },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    iscsi: { targetPortal: 'storage.example:3260', iqn: 'iqn.2026-11.example:disk', lun: 0, portals: [...portals] },
  },
  status:
    nodeName === undefined
      ? {}
      : {
          attachment: {
            nodeName,
            nodeUID: `uid-${nodeName}`,
            attachedAt: NOW,
            pods: users.map(({ metadata: { namespace = '', name: user = '', uid = '' } }) => ({
              namespace,
              name: user,
              uid,
            })),
          },
        },
});

export const budget = (disruptionsAllowed: number, app = 'db'): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: app, namespace: 'default' },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
});

const AGENTS = [
  { name: 'power', exec: { command: ['power'] } },
  { name: 'firewall', fences: 'storage', servers: ['storage.example'], http: { url: 'http://127.0.0.1:1/' } },
];

export type RuleSketch = Readonly<Record<string, string | number | string[] | { matchLabels: Record<string, string> }>>;

/** An agent `power` for nodes and an agent `firewall` for storage. */
export const configuration = (rules: readonly RuleSketch[], more: { maxFenced?: number } = {}): FencerConfiguration =>
  decodeConfiguration({ agents: AGENTS, rules: [...rules], ...more });

export const claimBy = (holder: string, change: Partial<FenceClaim> = {}): FenceClaim => ({
  requestId: 'request-1',
  holder,
  agent: 'power',
  scope: 'node',
  servers: [],
  trigger: 'rule',
  reason: 'because',
  boundSeconds: 100,
  ...change,
});

export const snapshot = (change: Partial<FenceSnapshot> = {}): FenceSnapshot => ({
  node: node({ ready: 'Unknown' }),
  pods: [],
  volumes: [],
  budgets: [],
  otherNodes: [node({ name: 'b' })],
  partitionedSinceMs: 0,
  claimSeenSinceMs: 0,
  ...change,
});
