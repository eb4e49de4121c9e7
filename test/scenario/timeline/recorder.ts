import {
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  type Pod,
  promiseOf,
  type VolumeAttachment,
} from '@holdfast/api';
import type { ProcessFact } from '@holdfast/testing';
import { type Commit, objectOf } from '../../sim/committed.ts';
import { isFault, KINDS, type Step } from '../../sim/hunt/plan.ts';
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

  begins(atMs: number): void {
    this.#beganMs = atMs;
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
    else if (key.startsWith('storage.k8s.io/volumeattachments/')) this.#attachment(atMs, commit);
  }

  stored(atMs: number, apiServer: string): void {
    const key = `${apiServer} ${Math.floor(atMs / WRITES_MS)}`;
    this.#writes.set(key, (this.#writes.get(key) ?? 0) + 1);
  }

  healed(atMs: number): void {
    this.#healedMs = atMs;
  }

  ends(atMs: number, violation: { readonly rule: string; readonly story: string } | undefined): void {
    for (const key of [...this.#open.keys()]) this.#close(key, atMs);
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
    const toMs = this.#endMs - this.#beganMs;
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

  /** Once for each different sentence about one thing. */
  #say(
    atMs: number,
    lane: { readonly group: string; readonly name: string; readonly about: string },
    text: string,
  ): void {
    const key = `${lane.name} ${lane.about}`;
    if (text === '' || this.#said.get(key) === text) return;
    this.#said.set(key, text);
    this.#lanes.of(lane.group, lane.name).marks.push({ atMs, kind: 'fact', text });
  }

  #pod(atMs: number, commit: Commit): void {
    const { metadata, spec, status } = objectOf(commit) as Pod;
    const { name = '', uid = '' } = metadata;
    if (!isIdentity(name)) return;
    const by = commit.by ?? 'the API server';
    const about = (what: string) => ({ group: IDENTITIES, name, about: `${what} ${uid}` });
    if (commit.operation.kind === 'create') this.#say(atMs, about('created'), `${by} creates ${uid}`);
    if (spec.nodeName !== undefined) this.#say(atMs, about('bound'), `${uid} is bound to ${spec.nodeName}`);
    this.#say(
      atMs,
      about('phase'),
      `${by} says ${status.phase ?? 'nothing'} of ${uid}`.replace(/^.* says Pending.*$/, ''),
    );
    const { deletionTimestamp, deletionGracePeriodSeconds: grace } = metadata;
    if (deletionTimestamp !== undefined)
      this.#say(atMs, about('deletion'), `${uid} is to end within ${grace} s (${by})`);
    if (commit.operation.kind === 'delete') this.#say(atMs, about('removed'), `${by} removes ${uid}`);
  }

  #node(atMs: number, commit: Commit): void {
    const { metadata, status } = objectOf(commit) as Node;
    const { name = '' } = metadata;
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
    const isGone = commit.operation.kind === 'delete';
    const text = isGone ? `${commit.by ?? 'somebody'} deletes the Node` : `the API says Ready: ${ready}`;
    this.#say(atMs, { group: NODES, name, about: 'ready' }, text);
  }

  #lease(atMs: number, commit: Commit): void {
    const lease = objectOf(commit) as Lease;
    const promise = promiseOf(lease);
    if (promise === undefined) return;
    const text = promise.isBroken ? 'its promise is broken: its identities are free' : 'it promises';
    this.#say(atMs, { group: NODES, name: lease.metadata.name ?? '', about: 'promise' }, text);
  }

  #attachment(atMs: number, commit: Commit): void {
    const { metadata, spec } = objectOf(commit) as VolumeAttachment;
    const key = `attachment ${metadata.uid}`;
    if (commit.operation.kind === 'delete') return this.#close(key, atMs);
    if (this.#open.has(key)) return;
    const lane = this.#lanes.of(VOLUMES, spec.source.persistentVolumeName ?? metadata.name ?? '');
    const text = `attached to ${spec.nodeName}`;
    this.#open.set(key, { fromMs: atMs, end: (toMs) => lane.bars.push({ fromMs: atMs, toMs, kind: 'held', text }) });
  }
}

const isIdentity = (podName: string): boolean => /^db-\d$/.test(podName);
const keyOf = ({ at, do: what, target, for: lasts }: Step): string => `step ${at} ${what} ${target} ${lasts}`;
