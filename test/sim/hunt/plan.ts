import { createSeededRandom, invariant, type Random } from '@holdfast/platform';
import { BUS_FAULTS, CHANGERS, DELAYS, FAULTS, isFault, type Kind, OUTAGES, type StepKind, USERS } from './kinds.ts';
import { heardKind } from './listeners.ts';
import { MOMENTS, type Moment } from './moments.ts';

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
  /** It waits for this moment, which concerns its target; without it the step comes at its time. */
  readonly when?: Moment;
  /** Seconds between the moment and the step. */
  readonly lag?: number;
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
  /** Objects that clients read and change against each other now and then; their histories have to be linearizable. */
  readonly rareRegisters?: number;
  /** Each pod of `db` has a disk of its own. */
  readonly hasDisks?: boolean;
  /** Replicas that differ from `REPLICAS`. An application with none is created and has no pods. */
  readonly replicas?: Readonly<Partial<Record<App, number>>>;
  /** The API servers start on an empty store, not on the data of a cluster that ran before. */
  readonly startsEmpty?: boolean;
  /** Events are stored; otherwise they are taken and dropped. */
  readonly keepsEvents?: boolean;
  /** The disturbance begins when every process hears of changes from the bus alone; in its first minute each watches the API as well. */
  readonly isRested?: boolean;
  /** The store is large: an API server that starts loads it for seconds. */
  readonly isLarge?: boolean;
  /** How long the processes of a pod need to end. */
  readonly stopSeconds?: number;
  /** How long faults and users disturb the cluster. */
  readonly seconds: number;
  readonly steps: readonly Step[];
}

/**
 * The seconds after the faults within which everything has to be whole. The informers of nodes and schedulers look at the API again after five
 * minutes, whatever they believe: more time would conceal what they have lost.
 */
export const WHOLE_WITHIN_SECONDS = 280;

/** A controller of a user, which follows all pods. */
export const OBSERVER = 'observer';
const MANAGER = 'controller-manager';
export const APPS = ['db', 'web', 'disk'] as const;
export type App = (typeof APPS)[number];
/** The replicas of each application where a plan says nothing else. */
export const REPLICAS: Readonly<Record<App, number>> = { db: 3, web: 3, disk: 1 };
const PODS = ['db-0', 'db-1', 'db-2', 'db', 'web', 'disk', 'one'];
/** How large the worlds of a hunt are. */
interface Profile {
  readonly nodes: readonly [number, number];
  /** The chance of a second API server, scheduler and controller manager. */
  readonly second: number;
  /** How long faults and users disturb the cluster. */
  readonly seconds: readonly [number, number];
  /** The chance of a kind of fault, and of a user: one of these for a seed. Some seeds have a few kinds, some many. */
  readonly faults: readonly number[];
  readonly users: readonly number[];
  /** The chance of a start on an empty store: it costs as much as a small world. */
  readonly empty: number;
}

const MANY_KINDS = { second: 0.5, faults: [0.15, 0.3, 0.45], users: [0.3, 0.5, 0.7], empty: 0.1 } as const;

export const PROFILES = {
  standard: { ...MANY_KINDS, nodes: [3, 4], seconds: [45, 120] },
  /** Many small worlds. */
  short: {
    nodes: [3, 3],
    second: 0.15,
    seconds: [20, 40],
    faults: [0.06, 0.15, 0.25],
    users: [0.06, 0.15, 0.25],
    empty: 0.01,
  },
  /** Ten minutes with about 20 new pods in each. */
  long: { ...MANY_KINDS, nodes: [5, 5], seconds: [540, 600] },
} as const satisfies Record<string, Profile>;
export type ProfileName = keyof typeof PROFILES;

export function profileNamed(name = 'standard'): ProfileName {
  const known = (Object.keys(PROFILES) as ProfileName[]).find((each) => each === name);
  if (known === undefined)
    throw new Error(`there is no profile "${name}"; there are ${Object.keys(PROFILES).join(', ')}`);
  return known;
}

/** In some seeds every process hears every change in time, so that rules hold there which lag excuses elsewhere. */
const CHANCE_OF_CALM = 0.3;
/** They cost a third of the speed and matter to few bugs. */
const CHANCE_OF_EVENTS = 0.2;
/** A minute in which nothing happens. Before it is over, nothing shows what goes wrong with the bus. */
const CHANCE_OF_REST = { bus: 0.85, other: 0.3 };
/** The store has as much as in a large cluster: what is written while an API server loads it meets the load. */
const CHANCE_OF_A_LARGE_STORE = 0.5;
/**
 * Where the bus has faults, caches of one kind differ between processes. That matters the most to two who act on the same objects: some
 * of the seeds that have only one of them get another.
 */
const CHANCE_OF_TWO_ACTORS = { second: 0.6, leaderless: 0.25 };
/** What is slow or deaf is restarted: the share of seeds with a delay and no crash that get crashes. */
const CHANCE_OF_CRASHES = 0.4;
/** The share of seeds with a fault of the bus in which API servers remember few changes: who is behind then has to list again. */
const CHANCE_OF_SHORT_HISTORY = 0.5;
/** The share of seeds with clients whose histories are checked: they add a tenth to the requests of a seed. */
const CHANCE_OF_REGISTERS = 0.25;
const REGISTERS = 2;
const STOP_SECONDS = [2, 4, 4, 7, 9];
/** Steps that wait for a moment reach the narrow windows that lie behind it. */
const CHANCE_OF_A_MOMENT = { alone: 0.15, burst: 0.3 };
/** The share of steps of a kind that people do because of something, which come because of it. */
const CHANCE_OF_A_REACTION = 0.4;
const LONGEST_LAG_SECONDS = 3;
const BURSTS_PER_MINUTE = 2.5;
const BURST_STEPS = [3, 8] as const;
const BURST_SECONDS = [1, 12] as const;
/** The share of bursts whose steps meet within one second, as automations do. */
const CHANCE_OF_A_MELEE = 0.3;
const MELEE_SECONDS = [0.02, 1] as const;
/**
 * The share of bursts during which one thing is wrong all the time: something delays what a process hears, so that decisions rest on an old
 * state, or the node of the burst is away, so that users and controllers give up what it has.
 */
const CHANCE_OF_WEATHER = { delay: 0.45, outage: 0.25 };
/** It begins this long before the burst, and ends at most this long after it. */
const WEATHER_MARGIN_SECONDS = { before: 3, delay: 15, outage: 70 };
/** People and probes restart what is slow: an API server ends while something is delayed, if the seed has crashes. */
const CHANCE_OF_A_RESTART = 0.6;
/** API servers remember few changes while the bus keeps something from a process, if the seed has short histories. */
const CHANCE_OF_FORGETTING = 0.6;
/** The share of restarts right after a write of the server, and of those in which all API servers end within a second. */
const RESTARTS = { writing: 0.35, ofAll: 0.4 };
/** The share of the steps of such a burst that come when a process has just started: its caches are loading then. */
const CHANCE_OF_A_STEP_AT_THE_START = 0.25;
const OF_ONE_KIND: ReadonlySet<string> = new Set(['late-kind', 'lost-kind']);
/** The share of delays that concern one kind of objects, where the seed has them: of no other fault do decisions rest on less. */
const CHANCE_OF_ONE_KIND = 0.5;
/** The share of the steps of such a burst that change objects of this kind. */
const CHANCE_OF_A_CHANGE = 0.6;
/** It is back before its absence makes others look at the API by themselves. */
const RESTART_SECONDS = [1, 8] as const;
const RESTART_WRITES = 6;

/**
 * Swarm testing: a seed turns a random part of the kinds on, so that none drowns the others. Each kind draws from a stream of its own. Steps come
 * alone, and in bursts that meet one node, one process of the control plane and one application within seconds: most races need two or three of them together.
 */
export function planOf(seed: number, profile: ProfileName = 'standard'): HuntPlan {
  const { nodes, second, seconds, faults: ofFaults, users: ofUsers, empty }: Profile = PROFILES[profile];
  const random = createSeededRandom(seed, 'plan');
  const oneOrTwo = (): number => 1 + Number(random.float() >= 1 - second);
  const shape = {
    seed,
    nodes: nodes[0] + random.int(nodes[1] - nodes[0] + 1),
    apiServers: oneOrTwo(),
    schedulers: oneOrTwo(),
    managers: oneOrTwo(),
    hasFencer: random.float() < 0.3,
    isLeaderless: random.float() < 0.35,
    selfFencing: random.float() < 0.4,
    hasDisks: random.float() < 0.5,
    startsEmpty: random.float() < empty,
    keepsEvents: random.float() < CHANCE_OF_EVENTS,
    stopSeconds: pick(random, STOP_SECONDS),
    seconds: Math.round(between(random, seconds)),
  };
  const isCalmSeed = random.float() < CHANCE_OF_CALM;
  const faults = turnedOn(FAULTS, pick(random, ofFaults), seed);
  const kinds = [
    ...(isCalmSeed
      ? faults.filter(({ name }) => !DELAYS.has(name))
      : withShortHistory(withCrashes(faults, seed), seed)),
    ...turnedOn(USERS, pick(random, ofUsers), seed),
  ];
  const whole = { ...shape, ...drawActors(shape, kinds, second), isLarge: drawLarge(seed), ...drawRegisters(seed) };
  const steps = [...kinds.flatMap((kind) => drawAlone(kind, whole)), ...drawBursts(kinds, whole)];
  return { ...whole, isRested: drawRest(seed, kinds), steps: steps.toSorted((a, b) => a.at - b.at) };
}

const drawRegisters = (seed: number): Pick<HuntPlan, 'rareRegisters'> =>
  createSeededRandom(seed, 'plan/registers').float() < CHANCE_OF_REGISTERS ? { rareRegisters: REGISTERS } : {};

const drawLarge = (seed: number): boolean => createSeededRandom(seed, 'plan/large').float() < CHANCE_OF_A_LARGE_STORE;

function withCrashes(faults: readonly Drawn[], seed: number): readonly Drawn[] {
  const isDelayed = faults.some(({ name }) => DELAYS.has(name));
  if (!isDelayed || faults.some(({ name }) => name === 'crash')) return faults;
  const random = createSeededRandom(seed, 'plan/crashes');
  return random.float() < CHANCE_OF_CRASHES ? [...faults, { name: 'crash', kind: FAULTS.crash, random }] : faults;
}

function withShortHistory(faults: readonly Drawn[], seed: number): readonly Drawn[] {
  const name = 'short-history';
  if (!faults.some((each) => BUS_FAULTS.has(each.name)) || faults.some((each) => each.name === name)) return faults;
  const random = createSeededRandom(seed, 'plan/forgetting');
  return random.float() < CHANCE_OF_SHORT_HISTORY ? [...faults, { name, kind: FAULTS[name], random }] : faults;
}

/** `second`: the chance of the profile. */
function drawActors(shape: Shape, kinds: readonly Drawn[], second: number): Pick<Shape, 'managers' | 'isLeaderless'> {
  const { managers, isLeaderless = false } = shape;
  if (!kinds.some(({ name }) => BUS_FAULTS.has(name))) return { managers, isLeaderless };
  const random = createSeededRandom(shape.seed, 'plan/actors');
  const isAdded = random.float() < second * CHANCE_OF_TWO_ACTORS.second;
  const isAlsoLeaderless = random.float() < CHANCE_OF_TWO_ACTORS.leaderless;
  return { managers: isAdded ? 2 : managers, isLeaderless: isLeaderless || isAlsoLeaderless };
}

function drawRest(seed: number, kinds: readonly Drawn[]): boolean {
  const ofBus = kinds.some(({ name }) => BUS_FAULTS.has(name));
  return createSeededRandom(seed, 'plan/rest').float() < CHANCE_OF_REST[ofBus ? 'bus' : 'other'];
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
    if (kind.perMinute === 0) return [];
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
      seconds: between(random, random.float() < CHANCE_OF_A_MELEE ? MELEE_SECONDS : BURST_SECONDS),
    };
    const size = kinds.length === 0 ? 0 : Math.round(between(random, BURST_STEPS));
    const weather = drawWeather(random, kinds, { shape, focus });
    const changers = changersOf(weather, kinds);
    const steps = Array.from({ length: size }, () => {
      const isMet = changers.length > 0 && random.float() < CHANCE_OF_A_CHANGE;
      return drawStep(pick(random, isMet ? changers : kinds), shape, focus);
    });
    const hasRestart = weather.some((step) => step.do === 'crash' || step.do === 'crash-writing');
    return [...weather, ...(hasRestart ? steps.map((step) => atAStart(random, step)) : steps)];
  });
}

function atAStart(random: Random, step: Step): Step {
  if (isFault(step.do) || random.float() >= CHANCE_OF_A_STEP_AT_THE_START) return step;
  return { ...step, when: 'process-started', lag: rounded(random.float() ** 2) };
}

/** Those who change what somebody hears badly of. */
function changersOf(weather: readonly Step[], kinds: readonly Drawn[]): readonly Drawn[] {
  const heard = weather.find((step) => OF_ONE_KIND.has(step.do));
  const changers: readonly string[] = heard === undefined ? [] : (CHANGERS[heardKind(heard)] ?? []);
  return kinds.filter(({ name }) => changers.includes(name));
}

interface Place {
  readonly shape: Shape;
  readonly focus: Focus;
}

/** A fault that lasts at least as long as the burst, whatever else its kind draws; and a restart meanwhile. */
function drawWeather(random: Random, kinds: readonly Drawn[], { shape, focus }: Place): Step[] {
  const chance = random.float() - CHANCE_OF_WEATHER.delay;
  const weather = chance < 0 ? 'delay' : 'outage';
  const drawable = kinds.filter(({ name }) => (weather === 'delay' ? DELAYS : OUTAGES).has(name));
  if (chance >= CHANCE_OF_WEATHER.outage || drawable.length === 0) return [];
  const ofOneKind = drawable.filter(({ name }) => OF_ONE_KIND.has(name));
  const isOfOne = ofOneKind.length > 0 && random.float() < CHANCE_OF_ONE_KIND;
  const drawn = pick(random, isOfOne ? ofOneKind : drawable);
  const { when: _, lag: __, ...step } = drawStep(drawn, shape, focus);
  const at = Math.max(0, focus.at - drawn.random.float() * WEATHER_MARGIN_SECONDS.before);
  if (step.for === undefined) return [{ ...step, at: rounded(at) }];
  const spare = drawn.random.float() * WEATHER_MARGIN_SECONDS[weather];
  const lasting = { ...step, at: rounded(at), for: rounded(focus.at - at + focus.seconds + spare) };
  if (weather === 'outage') return [lasting];
  return [lasting, ...drawForgetting(kinds, shape, lasting), ...drawRestart(kinds, { shape, focus }, lasting)];
}

/** As long as the bus keeps something from a process, all API servers have forgotten what that process has missed. */
function drawForgetting(kinds: readonly Drawn[], shape: Shape, weather: Step): Step[] {
  const forgetting = kinds.find(({ name }) => name === 'short-history');
  if (forgetting === undefined || !BUS_FAULTS.has(weather.do)) return [];
  const { name, kind, random } = forgetting;
  if (random.float() >= CHANCE_OF_FORGETTING) return [];
  const value = Math.round(between(random, kind.value ?? [0, 0]) * random.float());
  const { at, for: seconds = 0 } = weather;
  return targetsOf('api', shape).map((target) => ({ at, do: name, target, for: seconds, value }));
}

/** After some of the burst, and before the delay is over. */
function drawRestart(kinds: readonly Drawn[], { shape, focus }: Place, { target }: Step): Step[] {
  const crash = kinds.find(({ name }) => name === 'crash');
  if (crash === undefined || crash.random.float() >= CHANCE_OF_A_RESTART) return [];
  const { random } = crash;
  const apis = targetsOf('api', shape);
  const isWriting = random.float() < RESTARTS.writing;
  const ended = random.float() < RESTARTS.ofAll ? apis : [apis.includes(target) ? target : pick(random, apis)];
  const at = focus.at + focus.seconds * (0.5 + random.float());
  return ended.map((api) => ({
    at: rounded(Math.min(at + random.float(), shape.seconds)),
    do: isWriting ? 'crash-writing' : 'crash',
    target: api,
    for: rounded(between(random, RESTART_SECONDS)),
    ...(isWriting ? { value: 1 + random.int(RESTART_WRITES) } : {}),
  }));
}

function drawStep({ name, kind, random }: Drawn, shape: Shape, focus?: Focus): Step {
  const value = kind.value === undefined ? undefined : between(random, kind.value);
  const at = focus === undefined ? random.float() * shape.seconds : focus.at + random.float() * focus.seconds;
  return {
    at: rounded(Math.min(at, shape.seconds)),
    do: name,
    target: pick(random, focus === undefined ? targetsOf(kind.targets, shape) : nearby(kind.targets, shape, focus)),
    ...(kind.for === undefined ? {} : { for: rounded(shortly(random, kind.for)) }),
    ...(value === undefined ? {} : { value: kind.isWhole === true ? Math.round(value) : rounded(value) }),
    ...drawMoment(random, kind, focus === undefined ? CHANCE_OF_A_MOMENT.alone : CHANCE_OF_A_MOMENT.burst),
  };
}

/** Mostly a short time after the moment. */
function drawMoment(random: Random, { follows }: Kind, chance: number): Pick<Step, 'when' | 'lag'> {
  const isReaction = follows !== undefined && random.float() < CHANCE_OF_A_REACTION;
  if (!isReaction && random.float() >= chance) return {};
  return {
    when: pick(random, isReaction ? follows : MOMENTS),
    lag: rounded(random.float() ** 4 * LONGEST_LAG_SECONDS),
  };
}

/** The targets of a burst: its node, its control plane process, its application, and the pods there. */
function nearby(targets: Kind['targets'], shape: Shape, { node, app, master }: Focus): readonly string[] {
  const listener = targetsOf('api', shape).includes(master) ? [MANAGER, node] : [master, node];
  const of = { node: [node], app: [app], master: [master], listener, process: [master, node], pod: [app, `@${node}`] };
  return targets === 'api' || targets === 'zone' || targets === 'none' ? targetsOf(targets, shape) : of[targets];
}

/** The names that a step may have as target. A pod may have other names, and be named by its node. */
export function targetsOf(targets: Kind['targets'], shape: Shape): readonly string[] {
  const nodes = numbered('node', shape.nodes, 1);
  const apis = numbered('apiserver', shape.apiServers, 0);
  const managers = numbered(MANAGER, shape.managers, 0);
  const others = [...numbered('scheduler', shape.schedulers, 0), ...managers];
  const of = {
    node: nodes,
    api: apis,
    master: [...apis, ...others],
    // An API server hears of changes from the store alone. Managers decide the most on what they hear.
    listener: [...others, ...managers, ...managers, ...nodes, OBSERVER],
    process: [...apis, ...others, ...nodes, OBSERVER],
    zone: numbered('zone', shape.apiServers, 1),
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
/** A target can name the node of these. The simulator runs no database: there such a step never comes. */
export const PLACED: readonly string[] = [...APPS, 'database'];

export function pick<T>(random: Random, from: readonly T[]): T {
  const found = from[random.int(from.length)];
  invariant(found !== undefined, 'there is something to pick from');
  return found;
}

const between = (random: Random, [least, most]: readonly [number, number]): number =>
  least + random.float() * (most - least);
/** Most things are over soon, and races need that. */
const shortly = (random: Random, [least, most]: readonly [number, number]): number =>
  least + random.float() ** 2 * (most - least);
export const rounded = (value: number): number => Math.round(value * 1000) / 1000;
