import {
  fenceOf,
  type KubeObject,
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  type PersistentVolume,
  type Pod,
  promiseOf,
  volumeInUse,
} from '@holdfast/api';
import { FENCER } from '@holdfast/apiserver';
import { parseKey, type StoredObject } from '@holdfast/store';
import type { Oracle } from '@holdfast/testing';
import { type Commit, objectOf, storedObjectOf } from '../committed.ts';

/** An object before and after one commit; `after` is absent when it was removed. */
export interface CommittedChange {
  readonly resource: string;
  readonly name: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** Its state when it was removed. */
  readonly last?: KubeObject;
  readonly by: string;
  readonly nodeOf: (name: string) => Node | undefined;
  /**
   * The node's watchdog has ended what it promised to end: its promise is broken, or was a moment ago. A
   * reader of the broken lease may act on it after the node promises again: the node starts nothing that was released.
   */
  readonly isPromiseBroken: (node: string) => boolean;
  /** Somebody vouched for the end of what runs on the node a moment ago, and has taken that back. */
  readonly wasVouchedFor?: (node: string) => boolean;
  /** Virtual time of the commit. */
  readonly nowMs: number;
  /** All objects, by key, before this commit. */
  readonly objects: ReadonlyMap<string, KubeObject>;
}

/** The violation in a commit; `undefined` when it is allowed. */
export type CommitRule = (change: CommittedChange) => string | undefined;

export const ended = (pod: Pod): boolean => pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
export const podsOf = ({ resource, before, after }: CommittedChange): { before?: Pod; after?: Pod } =>
  resource === 'pods' ? { before: before as Pod, after: after as Pod } : {};

/** A judgement may rest on what a slow store has answered this long ago. */
export const ANSWERED_MS = 15_000;
const ORDER = ['Pending', 'Running', 'Succeeded', 'Failed'];

/** The identities that may remove a bound, unfinished pod: its own node, and users, who get a warning. */
const MAY_FORCE = new Set(['admin', 'owner', 'careful']);
const POD_GC = 'system:serviceaccount:kube-system:pod-garbage-collector';

export const COMMIT_RULES: Readonly<Record<string, CommitRule>> = {
  'a bound pod stays on its node': (change) => {
    const { before, after } = podsOf(change);
    const node = before?.spec.nodeName;
    if (node === undefined || after === undefined || after.spec.nodeName === node) return undefined;
    return `${change.by} moved it from ${node} to ${after.spec.nodeName ?? 'nowhere'}`;
  },
  'a phase never goes back': (change) => {
    const { before, after } = podsOf(change);
    const [was, is] = [before?.status.phase ?? '', after?.status.phase ?? ''];
    if (before === undefined || after === undefined || was === is) return undefined;
    if (!ended(before) && ORDER.indexOf(is) >= ORDER.indexOf(was)) return undefined;
    return `${change.by} changed it from ${was} to ${is}`;
  },
  'a deletion is never undone': ({ before, after, by }) => {
    if (before?.metadata.deletionTimestamp === undefined || after === undefined) return undefined;
    return after.metadata.deletionTimestamp === undefined ? `${by} took its deletion back` : undefined;
  },
  'grace is only shortened': ({ before, after, by }) => {
    const was = before?.metadata.deletionGracePeriodSeconds;
    const is = after?.metadata.deletionGracePeriodSeconds;
    if (was === undefined || is === undefined || is <= was) return undefined;
    return `${by} made it ${is} s of ${was} s`;
  },
  'a name keeps its uid until it is removed': ({ before, after, by }) => {
    if (before === undefined || after === undefined || before.metadata.uid === after.metadata.uid) return undefined;
    return `${by} put ${after.metadata.uid} in place of ${before.metadata.uid}`;
  },
  'what has finalizers is not removed': ({ after, last, by }) => {
    const finalizers = last?.metadata.finalizers ?? [];
    return after === undefined && finalizers.length > 0 ? `${by} removed it with ${finalizers.join(', ')}` : undefined;
  },
  'only its node or a user removes a running pod': (change) => {
    const { before, after } = podsOf(change);
    if (before?.spec.nodeName === undefined || ended(before) || isGivenUp(before)) return undefined;
    // One that finalizers hold goes when they do: who has given it up is asked before.
    if (after !== undefined && !isGivenUp(after)) return undefined;
    const { by, nodeOf } = change;
    if (by === `system:node:${before.spec.nodeName}` || MAY_FORCE.has(by)) return undefined;
    const node = nodeOf(before.spec.nodeName);
    if (by === POD_GC && (node === undefined || isVouchedFor(node, change))) return undefined;
    if (by === FENCER && node !== undefined && fenceOf(node) === 'node') return undefined;
    if (by === POD_GC && change.isPromiseBroken(before.spec.nodeName)) return undefined;
    return `${by} removed it while it was ${before.status.phase} on ${before.spec.nodeName}`;
  },
  'a node removes only what is being deleted': (change) => {
    const { before, after } = podsOf(change);
    if (before === undefined || after !== undefined || !change.by.startsWith('system:node:')) return undefined;
    return before.metadata.deletionTimestamp === undefined ? `${change.by} removed ${before.metadata.uid}` : undefined;
  },
  'the token of a volume grows with every attachment': ({ resource, before, after, by }) => {
    const [was, is] = [before, after].map((object) => (object as PersistentVolume | undefined)?.status);
    if (resource !== 'persistentvolumes' || was === undefined || is === undefined) return undefined;
    const [old, next] = [was.fencingToken ?? 0, is.fencingToken ?? 0];
    if (next < old) return `${by} took it from ${old} back to ${next}`;
    if (is.attachment === undefined || is.attachment.nodeUID === was.attachment?.nodeUID || next > old)
      return undefined;
    return `${by} attached it to ${is.attachment.nodeName} with the token ${next} of an earlier attachment`;
  },
  'a volume in use stays attached': (change) => {
    const { resource, before, after, by, nodeOf } = change;
    if (resource !== 'persistentvolumes') return undefined;
    const was = (before as PersistentVolume | undefined)?.status.attachment;
    const is = (after as PersistentVolume | undefined)?.status.attachment;
    if (was === undefined || is?.nodeName === was.nodeName) return undefined;
    const node = nodeOf(was.nodeName);
    if (node === undefined || node.metadata.uid !== was.nodeUID || isVouchedFor(node, change)) return undefined;
    if (change.isPromiseBroken(was.nodeName)) return undefined;
    const uses = (node.status.volumesInUse ?? []).filter((entry) =>
      entry.startsWith(volumeInUse(before?.metadata.name ?? '', '')),
    );
    return uses.length === 0 ? undefined : `${by} took it from ${was.nodeName}, which says it uses ${uses.join(', ')}`;
  },
};

const isGivenUp = ({ metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;

const isVouchedFor = (node: Node, { wasVouchedFor }: Pick<CommittedChange, 'wasVouchedFor'> = {}): boolean =>
  wasVouchedFor?.(node.metadata.name ?? '') === true ||
  fenceOf(node) === 'node' ||
  (node.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');

/** A rule that fails must not look like an API server that does. */
function attempt(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    return `the rule itself fails: ${error instanceof Error ? error.stack : String(error)}`;
  }
}

/** Looks at every commit with every rule. */
export class CommitOracle implements Oracle {
  readonly #objects = new Map<string, KubeObject>();
  readonly #rules: readonly (readonly [string, CommitRule])[];
  readonly #now: () => number;
  /** When the lease of a node was last changed that had been broken. */
  readonly #mendedAt = new Map<string, number>();
  /** When the word for the end of what runs on a node was taken back. */
  readonly #unvouchedAt = new Map<string, number>();
  #broken: { readonly rule: string; readonly story: string } | undefined;

  constructor(rules: Readonly<Record<string, CommitRule>> = COMMIT_RULES, now: () => number = () => 0) {
    this.#rules = Object.entries(rules);
    this.#now = now;
  }

  /** The broken rule: a smaller schedule has to break the same one. */
  get name(): string {
    return this.#broken?.rule ?? 'what is stored';
  }

  /** What was stored before the first commit, long ago. Rules that remember learn it, and break by nothing of it. */
  startOn(stored: readonly StoredObject[]): void {
    for (const each of stored) this.#objects.set(each.key, storedObjectOf(each));
    const nodeOf = (node: string): Node | undefined => this.#nodeOf(node);
    const always = { nodeOf, isPromiseBroken: () => false, nowMs: Number.NEGATIVE_INFINITY, objects: this.#objects };
    for (const [key, after] of this.#objects) {
      const { resource, name } = parseKey(key);
      const change = { ...always, resource, name, before: undefined, after, last: after, by: 'the start' };
      for (const [, learn] of this.#rules) attempt(() => learn(change));
    }
  }

  #nodeOf(name: string): Node | undefined {
    return this.#objects.get(`core/nodes/-/${name}`) as Node | undefined;
  }

  observe(commit: Commit): void {
    const { operation, by = 'nobody', revision } = commit;
    const { resource, name } = parseKey(operation.key);
    const before = this.#objects.get(operation.key);
    const last = objectOf(commit);
    const after = operation.kind === 'delete' ? undefined : last;
    const nodeOf = (node: string): Node | undefined => this.#nodeOf(node);
    const nowMs = this.#now();
    const isPromiseBroken = (node: string): boolean =>
      this.#isBroken(node) || nowMs - (this.#mendedAt.get(node) ?? Number.NEGATIVE_INFINITY) <= ANSWERED_MS;
    if (resource === 'leases' && this.#isBroken(name)) this.#mendedAt.set(name, nowMs);
    const isRecent = (atMs = Number.NEGATIVE_INFINITY): boolean => nowMs - atMs <= ANSWERED_MS;
    const wasVouchedFor = (node: string): boolean => isRecent(this.#unvouchedAt.get(node));
    if (resource === 'nodes' && before !== undefined && isVouchedFor(before as Node))
      this.#unvouchedAt.set(name, nowMs);
    const facts = { nodeOf, isPromiseBroken, wasVouchedFor, nowMs, objects: this.#objects };
    const change = { resource, name, before, after, last, by, ...facts };
    for (const [rule, check] of this.#rules) {
      const wrong = attempt(() => check(change));
      if (wrong === undefined) continue;
      this.#broken ??= { rule, story: `${operation.key} at revision ${revision}: ${wrong}` };
    }
    if (after === undefined) this.#objects.delete(operation.key);
    else this.#objects.set(operation.key, after);
  }

  #isBroken(node: string): boolean {
    const lease = this.#objects.get(`coordination.k8s.io/leases/${NODE_LEASES_NAMESPACE}/${node}`);
    return promiseOf(lease as Lease | undefined)?.isBroken === true;
  }

  check(): string | undefined {
    return this.#broken?.story;
  }
}
