import type { StepKind } from '../sim/hunt/kinds.ts';
import type { Moment } from '../sim/hunt/moments.ts';
import type { App, HuntPlan } from '../sim/hunt/plan.ts';
import type { ClientKind } from './clients.ts';

/** A fixed number, or the limits between which the seed draws one. */
export type Amount = number | readonly [least: number, most: number];

/** A fault or an action of a user, as the file says it. Times are seconds. */
export interface ScheduledStep {
  readonly at: Amount;
  readonly do: StepKind;
  /** Several: the seed draws one. None: the kind has no target. */
  readonly targets: readonly string[];
  readonly for?: Amount;
  readonly value?: Amount;
  /** It comes when this happens to its target, not before `at`. */
  readonly when?: Moment;
  /** The time between that and the step. */
  readonly lag?: Amount;
}

/** What a plan says about the cluster, apart from its workloads. */
type FormKey = Exclude<keyof HuntPlan, 'seed' | 'seconds' | 'steps' | 'replicas' | 'hasDisks' | 'rareRegisters'>;
export type Form = { readonly [K in FormKey]-?: NonNullable<HuntPlan[K]> };

/** None, or as many as the smallest cluster that survives the loss of one. */
export type DatabaseSize = 0 | 3;

export interface Workload {
  readonly replicas: Readonly<Record<App, number>>;
  /** Each pod of `db` has a disk of its own. */
  readonly hasDisks: boolean;
  /** Members of a real database, which only containers run. */
  readonly database: DatabaseSize;
  /** Clients whose histories are checked. */
  readonly clients: Readonly<Record<ClientKind, number>>;
}

/** Times are seconds. The rules of the simulator, or of the checkers beside the containers, hold always. */
export interface Expectations {
  /** After the end of all faults everything is as it was. */
  readonly wholeWithin: number;
  /** Each identity of a node that is lost for longer runs on another node. */
  readonly recoverWithin?: number;
  /** Clients that ask every API server again until one answers have their writes acknowledged within this time. */
  readonly answeredWithin?: number;
  /** A negative control: something has to be found broken. */
  readonly breaks?: true;
}

/** What the hunt has found with this schedule. */
export interface Finding {
  readonly rule: string;
  readonly story: string;
  /** The planted bug with which it fails; absent where it was a bug of ours. */
  readonly planted?: string;
  /** The hash of the run: the same sources give the same hash. */
  readonly trace?: string;
}

export interface Scenario {
  readonly name: string;
  readonly about?: string;
  readonly seed: number;
  readonly form: Form;
  readonly workload: Workload;
  /** How long faults and users disturb the cluster. */
  readonly seconds: number;
  readonly schedule: readonly ScheduledStep[];
  readonly expect: Expectations;
  readonly found?: Finding;
}

interface FormField {
  readonly name: string;
  readonly says: string;
  readonly kind: 'count' | 'flag';
  /** For a flag: the file says the opposite of the plan. */
  readonly isInverse?: boolean;
  readonly fallback: number | boolean;
}

/** How the file names what a plan says about the cluster. A new field of a plan needs a line here. */
export const FORM_FIELDS: Readonly<Record<FormKey, FormField>> = {
  nodes: { name: 'nodes', says: 'nodes', kind: 'count', fallback: 3 },
  apiServers: { name: 'apiServers', says: 'API servers', kind: 'count', fallback: 2 },
  schedulers: { name: 'schedulers', says: 'schedulers', kind: 'count', fallback: 1 },
  managers: { name: 'controllerManagers', says: 'controller managers', kind: 'count', fallback: 1 },
  stopSeconds: {
    name: 'stopSeconds',
    says: 'seconds that the processes of a pod need to end',
    kind: 'count',
    fallback: 4,
  },
  hasFencer: { name: 'fencer', says: 'a fencer', kind: 'flag', fallback: false },
  isLeaderless: {
    name: 'leaderElection',
    says: 'one of several schedulers or controller managers acts at a time',
    kind: 'flag',
    isInverse: true,
    fallback: false,
  },
  selfFencing: {
    name: 'selfFencing',
    says: 'the nodes promise to end what is exclusive when they are not heard',
    kind: 'flag',
    fallback: true,
  },
  startsEmpty: { name: 'emptyStore', says: 'the API servers start on an empty store', kind: 'flag', fallback: false },
  keepsEvents: { name: 'storedEvents', says: 'Events are stored', kind: 'flag', fallback: false },
  isRested: {
    name: 'rested',
    says: 'all processes have run for a while, and hear of changes from the bus alone',
    kind: 'flag',
    fallback: false,
  },
  isLarge: {
    name: 'largeStore',
    says: 'an API server that starts loads the store for seconds',
    kind: 'flag',
    fallback: false,
  },
};

export const DEFAULT_EXPECTATIONS: Expectations = { wholeWithin: 900 };

export const formKeys = (): readonly FormKey[] => Object.keys(FORM_FIELDS) as FormKey[];
