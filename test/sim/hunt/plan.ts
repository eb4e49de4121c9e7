import { createSeededRandom, invariant, type Random } from '@holdfast/platform';

/** One fault or one user action, as data, so that a schedule can be saved, read and shrunk. */
export interface Step {
  /** Seconds after the workloads are up. */
  readonly at: number;
  readonly do: StepKind;
  /**
   * Whom it concerns: a node, a process of the control plane, an application, a pod, a pod on a node (`@node-1`), or the node of an application
   * (`node-of-db`). */
  readonly target: string;
  /** Duration in seconds. */
  readonly for?: number;
  /** The amount: milliseconds, replicas, or a probability, by kind. */
  readonly value?: number;
}

export interface HuntPlan {
  readonly seed: number;
  readonly nodes: number;
  readonly apiServers: number;
  readonly schedulers: number;
  readonly managers: number;
  readonly hasFencer: boolean;
  /** Several schedulers or controller managers act at once: an operator has turned their leases off. */
  readonly isLeaderless?: boolean;
  /** The nodes promise to end what is exclusive when they are not heard. */
  readonly selfFencing?: boolean;
  /** Each pod of `db` has a disk of its own. */
  readonly hasDisks?: boolean;
  /** Replicas that differ from `REPLICAS`. An application with none is created and has no pods. */
  readonly replicas?: Readonly<Partial<Record<App, number>>>;
  /** The API servers start on an empty store, not on the data of a cluster that ran before. */
  readonly startsEmpty?: boolean;
  /** Events are stored; otherwise they are taken and dropped. */
  readonly keepsEvents?: boolean;
  /** How long faults and users disturb the cluster. */
  readonly seconds: number;
  readonly steps: readonly Step[];
}

export interface Kind {
  readonly targets: 'node' | 'master' | 'api' | 'process' | 'pod' | 'app' | 'none';
  /** Shortest and longest time, seconds. */
  readonly for?: readonly [number, number];
  readonly value?: readonly [number, number];
  readonly isWhole?: boolean;
  /** Average number per minute, when the seed uses this kind. */
  readonly perMinute: number;
}

const FAULTS = {
  isolate: { targets: 'node', for: [5, 90], perMinute: 1 },
  'cut-to-api': { targets: 'node', for: [5, 60], perMinute: 1 },
  'cut-from-api': { targets: 'node', for: [5, 60], perMinute: 1 },
  'cut-master': { targets: 'master', for: [3, 40], perMinute: 0.7 },
  'lossy-link': { targets: 'process', for: [10, 60], value: [0.05, 0.5], perMinute: 1 },
  'slow-link': { targets: 'process', for: [10, 60], value: [100, 4000], perMinute: 1 },
  'bus-outage': { targets: 'none', for: [5, 60], perMinute: 0.6 },
  'lossy-bus': { targets: 'process', for: [10, 90], value: [0.1, 0.6], perMinute: 1 },
  'store-down': { targets: 'api', for: [1, 20], perMinute: 0.6 },
  'store-slow': { targets: 'api', for: [5, 60], value: [20, 1500], perMinute: 0.8 },
  'store-unknown': { targets: 'api', for: [5, 40], value: [0.05, 0.5], perMinute: 0.8 },
  'store-failover': { targets: 'none', for: [1, 15], perMinute: 0.4 },
  crash: { targets: 'master', for: [1, 30], perMinute: 1.5 },
  'kubelet-down': { targets: 'node', for: [0, 60], perMinute: 1.5 },
  'power-loss': { targets: 'node', for: [5, 60], perMinute: 0.7 },
  // The process ends right after one of its next writes is sent: `value` counts them.
  'crash-writing': { targets: 'process', for: [0, 20], value: [1, 12], isWhole: true, perMinute: 2 },
  pause: { targets: 'process', for: [2, 40], perMinute: 1 },
  'clock-jump': { targets: 'process', value: [-120_000, 120_000], perMinute: 0.7 },
} as const satisfies Record<string, Kind>;

const USERS = {
  'delete-pod': { targets: 'pod', perMinute: 3 },
  'delete-again': { targets: 'pod', value: [1, 60], isWhole: true, perMinute: 2 },
  // Names the pod that was there `for` seconds ago, as a script does that lists first.
  'delete-named': { targets: 'pod', for: [0, 25], perMinute: 3 },
  'force-delete': { targets: 'pod', perMinute: 0.7 },
  evict: { targets: 'pod', perMinute: 4 },
  'evict-all': { targets: 'app', perMinute: 1.5 },
  'roll-out': { targets: 'app', perMinute: 1.5 },
  scale: { targets: 'app', value: [1, 4], isWhole: true, perMinute: 1 },
  'recreate-pod': { targets: 'none', perMinute: 2 },
  'recreate-set': { targets: 'app', perMinute: 0.5 },
  'run-job': { targets: 'none', perMinute: 1 },
  'add-finalizer': { targets: 'pod', for: [5, 30], perMinute: 0.7 },
  drain: { targets: 'node', for: [10, 60], perMinute: 0.7 },
  'delete-node': { targets: 'node', perMinute: 0.3 },
  // The machine is off, the operator has looked, and says so.
  'lose-machine': { targets: 'node', for: [10, 60], perMinute: 0.5 },
  // A mistake: the node is well.
  'taint-healthy': { targets: 'node', for: [5, 15], perMinute: 1 },
  'bind-pod': { targets: 'none', perMinute: 3 },
  'change-budget': { targets: 'none', value: [1, 2], isWhole: true, perMinute: 1 },
  'orphan-set': { targets: 'app', perMinute: 0.6 },
  'relabel-pod': { targets: 'pod', for: [2, 20], perMinute: 1.5 },
  'use-namespace': { targets: 'none', for: [2, 20], perMinute: 1 },
} as const satisfies Record<string, Kind>;

export type FaultKind = keyof typeof FAULTS;
export type UserKind = keyof typeof USERS;
export type StepKind = FaultKind | UserKind;
export const KINDS: Readonly<Record<StepKind, Kind>> = { ...FAULTS, ...USERS };
export const isFault = (kind: StepKind): kind is FaultKind => Object.hasOwn(FAULTS, kind);
/** A controller of a user, which follows all pods. */
export const OBSERVER = 'observer';
export const APPS = ['db', 'web', 'disk'] as const;
export type App = (typeof APPS)[number];
/** The replicas of each application where a plan says nothing else. */
export const REPLICAS: Readonly<Record<App, number>> = { db: 3, web: 3, disk: 1 };
const PODS = ['db-0', 'db-1', 'db-2', 'db', 'web', 'disk', 'one'];
/** One of these for a seed: some seeds have a few kinds, some many. */
const CHANCES_OF_A_FAULT = [0.15, 0.3, 0.45];
const CHANCES_OF_A_USER = [0.3, 0.5, 0.7];
/** In some seeds every process hears every change in time, so that rules hold there which lag excuses elsewhere. */
const CHANCE_OF_CALM = 0.25;
const DELAYS: ReadonlySet<string> = new Set([
  'cut-master',
  'lossy-link',
  'slow-link',
  'bus-outage',
  'lossy-bus',
  'store-down',
  'store-slow',
  'store-unknown',
  'store-failover',
  'crash',
  'crash-writing',
  'pause',
]);
/** They cost a third of the speed and matter to few bugs. */
const CHANCE_OF_EMPTY = 0.1;
const CHANCE_OF_EVENTS = 0.2;
const SECONDS = [45, 120] as const;
const BURSTS_PER_MINUTE = 2.5;
const BURST_STEPS = [3, 8] as const;
const BURST_SECONDS = [1, 12] as const;

/**
 * Swarm testing: a seed turns a random part of the kinds on, so that none drowns the others. Each kind draws from a stream of its own. Steps come
 * alone, and in bursts that meet one node, one process of the control plane and one application within seconds: most races need two or three of them together.
 */
export function planOf(seed: number): HuntPlan {
  const random = createSeededRandom(seed, 'plan');
  const shape = {
    seed,
    nodes: 3 + random.int(2),
    apiServers: 1 + random.int(2),
    schedulers: 1 + random.int(2),
    managers: 1 + random.int(2),
    hasFencer: random.float() < 0.3,
    isLeaderless: random.float() < 0.3,
    selfFencing: random.float() < 0.4,
    hasDisks: random.float() < 0.5,
    startsEmpty: random.float() < CHANCE_OF_EMPTY,
    keepsEvents: random.float() < CHANCE_OF_EVENTS,
    seconds: Math.round(between(random, SECONDS)),
  };
  const isCalmSeed = random.float() < CHANCE_OF_CALM;
  const faults = turnedOn(FAULTS, pick(random, CHANCES_OF_A_FAULT), seed);
  const kinds = [
    ...faults.filter(({ name }) => !isCalmSeed || !DELAYS.has(name)),
    ...turnedOn(USERS, pick(random, CHANCES_OF_A_USER), seed),
  ];
  const steps = [...kinds.flatMap((kind) => drawAlone(kind, shape)), ...drawBursts(kinds, shape)];
  return { ...shape, steps: steps.toSorted((a, b) => a.at - b.at) };
}

export const replicasOf = ({ replicas }: Pick<HuntPlan, 'replicas'>): Readonly<Record<App, number>> => ({
  ...REPLICAS,
  ...replicas,
});

/** Nothing delays what a process of the control plane hears. */
export const isCalm = ({ steps }: HuntPlan): boolean => !steps.some((step) => DELAYS.has(step.do));

export type Shape = Omit<HuntPlan, 'steps'>;

/** A kind that this seed has, and its stream. */
interface Drawn {
  readonly name: StepKind;
  readonly kind: Kind;
  readonly random: Random;
}

/** The common targets of one burst. */
interface Focus {
  readonly node: string;
  readonly app: string;
  /** The control plane process. */
  readonly master: string;
  readonly at: number;
  readonly seconds: number;
}

function turnedOn(kinds: Readonly<Record<string, Kind>>, chance: number, seed: number): Drawn[] {
  return Object.entries(kinds).flatMap(([name, kind]) => {
    const random = createSeededRandom(seed, `plan/${name}`);
    return random.float() < chance ? [{ name: name as StepKind, kind, random }] : [];
  });
}

function drawAlone(drawn: Drawn, shape: Shape): Step[] {
  const { kind, random } = drawn;
  const count = Math.max(1, Math.round((kind.perMinute * shape.seconds * 2 * random.float()) / 60));
  return Array.from({ length: count }, () => drawStep(drawn, shape));
}

function drawBursts(kinds: readonly Drawn[], shape: Shape): Step[] {
  const random = createSeededRandom(shape.seed, 'plan/bursts');
  const count = Math.round((BURSTS_PER_MINUTE * shape.seconds) / 60);
  return Array.from({ length: count }).flatMap(() => {
    const app = pick(random, APPS);
    const focus = {
      app,
      node: pick(random, [nodeOf(app), pick(random, targetsOf('node', shape))]),
      master: pick(random, targetsOf('master', shape)),
      at: random.float() * shape.seconds,
      seconds: between(random, BURST_SECONDS),
    };
    const size = kinds.length === 0 ? 0 : Math.round(between(random, BURST_STEPS));
    return Array.from({ length: size }, () => drawStep(pick(random, kinds), shape, focus));
  });
}

function drawStep({ name, kind, random }: Drawn, shape: Shape, focus?: Focus): Step {
  const value = kind.value === undefined ? undefined : between(random, kind.value);
  const at = focus === undefined ? random.float() * shape.seconds : focus.at + random.float() * focus.seconds;
  return {
    at: rounded(Math.min(at, shape.seconds)),
    do: name,
    target: pick(random, focus === undefined ? targetsOf(kind.targets, shape) : nearby(kind.targets, shape, focus)),
    ...(kind.for === undefined ? {} : { for: rounded(between(random, kind.for)) }),
    ...(value === undefined ? {} : { value: kind.isWhole === true ? Math.round(value) : rounded(value) }),
  };
}

/** The targets of a burst: its node, its control plane process, its application, and the pods there. */
function nearby(targets: Kind['targets'], shape: Shape, { node, app, master }: Focus): readonly string[] {
  const of = { node: [node], app: [app], master: [master], process: [master, node], pod: [app, `@${node}`] };
  return targets === 'api' || targets === 'none' ? targetsOf(targets, shape) : of[targets];
}

/** The names that a step may have as target. A pod may have other names, and be named by its node. */
export function targetsOf(targets: Kind['targets'], shape: Shape): readonly string[] {
  const nodes = numbered('node', shape.nodes, 1);
  const apis = numbered('apiserver', shape.apiServers, 0);
  const others = [...numbered('scheduler', shape.schedulers, 0), ...numbered('controller-manager', shape.managers, 0)];
  const of = {
    node: nodes,
    api: apis,
    master: [...apis, ...others],
    process: [...apis, ...others, ...nodes, OBSERVER],
    pod: PODS,
    app: APPS,
    none: [''],
  };
  return of[targets];
}

/** The first of a kind of process has no number. */
const numbered = (name: string, count: number, from: 0 | 1): readonly string[] =>
  Array.from({ length: count }, (_, i) => (from === 0 && i === 0 ? name : `${name}-${i + 1}`));

/** The node on which the first pod of an application is when the step begins. */
export const nodeOf = (app: string): string => `node-of-${app}`;

function pick<T>(random: Random, from: readonly T[]): T {
  const found = from[random.int(from.length)];
  invariant(found !== undefined, 'there is something to pick from');
  return found;
}

const between = (random: Random, [least, most]: readonly [number, number]): number =>
  least + random.float() * (most - least);
const rounded = (value: number): number => Math.round(value * 1000) / 1000;
