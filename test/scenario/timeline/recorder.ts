import {
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  type PersistentVolume,
  type Pod,
  promiseOf,
} from '@holdfast/api';
import type { ProcessFact } from '@holdfast/testing';
import { type Commit, objectOf } from '../../sim/committed.ts';
import { isFault, KINDS } from '../../sim/hunt/kinds.ts';
import type { Step } from '../../sim/hunt/plan.ts';
import { diskOf } from '../../sim/hunt/workloads.ts';
import type { Scenario } from '../model.ts';
import { inWords } from '../print.ts';
import { factsOf } from './facts.ts';
import { type Broken, Lanes, type Timeline } from './model.ts';
import type { Recording } from './recording.ts';

export const GROUPS = ['control plane', 'nodes', 'identities', 'volumes'];
const [CONTROL, NODES, IDENTITIES, VOLUMES] = GROUPS as [string, string, string, string];
/** Writes of one API server in so much time are one mark. */
const WRITES_MS = 500;
/** The beginning of the run, in which everything comes up, is left out but for this. */
const BEFORE_MS = 2_000;
const UID_CHARS = 8;
const LEAST_AFTER_MS = 1_000;
const SHARE_AFTER = 0.03;

/** What is said of whom; the same state is said once. */
interface Said {
  readonly group: string;
  readonly name: string;
  readonly about: string;
  readonly state: string;
}

interface Open {
  readonly fromMs: number;
  readonly end: (toMs: number) => void;
}

/** Records a run of the simulator for its timeline. */
export class Recorder implements Recording {
  readonly #scenario: Scenario;
  readonly #lanes = new Lanes(GROUPS);
  readonly #open = new Map<string, Open>();
  readonly #processes = new Map<string, number>();
  readonly #shades = new Map<string, number>();
  readonly #writes = new Map<string, number>();
  readonly #said = new Map<string, string>();
  #beganMs = 0;
  #endMs = 0;
  #healedMs: number | undefined;
  #broken: readonly Broken[] = [];

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  begins(atMs: number, volumes: readonly PersistentVolume[]): void {
    this.#beganMs = atMs;
    // A run may start on the data of a cluster in which they are attached already.
    for (const volume of volumes) this.#volume(atMs - BEFORE_MS, volume, false);
  }

  step(atMs: number, step: Step): void {
    const { group, name } = this.#laneOf(step);
    const lane = this.#lanes.of(group, name);
    const text = inWords({ ...step, targets: [step.target] }).replace(/^[^:]*: /, '');
    if (!isFault(step.do)) return void lane.marks.push({ atMs, kind: 'user', text });
    if (step.for === undefined || step.do === 'crash-writing')
      return void lane.marks.push({ atMs, kind: 'fault', text });
    const end = (toMs: number): void => void lane.bars.push({ fromMs: atMs, toMs, kind: 'fault', text });
    // A pause ends by itself, and nobody says so.
    if (step.do === 'pause') end(atMs + step.for * 1000);
    else this.#open.set(keyOf(step), { fromMs: atMs, end });
  }

  stepOver(atMs: number, step: Step): void {
    this.#close(keyOf(step), atMs);
  }

  process(atMs: number, { kind, node, podName, podUid }: ProcessFact): void {
    const key = `${podUid}@${node}`;
    const count = (this.#processes.get(key) ?? 0) + (kind === 'started' ? 1 : -1);
    this.#processes.set(key, count);
    if (count === 0) return this.#close(key, atMs);
    if (count !== 1 || kind !== 'started') return;
    const shade = this.#shadeOf(podName, podUid);
    const lanes = [{ lane: this.#lanes.of(NODES, node), text: podName }];
    if (isIdentity(podName)) lanes.push({ lane: this.#lanes.of(IDENTITIES, podName), text: `on ${node}` });
    const disk = diskOf({ hasDisks: this.#scenario.workload.hasDisks }, podName);
    if (disk !== undefined) lanes.push({ lane: this.#lanes.of(VOLUMES, disk), text: `${podName} on ${node}` });
    const end = (toMs: number): void => {
      for (const { lane, text } of lanes) lane.bars.push({ fromMs: atMs, toMs, kind: 'life', text, shade });
    };
    this.#open.set(key, { fromMs: atMs, end });
  }

  commit(atMs: number, commit: Commit): void {
    const { key } = commit.operation;
    if (key.startsWith('core/pods/default/')) this.#pod(atMs, commit);
    else if (key.startsWith('core/nodes/')) this.#node(atMs, commit);
    else if (key.startsWith(`coordination.k8s.io/leases/${NODE_LEASES_NAMESPACE}/`)) this.#lease(atMs, commit);
    else if (key.startsWith('core/persistentvolumes/'))
      this.#volume(atMs, objectOf(commit) as PersistentVolume, commit.operation.kind === 'delete');
  }

  stored(atMs: number, apiServer: string): void {
    const key = `${apiServer} ${Math.floor(atMs / WRITES_MS)}`;
    this.#writes.set(key, (this.#writes.get(key) ?? 0) + 1);
  }

  healed(atMs: number): void {
    this.#healedMs = atMs;
  }

  ends(atMs: number, violation: { readonly rule: string; readonly story: string } | undefined): void {
    for (const { end } of this.#open.values()) end(atMs);
    this.#open.clear();
    this.#endMs = atMs;
    this.#broken = violation === undefined ? [] : [{ ...violation, atMs: atMs - this.#beganMs }];
  }

  /** Times count from the beginning of the schedule. */
  timeline(): Timeline {
    for (const [key, count] of this.#writes) {
      const [apiServer = '', slot] = key.split(' ');
      const text = `${count} writes sent to the store`;
      this.#lanes.of(CONTROL, apiServer).marks.push({ atMs: Number(slot) * WRITES_MS, kind: 'write', text });
    }
    const fromMs = -BEFORE_MS;
    const endMs = this.#endMs - this.#beganMs;
    // What happens at the very end needs a place.
    const toMs = endMs + Math.max(LEAST_AFTER_MS, endMs * SHARE_AFTER);
    const lanes = this.#lanes.all().map(({ bars, marks, ...lane }) => ({
      ...lane,
      bars: bars
        .map((bar) => ({ ...bar, fromMs: bar.fromMs - this.#beganMs, toMs: Math.min(toMs, bar.toMs - this.#beganMs) }))
        .filter((bar) => bar.toMs > fromMs),
      marks: marks.map((mark) => ({ ...mark, atMs: mark.atMs - this.#beganMs })).filter(({ atMs }) => atMs > fromMs),
    }));
    const healed = this.#healedMs === undefined ? {} : { healedMs: this.#healedMs - this.#beganMs };
    return { ...factsOf(this.#scenario), fromMs, toMs, ...healed, lanes, broken: this.#broken };
  }

  #close(key: string, atMs: number): void {
    this.#open.get(key)?.end(atMs);
    this.#open.delete(key);
  }

  /** Identities have one shade for each pod; all other pods have one by their application. */
  #shadeOf(podName: string, uid: string): number {
    const key = isIdentity(podName) ? `${podName} ${uid}` : podName.replace(/-.*/, '');
    const known = this.#shades.get(key);
    if (known !== undefined) return known;
    const before = [...this.#shades.keys()].filter((each) => !isIdentity(podName) || each.startsWith(`${podName} `));
    this.#shades.set(key, before.length);
    return before.length;
  }

  #laneOf({ do: what, target }: Step): { readonly group: string; readonly name: string } {
    if (what === 'bus-outage') return { group: CONTROL, name: 'bus' };
    if (what === 'store-failover') return { group: CONTROL, name: 'store' };
    const { targets } = KINDS[what];
    const isNode = target.startsWith('node-');
    if (isNode) return { group: NODES, name: target };
    if (targets === 'pod' && isIdentity(target)) return { group: IDENTITIES, name: target };
    return { group: CONTROL, name: isFault(what) ? target : 'users' };
  }

  /** Once for each state of one thing. */
  #say(atMs: number, { group, name, about, state }: Said, text: string): void {
    const key = `${name} ${about}`;
    if (this.#said.get(key) === state) return;
    this.#said.set(key, state);
    this.#lanes.of(group, name).marks.push({ atMs, kind: 'fact', text });
  }

  #pod(atMs: number, commit: Commit): void {
    const { metadata, spec, status } = objectOf(commit) as Pod;
    const { name = '', uid = '' } = metadata;
    if (!isIdentity(name)) return;
    const by = commit.by ?? 'the API server';
    const short = uid.slice(0, UID_CHARS);
    const say = (what: string, text: string, state = text): void =>
      this.#say(atMs, { group: IDENTITIES, name, about: `${what} ${uid}`, state }, text);
    if (commit.operation.kind === 'create') say('created', `${by} creates ${short}`);
    if (spec.nodeName !== undefined) say('bound', `${short} is bound to ${spec.nodeName}`);
    const { phase = 'Pending' } = status;
    if (phase !== 'Pending') say('phase', `${short} is ${phase}, says ${by}`, phase);
    const { deletionTimestamp, deletionGracePeriodSeconds: grace } = metadata;
    if (deletionTimestamp !== undefined)
      say('deletion', `${by} wants ${short} to end within ${grace} s`, String(grace));
    if (commit.operation.kind === 'delete') say('removed', `${by} removes ${short}`);
  }

  #node(atMs: number, commit: Commit): void {
    const { metadata, status } = objectOf(commit) as Node;
    const { name = '' } = metadata;
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
    const isGone = commit.operation.kind === 'delete';
    const text = isGone ? `${commit.by ?? 'somebody'} deletes the Node` : `the API says Ready: ${ready}`;
    this.#say(atMs, { group: NODES, name, about: 'ready', state: text }, text);
  }

  #lease(atMs: number, commit: Commit): void {
    const lease = objectOf(commit) as Lease;
    const promise = promiseOf(lease);
    if (promise === undefined) return;
    const text = promise.isBroken ? 'its promise is broken: its identities are free' : 'it promises';
    const { name = '' } = lease.metadata;
    this.#say(atMs, { group: NODES, name, about: 'promise', state: text }, text);
  }

  #volume(atMs: number, { metadata, status }: PersistentVolume, isRemoved: boolean): void {
    const { name = '' } = metadata;
    const key = `attachment of ${name}`;
    const isGone = isRemoved || status.attachment === undefined;
    const text = isGone ? '' : `attached to ${status.attachment?.nodeName}, token ${status.fencingToken ?? 0}`;
    if (this.#said.get(key) === text) return;
    this.#said.set(key, text);
    this.#close(key, atMs);
    if (text === '') return;
    const lane = this.#lanes.of(VOLUMES, name);
    this.#open.set(key, { fromMs: atMs, end: (toMs) => lane.bars.push({ fromMs: atMs, toMs, kind: 'held', text }) });
  }
}

const isIdentity = (podName: string): boolean => /^(?:db|database)-\d$/.test(podName);
const keyOf = ({ at, do: what, target, for: lasts }: Step): string => `step ${at} ${what} ${target} ${lasts}`;
