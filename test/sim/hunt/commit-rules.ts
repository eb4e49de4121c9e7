import { fenceOf, type KubeObject, type Node, type PersistentVolume, type Pod, volumeInUse } from '@holdfast/api';
import { FENCER } from '@holdfast/apiserver';
import { parseKey } from '@holdfast/store';
import type { Oracle } from '@holdfast/testing';
import type { Commit } from '../committed.ts';

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
}

/** The violation in a commit; `undefined` when it is allowed. */
export type CommitRule = (change: CommittedChange) => string | undefined;

const ended = (pod: Pod): boolean => pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
const podsOf = ({ resource, before, after }: CommittedChange): { before?: Pod; after?: Pod } =>
  resource === 'pods' ? { before: before as Pod, after: after as Pod } : {};

const ORDER = ['Pending', 'Running', 'Succeeded', 'Failed'];

/** The identities that may remove a bound, unfinished pod: its own node, and users, who get a warning. */
const MAY_FORCE = new Set(['admin', 'owner']);
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
    if (before?.spec.nodeName === undefined || after !== undefined || ended(before)) return undefined;
    const { by, nodeOf } = change;
    if (by === `system:node:${before.spec.nodeName}` || MAY_FORCE.has(by)) return undefined;
    const node = nodeOf(before.spec.nodeName);
    if (by === POD_GC && (node === undefined || isVouchedFor(node))) return undefined;
    if (by === FENCER && node !== undefined && fenceOf(node) === 'node') return undefined;
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
  'a volume in use stays attached': ({ resource, before, after, by, nodeOf }) => {
    if (resource !== 'persistentvolumes') return undefined;
    const was = (before as PersistentVolume | undefined)?.status.attachment;
    const is = (after as PersistentVolume | undefined)?.status.attachment;
    if (was === undefined || is?.nodeName === was.nodeName) return undefined;
    const node = nodeOf(was.nodeName);
    if (node === undefined || node.metadata.uid !== was.nodeUID || isVouchedFor(node)) return undefined;
    const uses = (node.status.volumesInUse ?? []).filter((entry) =>
      entry.startsWith(volumeInUse(before?.metadata.name ?? '', '')),
    );
    return uses.length === 0 ? undefined : `${by} took it from ${was.nodeName}, which says it uses ${uses.join(', ')}`;
  },
};

const isVouchedFor = (node: Node): boolean =>
  fenceOf(node) === 'node' || (node.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');

/** Looks at every commit with every rule. */
export class CommitOracle implements Oracle {
  readonly #objects = new Map<string, KubeObject>();
  #broken: { readonly rule: string; readonly story: string } | undefined;

  /** The broken rule: a smaller schedule has to break the same one. */
  get name(): string {
    return this.#broken?.rule ?? 'what is stored';
  }

  observe({ operation, by = 'nobody', revision }: Commit): void {
    const { resource, name } = parseKey(operation.key);
    const before = this.#objects.get(operation.key);
    const last = JSON.parse(operation.value) as KubeObject;
    const after = operation.kind === 'delete' ? undefined : last;
    if (after === undefined) this.#objects.delete(operation.key);
    else this.#objects.set(operation.key, after);
    const nodeOf = (node: string): Node | undefined => this.#objects.get(`core/nodes/-/${node}`) as Node | undefined;
    for (const [rule, check] of Object.entries(COMMIT_RULES)) {
      const wrong = check({ resource, name, before, after, last, by, nodeOf });
      if (wrong === undefined) continue;
      this.#broken ??= { rule, story: `${operation.key} at revision ${revision}: ${wrong}` };
    }
  }

  check(): string | undefined {
    return this.#broken?.story;
  }
}
