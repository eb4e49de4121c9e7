import type { Moment } from './moments.ts';

export interface Kind {
  readonly targets: 'node' | 'master' | 'api' | 'listener' | 'process' | 'zone' | 'pod' | 'app' | 'none';
  /** Shortest and longest time, seconds. */
  readonly for?: readonly [number, number];
  readonly value?: readonly [number, number];
  readonly isWhole?: boolean;
  /** What people and their automations react to with it. */
  readonly follows?: readonly Moment[];
  /** Average number per minute, when the seed uses this kind. 0: only files have it. */
  readonly perMinute: number;
}

export const FAULTS = {
  isolate: { targets: 'node', for: [5, 90], perMinute: 1 },
  'cut-to-api': { targets: 'node', for: [5, 60], perMinute: 1 },
  'cut-from-api': { targets: 'node', for: [5, 60], perMinute: 1 },
  'cut-master': { targets: 'master', for: [3, 40], perMinute: 0.7 },
  'lossy-link': { targets: 'process', for: [10, 60], value: [0.05, 0.5], perMinute: 1 },
  'slow-link': { targets: 'process', for: [10, 60], value: [100, 4000], perMinute: 1 },
  'bus-outage': { targets: 'none', for: [5, 60], perMinute: 0.6 },
  'lossy-bus': { targets: 'process', for: [10, 90], value: [0.1, 0.6], perMinute: 1 },
  // A subscription of one kind of objects falls behind, or loses what is sent meanwhile; the others of the process do not.
  'late-kind': { targets: 'listener', for: [10, 90], value: [200, 5000], perMinute: 1.5 },
  'lost-kind': { targets: 'listener', for: [10, 60], perMinute: 1.5 },
  'store-down': { targets: 'api', for: [1, 20], perMinute: 0.6 },
  // What the store tells of changes arrives late: caches and informers behind it lag, and reads do not.
  'feed-lag': { targets: 'api', for: [5, 60], value: [200, 20_000], perMinute: 1 },
  'store-slow': { targets: 'api', for: [5, 60], value: [20, 1500], perMinute: 0.8 },
  'store-unknown': { targets: 'api', for: [5, 40], value: [0.05, 0.5], perMinute: 0.8 },
  'store-failover': { targets: 'none', for: [1, 15], perMinute: 0.4 },
  // The disk of the store has no room: it reads and tells, and takes no write.
  'store-full': { targets: 'none', for: [2, 30], perMinute: 0.4 },
  // Requests that the API server had no room for, as in an overload: they had no effect.
  'too-many': { targets: 'api', for: [5, 40], value: [0.1, 0.7], perMinute: 0.7 },
  // A busy API server remembers few changes: a watch from before is answered with 410.
  'short-history': { targets: 'api', for: [5, 60], value: [0, 60], isWhole: true, perMinute: 1 },
  crash: { targets: 'master', for: [1, 30], perMinute: 1.5 },
  // Every process of the control plane ends at one moment, as in a power loss of its machines.
  'masters-down': { targets: 'none', for: [1, 25], perMinute: 0.5 },
  'kubelet-down': { targets: 'node', for: [0, 60], perMinute: 1.5 },
  'power-loss': { targets: 'node', for: [5, 60], perMinute: 0.7 },
  // The machine comes back without what its container runtime had stored.
  'containers-lost': { targets: 'node', for: [5, 40], perMinute: 0.5 },
  // The processes of a pod end by themselves, as without memory.
  'kill-process': { targets: 'pod', perMinute: 1.5 },
  // The process ends right after one of its next writes is sent: `value` counts them.
  'crash-writing': { targets: 'process', for: [0, 20], value: [1, 12], isWhole: true, perMinute: 2 },
  pause: { targets: 'process', for: [2, 40], perMinute: 1 },
  'clock-jump': { targets: 'process', value: [-120_000, 120_000], perMinute: 0.7 },
  // In thousandths: the margin of the promises covers it.
  'clock-slow': { targets: 'process', for: [20, 120], value: [1, 5], isWhole: true, perMinute: 0.7 },
  'disk-slow': { targets: 'node', for: [5, 40], value: [100, 4000], perMinute: 0.7 },
  'disk-full': { targets: 'node', for: [5, 40], perMinute: 0.5 },
  'expired-token': { targets: 'process', for: [2, 40], perMinute: 0.7 },
  // A zone has the API server, the scheduler and the controller manager of its number, and its part of the store.
  'zone-cut': { targets: 'zone', for: [5, 40], perMinute: 0 },
  'zone-loss': { targets: 'zone', for: [5, 40], perMinute: 0 },
  'zone-upgrade': { targets: 'zone', for: [5, 60], perMinute: 0 },
  // What a network, a name service or a machine does to one process, and a disk to the store.
  'doubled-link': { targets: 'process', for: [5, 40], value: [0.05, 0.5], perMinute: 0 },
  'reordered-link': { targets: 'process', for: [5, 40], value: [0.05, 0.3], perMinute: 0 },
  'spoiled-link': { targets: 'process', for: [5, 40], value: [0.001, 0.05], perMinute: 0 },
  'narrow-link': { targets: 'process', for: [5, 40], value: [20, 500], isWhole: true, perMinute: 0 },
  'no-names': { targets: 'process', for: [5, 40], perMinute: 0 },
  'tight-memory': { targets: 'master', for: [5, 40], value: [1, 40], isWhole: true, perMinute: 0 },
  'expired-certificate': { targets: 'api', for: [5, 40], perMinute: 0 },
  'store-moved': { targets: 'none', perMinute: 0 },
  'store-rewrites': { targets: 'none', for: [2, 20], perMinute: 0 },
  'store-torn': { targets: 'none', for: [1, 15], perMinute: 0 },
} as const satisfies Record<string, Kind>;

export const USERS = {
  'delete-pod': { targets: 'pod', perMinute: 3 },
  'delete-again': { targets: 'pod', value: [1, 60], isWhole: true, perMinute: 2 },
  // Names the pod that was there `for` seconds ago, as a script does that lists first.
  'delete-named': { targets: 'pod', for: [0, 25], perMinute: 3 },
  'force-delete': { targets: 'pod', follows: ['node-lost'], perMinute: 2 },
  evict: { targets: 'pod', follows: ['pod-deleting', 'pod-started'], perMinute: 4 },
  'evict-all': { targets: 'app', perMinute: 1.5 },
  // Evictions, deletions and changes of all pods of an application within a second, through all API servers.
  race: { targets: 'app', perMinute: 1.5 },
  'roll-out': { targets: 'app', perMinute: 1.5 },
  scale: { targets: 'app', value: [1, 4], isWhole: true, perMinute: 1 },
  'recreate-pod': { targets: 'none', perMinute: 2 },
  'recreate-set': { targets: 'app', perMinute: 0.5 },
  'run-job': { targets: 'none', value: [0, 40], isWhole: true, perMinute: 1.5 },
  // Comes and goes; what it owns is collected, at once or first.
  'use-app': { targets: 'none', for: [0.5, 30], value: [0, 1], isWhole: true, perMinute: 1.5 },
  // An object and others that it owns, as a controller of a user creates them.
  'use-owner': { targets: 'none', for: [0.5, 30], value: [1, 4], isWhole: true, perMinute: 2 },
  // Several of these, one after the other, each gone after a moment, as of a controller that is busy.
  'churn-owners': { targets: 'none', for: [5, 40], value: [1, 3], isWhole: true, perMinute: 1 },
  // Pods that their creator has placed by name, and that together ask for more than the node has.
  'use-room': { targets: 'node', for: [2, 20], value: [2, 4], isWhole: true, perMinute: 1.5 },
  // Users create objects through all API servers in a namespace that may have fewer, and delete them.
  'fill-quota': { targets: 'none', for: [0, 15], value: [2, 6], isWhole: true, perMinute: 2 },
  'add-finalizer': { targets: 'pod', for: [5, 30], perMinute: 0.7 },
  drain: { targets: 'node', for: [10, 60], perMinute: 0.7 },
  'delete-node': { targets: 'node', follows: ['node-lost'], perMinute: 0.8 },
  // The machine is off, the operator has looked, and says so.
  'lose-machine': { targets: 'node', for: [10, 60], follows: ['node-lost'], perMinute: 0.5 },
  // A mistake: the node is well.
  'taint-healthy': { targets: 'node', for: [5, 15], perMinute: 1 },
  'bind-pod': { targets: 'none', perMinute: 3 },
  'change-budget': { targets: 'none', value: [1, 2], isWhole: true, perMinute: 1 },
  'orphan-set': { targets: 'app', perMinute: 0.6 },
  'relabel-pod': { targets: 'pod', for: [2, 20], perMinute: 1.5 },
  'use-namespace': { targets: 'none', for: [0.5, 20], perMinute: 1 },
} as const satisfies Record<string, Kind>;

export type FaultKind = keyof typeof FAULTS;
export type UserKind = keyof typeof USERS;
export type StepKind = FaultKind | UserKind;

export const KINDS: Readonly<Record<StepKind, Kind>> = { ...FAULTS, ...USERS };
export const isFault = (kind: StepKind): kind is FaultKind => Object.hasOwn(FAULTS, kind);

/** They delay what a process of the control plane hears. */
export const DELAYS: ReadonlySet<string> = new Set([
  'cut-master',
  'lossy-link',
  'slow-link',
  'bus-outage',
  'lossy-bus',
  'late-kind',
  'lost-kind',
  'feed-lag',
  'store-down',
  'store-slow',
  'store-unknown',
  'store-failover',
  'store-full',
  'too-many',
  'short-history',
  'masters-down',
  'zone-cut',
  'zone-loss',
  'zone-upgrade',
  'reordered-link',
  'spoiled-link',
  'narrow-link',
  'no-names',
  'tight-memory',
  'expired-certificate',
  'store-moved',
  'store-rewrites',
  'store-torn',
  'expired-token',
  'crash',
  'crash-writing',
  'pause',
]);

/** Users that change the objects of a kind, or make controllers change them. */
export const CHANGERS: Readonly<Record<string, readonly UserKind[]>> = {
  pods: ['delete-pod', 'evict', 'race', 'roll-out', 'scale', 'use-app', 'recreate-set', 'run-job'],
  configmaps: ['use-owner', 'churn-owners', 'fill-quota', 'use-namespace'],
  replicasets: ['roll-out', 'scale', 'use-app', 'recreate-set', 'orphan-set'],
  statefulsets: ['roll-out', 'scale', 'recreate-set', 'orphan-set'],
  jobs: ['run-job'],
  persistentvolumes: ['delete-pod', 'roll-out', 'recreate-set', 'force-delete'],
  nodes: ['delete-node', 'lose-machine', 'taint-healthy', 'drain'],
};

/** They keep or delay what the bus tells; a process that watches the API beside the bus does not notice. */
export const BUS_FAULTS: ReadonlySet<string> = new Set([
  'bus-outage',
  'lossy-bus',
  'late-kind',
  'lost-kind',
  'feed-lag',
]);

/** A node is not heard, and its users may still live. */
export const OUTAGES: ReadonlySet<string> = new Set(['isolate', 'cut-to-api', 'cut-from-api', 'kubelet-down']);
