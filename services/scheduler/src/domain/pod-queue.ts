import { deepEqual } from '@holdfast/machinery';
import type { ClusterEvent } from '../framework/plugin.ts';
import { POD_BACKOFF_BASE_MS, POD_BACKOFF_MAX_MS, UNSCHEDULABLE_MAX_MS } from '../limits.ts';
import type { PodInfo } from './pod-info.ts';

interface Queued {
  pod: PodInfo;
  readonly addedOrder: number;
  attempts: number;
  state: 'active' | 'backoff' | 'unschedulable' | 'gated' | 'in-flight';
  sinceMs: number;
  /** Plugins that rejected the pod the last time. */
  plugins: ReadonlySet<string>;
}

export type RetryTable = ReadonlyMap<ClusterEvent, ReadonlySet<string>>;

/**
 * Pods that wait for a node, in four states: `active` in order of priority, then of arrival; `backoff` until their wait is
 * over; `unschedulable` until an event that one of the rejecting plugins waits for, or some minutes; `gated` until their
 * author opens the gates. Purely a data structure: the caller brings the time.
 */
export class PodQueue {
  readonly #pods = new Map<string, Queued>();
  readonly #active: Queued[] = [];
  readonly #waiting = { backoff: new Set<Queued>(), unschedulable: new Set<Queued>() };
  readonly #retry: RetryTable;
  #orders = 0;
  /** Grows with every event that woke anybody, so that a pod under way learns that it looked at an older cluster. */
  readonly #eventsSeen = new Map<ClusterEvent, number>();
  #eventCount = 0;

  constructor(retry: RetryTable) {
    this.#retry = retry;
  }

  /** New, or changed by its author: both are worth a try at once. */
  upsert(pod: PodInfo, gated: boolean, nowMs: number): void {
    const known = this.#pods.get(pod.uid);
    if (known === undefined) {
      const queued: Queued = {
        pod,
        addedOrder: this.#orders++,
        attempts: 0,
        state: gated ? 'gated' : 'active',
        sinceMs: nowMs,
        plugins: new Set(),
      };
      this.#pods.set(pod.uid, queued);
      if (!gated) this.#activate(queued);
      return;
    }
    const rethink = known.state === 'unschedulable' && hasDifferentNeeds(known.pod, pod);
    known.pod = pod;
    if (gated) this.#enter(known, 'gated');
    else if (known.state === 'gated') this.#activate(known);
    else if (rethink) this.#wake(known, nowMs);
  }

  delete(uid: string): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#pods.delete(uid);
    this.#waiting.backoff.delete(known);
    this.#waiting.unschedulable.delete(known);
  }

  /** The pod to decide on next. It stays in the queue as under way until one of the calls below. */
  pop(): { readonly pod: PodInfo; readonly seen: number } | undefined {
    for (let top = popHeap(this.#active); top !== undefined; top = popHeap(this.#active)) {
      if (this.#pods.get(top.pod.uid) !== top || top.state !== 'active') continue;
      this.#enter(top, 'in-flight');
      top.attempts++;
      return { pod: top.pod, seen: this.#eventCount };
    }
    return undefined;
  }

  /** No node fits. With an event meanwhile that may have changed that, it only backs off. */
  unschedulable(uid: string, plugins: ReadonlySet<string>, outcome: { seen: number; nowMs: number }): void {
    const queued = this.#pods.get(uid);
    if (queued === undefined || queued.state === 'gated') return;
    queued.plugins = plugins;
    queued.sinceMs = outcome.nowMs;
    const overtaken = [...this.#eventsSeen].some(([event, at]) => at > outcome.seen && this.#concerns(queued, event));
    this.#enter(queued, overtaken ? 'backoff' : 'unschedulable');
  }

  /** The try failed for another reason than the cluster's shape (a conflict, no answer): again after its back-off. */
  backOff(uid: string, nowMs: number): void {
    const queued = this.#pods.get(uid);
    if (queued === undefined || queued.state === 'gated') return;
    queued.sinceMs = nowMs;
    this.#enter(queued, 'backoff');
  }

  /** Something in the cluster changed: pods that wait for this kind of change are tried again. */
  note(event: ClusterEvent, nowMs: number): void {
    this.#eventCount++;
    this.#eventsSeen.set(event, this.#eventCount);
    for (const queued of this.#waiting.unschedulable) {
      if (this.#concerns(queued, event)) this.#wake(queued, nowMs);
    }
  }

  /** Moves what is due. Answers when the next pod becomes due, `undefined` when none waits for time. */
  tick(nowMs: number): number | undefined {
    let nextMs: number | undefined;
    for (const queued of [...this.#waiting.backoff, ...this.#waiting.unschedulable]) {
      const dueMs = dueAt(queued);
      if (dueMs === undefined) continue;
      if (dueMs <= nowMs) this.#activate(queued);
      else nextMs = Math.min(nextMs ?? dueMs, dueMs);
    }
    return nextMs;
  }

  /** May say yes for a pod that is gone meanwhile. */
  hasActive(): boolean {
    return this.#active.length > 0;
  }

  counts(): Readonly<Record<Queued['state'], number>> {
    const counts = { active: 0, backoff: 0, unschedulable: 0, gated: 0, 'in-flight': 0 };
    for (const { state } of this.#pods.values()) counts[state]++;
    return counts;
  }

  #concerns(queued: Queued, event: ClusterEvent): boolean {
    const plugins = this.#retry.get(event);
    if (queued.plugins.size === 0) return true;
    return plugins !== undefined && [...queued.plugins].some((plugin) => plugins.has(plugin));
  }

  #wake(queued: Queued, nowMs: number): void {
    if (queued.sinceMs + backoffMs(queued.attempts) <= nowMs) this.#activate(queued);
    else this.#enter(queued, 'backoff');
  }

  #enter(queued: Queued, state: Queued['state']): void {
    if (queued.state === 'backoff' || queued.state === 'unschedulable') this.#waiting[queued.state].delete(queued);
    queued.state = state;
    if (state === 'backoff' || state === 'unschedulable') this.#waiting[state].add(queued);
  }

  #activate(queued: Queued): void {
    this.#enter(queued, 'active');
    pushHeap(this.#active, queued);
  }
}

function dueAt({ state, sinceMs, attempts }: Queued): number | undefined {
  if (state === 'backoff') return sinceMs + backoffMs(attempts);
  return state === 'unschedulable' ? sinceMs + UNSCHEDULABLE_MAX_MS : undefined;
}

export function backoffMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(POD_BACKOFF_BASE_MS * 2 ** (attempts - 1), POD_BACKOFF_MAX_MS);
}

function hasDifferentNeeds(before: PodInfo, after: PodInfo): boolean {
  return !deepEqual(before.labels, after.labels) || !deepEqual(before.pod.spec, after.pod.spec);
}

function before(a: Queued, b: Queued): boolean {
  return a.pod.priority > b.pod.priority || (a.pod.priority === b.pod.priority && a.addedOrder < b.addedOrder);
}

function pushHeap(heap: Queued[], item: Queued): void {
  let at = heap.length;
  heap.push(item);
  while (at > 0) {
    const parentAt = (at - 1) >> 1;
    const parent = heap[parentAt];
    if (parent === undefined || !before(item, parent)) break;
    heap[at] = parent;
    at = parentAt;
  }
  heap[at] = item;
}

function popHeap(heap: Queued[]): Queued | undefined {
  const [top] = heap;
  const last = heap.pop();
  if (top === undefined || last === undefined || heap.length === 0) return top;
  let at = 0;
  for (;;) {
    let childAt = 2 * at + 1;
    let child = heap[childAt];
    const right = heap[childAt + 1];
    if (child !== undefined && right !== undefined && before(right, child)) {
      childAt++;
      child = right;
    }
    if (child === undefined || !before(child, last)) break;
    heap[at] = child;
    at = childAt;
  }
  heap[at] = last;
  return top;
}
