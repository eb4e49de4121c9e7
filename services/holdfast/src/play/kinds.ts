import type { Actor } from './actor.ts';
import type { Trouble } from './gate.ts';

/** One step of a scenario file that begins now. */
export interface Step {
  readonly do: PlayedKind;
  /** Absent for faults of the whole cluster. */
  readonly target?: string;
  /** Absent: until somebody ends it. */
  readonly forMs?: number;
  /** `delay` in milliseconds, `loss` as a share. */
  readonly value?: number;
}

interface Kind {
  /** `process`: a node or a process of the control plane. */
  readonly targets: 'node' | 'master' | 'process' | 'none';
  readonly says: string;
  /** The key of its value in the file. */
  readonly value?: 'delay' | 'loss';
  /** Strikes one component. Returns what ends it. */
  begin(actor: Actor, value: number): () => void;
}

const troubled =
  (trouble: Trouble) =>
  ({ gate }: Actor): (() => void) =>
    gate.begin(trouble);

const killed = (actor: Actor): (() => void) => {
  actor.crash();
  return () => actor.revive();
};

const CUT = { toApi: true, fromApi: true, bus: true } as const;

/** The faults of scenario files (`docs/scenarios.md`) that an embedded cluster can have, by the same names. */
export const PLAYED_KINDS = {
  isolate: { targets: 'node', says: '{target} loses its network', begin: troubled(CUT) },
  'cut-to-api': {
    targets: 'node',
    says: 'what {target} sends to the API servers is lost',
    begin: troubled({ toApi: true }),
  },
  'cut-from-api': {
    targets: 'node',
    says: 'what the API servers send to {target} is lost',
    begin: troubled({ fromApi: true }),
  },
  'cut-master': { targets: 'master', says: '{target} loses its network', begin: troubled(CUT) },
  'lossy-link': {
    targets: 'process',
    says: '{value} of what {target} and the API servers send each other is lost',
    value: 'loss',
    begin: ({ gate }, loss) => gate.begin({ loss }),
  },
  'slow-link': {
    targets: 'process',
    says: 'what {target} and the API servers send each other takes up to {value}',
    value: 'delay',
    begin: ({ gate }, delayMs) => gate.begin({ delayMs }),
  },
  'disk-full': {
    targets: 'node',
    says: 'the container runtime of {target} has no room for anything new',
    begin: troubled({ diskFull: true }),
  },
  'disk-slow': {
    targets: 'node',
    says: 'the container runtime of {target} takes up to {value} more for everything',
    value: 'delay',
    begin: ({ gate }, diskDelayMs) => gate.begin({ diskDelayMs }),
  },
  'bus-outage': { targets: 'none', says: 'the bus is gone', begin: troubled({ bus: true }) },
  crash: { targets: 'master', says: '{target} is killed, and starts again', begin: killed },
  'kubelet-down': {
    targets: 'node',
    says: 'the kubelet of {target} is killed, and its containers continue',
    begin: killed,
  },
  pause: {
    targets: 'process',
    says: '{target} is stopped, and continues as if nothing had happened',
    begin: troubled({ held: true }),
  },
} as const satisfies Record<string, Kind>;

export type PlayedKind = keyof typeof PLAYED_KINDS;

const OWN_PROCESS = 'API server and store are the process of this cluster; `docker compose` has them apart';
const OWN_MACHINE = 'the machine of its nodes is yours; use kubelet-down';

const OWN_CLOCK = 'all components share the clock of your machine';
const ONE_ZONE = 'this cluster has one zone; `docker compose` has three with `docker-compose.ha.yml`';
const NO_PACKETS = 'its components call each other without packets; use lossy-link or slow-link';
const OWN_STORE = 'its store has no server of its own; `docker compose` has one';
const WHOLE_BUS = 'the bus of one process loses nothing while it lasts; use bus-outage';

/** The faults of scenario files that an embedded cluster cannot have, and why. */
export const REFUSED_KINDS: ReadonlyMap<string, string> = new Map([
  ['lossy-bus', WHOLE_BUS],
  ['late-kind', WHOLE_BUS],
  ['lost-kind', WHOLE_BUS],
  ['store-down', OWN_PROCESS],
  ['store-slow', OWN_PROCESS],
  ['store-full', OWN_PROCESS],
  ['feed-lag', OWN_PROCESS],
  ['store-unknown', OWN_PROCESS],
  ['short-history', 'its API server remembers what it remembers; the simulator plays it'],
  ['too-many', 'send the requests: the API server refuses what is too many'],
  ['store-failover', OWN_PROCESS],
  ['power-loss', OWN_MACHINE],
  ['containers-lost', OWN_MACHINE],
  ['kill-process', 'a user does it: `kubectl exec POD -- kill 1`'],
  ['crash-writing', 'nobody counts the writes of its components; use crash'],
  ['clock-jump', OWN_CLOCK],
  ['clock-slow', OWN_CLOCK],
  ['masters-down', 'the API would end with them; use crash for one of them'],
  ['zone-cut', ONE_ZONE],
  ['zone-loss', ONE_ZONE],
  ['zone-upgrade', ONE_ZONE],
  ['doubled-link', NO_PACKETS],
  ['reordered-link', NO_PACKETS],
  ['spoiled-link', NO_PACKETS],
  ['narrow-link', NO_PACKETS],
  ['no-names', 'its components look up no names; use cut-to-api'],
  ['tight-memory', 'its components share the memory of one process; use crash'],
  ['store-moved', OWN_STORE],
  ['store-rewrites', OWN_STORE],
  ['store-torn', OWN_STORE],
  ['expired-certificate', 'its components call the API without certificates'],
  ['expired-token', 'its components have credentials that do not expire'],
]);

export const kindOf = (name: PlayedKind): Kind => PLAYED_KINDS[name];
export const isPlayed = (name: string): name is PlayedKind => Object.hasOwn(PLAYED_KINDS, name);
