import { createSeededRandom, type Random } from '@holdfast/platform';

/** One fault or one thing that a user does: data, so that a schedule can be written down, read, and made smaller. */
export interface Step {
  /** Seconds after the workloads are up. */
  readonly at: number;
  readonly do: StepKind;
  /** Whom it concerns: a node, a process of the control plane, an application or a pod. */
  readonly target: string;
  /** For how many seconds. */
  readonly for?: number;
  /** How much: milliseconds, replicas, or a chance, as the kind says. */
  readonly value?: number;
}

export interface HuntPlan {
  readonly seed: number;
  readonly nodes: number;
  readonly apiServers: number;
  readonly schedulers: number;
  readonly managers: number;
  readonly hasFencer: boolean;
  /** How long faults and users disturb the cluster. */
  readonly seconds: number;
  readonly steps: readonly Step[];
}

interface Kind {
  readonly targets: 'node' | 'master' | 'api' | 'process' | 'pod' | 'app' | 'none';
  /** Shortest and longest time, seconds. */
  readonly for?: readonly [number, number];
  readonly value?: readonly [number, number];
  readonly isWhole?: boolean;
  /** On average this many in one minute, where the seed has this kind at all. */
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
  crash: { targets: 'master', for: [1, 30], perMinute: 1.5 },
  'kubelet-down': { targets: 'node', for: [0, 60], perMinute: 1.5 },
  'power-loss': { targets: 'node', for: [5, 60], perMinute: 0.7 },
  pause: { targets: 'process', for: [2, 40], perMinute: 1 },
  'clock-jump': { targets: 'process', value: [-120_000, 120_000], perMinute: 0.7 },
} as const satisfies Record<string, Kind>;

const USERS = {
  'delete-pod': { targets: 'pod', perMinute: 3 },
  'delete-again': { targets: 'pod', value: [1, 60], isWhole: true, perMinute: 2 },
  'force-delete': { targets: 'pod', perMinute: 0.5 },
  evict: { targets: 'pod', perMinute: 4 },
  'roll-out': { targets: 'app', perMinute: 1.5 },
  scale: { targets: 'app', value: [1, 4], isWhole: true, perMinute: 1 },
  'recreate-pod': { targets: 'none', perMinute: 2 },
  'recreate-set': { targets: 'app', perMinute: 0.5 },
  'run-job': { targets: 'none', perMinute: 1 },
  'add-finalizer': { targets: 'pod', for: [5, 30], perMinute: 0.7 },
  drain: { targets: 'node', for: [10, 60], perMinute: 0.7 },
  'delete-node': { targets: 'node', perMinute: 0.3 },
} as const satisfies Record<string, Kind>;

export type StepKind = keyof typeof FAULTS | keyof typeof USERS;
export const APPS = ['db', 'web', 'disk'] as const;
const PODS = ['db-0', 'db-1', 'db-2', 'db', 'web', 'disk', 'one'];
const CHANCE_OF_A_FAULT = 0.3;
const CHANCE_OF_A_USER = 0.5;
const SECONDS = [60, 240] as const;

/** Swarm testing: a seed turns a random part of the kinds on, so that none drowns the others. Each kind draws from a stream of its own. */
export function planOf(seed: number): HuntPlan {
  const random = createSeededRandom(seed, 'plan');
  const shape = {
    seed,
    nodes: 3 + random.int(2),
    apiServers: 1 + random.int(2),
    schedulers: 1 + random.int(2),
    managers: 1 + random.int(2),
    hasFencer: random.float() < 0.3,
    seconds: Math.round(between(random, SECONDS)),
  };
  const steps = [...drawAll(FAULTS, CHANCE_OF_A_FAULT, shape), ...drawAll(USERS, CHANCE_OF_A_USER, shape)];
  return { ...shape, steps: steps.toSorted((a, b) => a.at - b.at) };
}

type Shape = Omit<HuntPlan, 'steps'>;

function drawAll(kinds: Readonly<Record<string, Kind>>, chance: number, shape: Shape): Step[] {
  return Object.entries(kinds).flatMap(([name, kind]) => {
    const random = createSeededRandom(shape.seed, `plan/${name}`);
    if (random.float() >= chance) return [];
    const count = Math.max(1, Math.round((kind.perMinute * shape.seconds * 2 * random.float()) / 60));
    return Array.from({ length: count }, () => drawStep(name as StepKind, kind, { random, shape }));
  });
}

function drawStep(name: StepKind, kind: Kind, { random, shape }: { random: Random; shape: Shape }): Step {
  const targets = targetsOf(kind.targets, shape);
  const value = kind.value === undefined ? undefined : between(random, kind.value);
  return {
    at: rounded(random.float() * shape.seconds),
    do: name,
    target: targets[random.int(targets.length)] ?? '',
    ...(kind.for === undefined ? {} : { for: rounded(between(random, kind.for)) }),
    ...(value === undefined ? {} : { value: kind.isWhole === true ? Math.round(value) : rounded(value) }),
  };
}

function targetsOf(targets: Kind['targets'], shape: Shape): readonly string[] {
  const nodes = numbered('node', shape.nodes, 1);
  const apis = numbered('apiserver', shape.apiServers, 0);
  const others = [...numbered('scheduler', shape.schedulers, 0), ...numbered('controller-manager', shape.managers, 0)];
  const of = {
    node: nodes,
    api: apis,
    master: [...apis, ...others],
    process: [...apis, ...others, ...nodes],
    pod: PODS,
    app: APPS,
    none: [''],
  };
  return of[targets];
}

/** The first of a kind of process has no number. */
const numbered = (name: string, count: number, from: 0 | 1): readonly string[] =>
  Array.from({ length: count }, (_, i) => (from === 0 && i === 0 ? name : `${name}-${i + 1}`));

const between = (random: Random, [least, most]: readonly [number, number]): number =>
  least + random.float() * (most - least);
const rounded = (value: number): number => Math.round(value * 1000) / 1000;
