import type { Namespace, NamespaceCondition } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { isSame } from '../../common/hash.ts';
import { compareText } from '../../common/meta.ts';

/** What a pass found in a terminating namespace after it requested all deletions. */
export interface NamespaceContent {
  /** Objects left, by `plural.group` (a trailing dot for the core group, as Kubernetes prints it). */
  readonly remaining: ReadonlyMap<string, number>;
  /** Objects left that carry a finalizer, by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Why some deletions could not be requested. */
  readonly failures: readonly string[];
  /** Group-versions whose server cannot list its resources: `metrics.example.com/v1`. */
  readonly undiscovered?: readonly string[];
}

export const FINALIZER = 'kubernetes';

export type NamespaceAction =
  | { readonly type: 'write-status'; readonly namespace: Namespace }
  | { readonly type: 'finalize'; readonly namespace: Namespace };

/** Removes the namespace when it is empty; until then its status reports the remaining content. */
export function decide(namespace: Namespace, content: NamespaceContent, now: number): NamespaceAction | undefined {
  const { remaining, failures, undiscovered = [] } = content;
  const isEmpty = remaining.size === 0 && failures.length === 0 && undiscovered.length === 0;
  if (isEmpty) {
    const finalizers = (namespace.spec.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
    return { type: 'finalize', namespace: { ...namespace, spec: { ...namespace.spec, finalizers } } };
  }
  const status = { ...namespace.status, phase: 'Terminating', conditions: conditionsOf(namespace, content, now) };
  return isSame(status, namespace.status) ? undefined : { type: 'write-status', namespace: { ...namespace, status } };
}

type Told = Pick<NamespaceCondition, 'type' | 'status' | 'reason' | 'message'>;

function conditionsOf(namespace: Namespace, content: NamespaceContent, now: number): NamespaceCondition[] {
  const told: readonly Told[] = [
    discoveryFailure(content),
    fine(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    deletionFailure(content),
    remainingContent(content.remaining),
    remainingFinalizers(content.finalizers),
  ];
  const old = namespace.status.conditions ?? [];
  const others = old.filter(({ type }) => !told.some((condition) => condition.type === type));
  return [...others, ...told.map((condition) => dated(condition, old, now))];
}

const fine = (type: string, reason: string, message: string): Told => ({ type, status: 'False', reason, message });

function discoveryFailure({ undiscovered = [] }: NamespaceContent): Told {
  const type = 'NamespaceDeletionDiscoveryFailure';
  if (undiscovered.length === 0) return fine(type, 'ResourcesDiscovered', 'All resources successfully discovered');
  const list = undiscovered.map((each) => `${each}: stale GroupVersion discovery: ${each}`).join(', ');
  const message = `Discovery failed for some groups, ${undiscovered.length} failing: unable to retrieve the complete list of server APIs: ${list}`;
  return { type, status: 'True', reason: 'DiscoveryFailed', message };
}

function deletionFailure({ failures }: NamespaceContent): Told {
  const type = 'NamespaceDeletionContentFailure';
  if (failures.length === 0)
    return fine(type, 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization');
  const message = `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`;
  return { type, status: 'True', reason: 'ContentDeletionFailed', message };
}

function remainingContent(remaining: ReadonlyMap<string, number>): Told {
  const type = 'NamespaceContentRemaining';
  if (remaining.size === 0) return fine(type, 'ContentRemoved', 'All content successfully removed');
  const list = sorted(remaining).map(([kind, count]) => `${kind} has ${count} resource instances`);
  return {
    type,
    status: 'True',
    reason: 'SomeResourcesRemain',
    message: `Some resources are remaining: ${list.join(', ')}`,
  };
}

function remainingFinalizers(finalizers: ReadonlyMap<string, number>): Told {
  const type = 'NamespaceFinalizersRemaining';
  if (finalizers.size === 0) return fine(type, 'ContentHasNoFinalizers', 'All content-preserving finalizers finished');
  const list = sorted(finalizers).map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
  const message = `Some content in the namespace has finalizers remaining: ${list.join(', ')}`;
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message };
}

const sorted = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].sort(([a], [b]) => compareText(a, b));

function dated(told: Told, old: readonly NamespaceCondition[], now: number): NamespaceCondition {
  const before = old.find(({ type }) => type === told.type);
  const since = before?.status === told.status ? before.lastTransitionTime : undefined;
  return { ...told, lastTransitionTime: since ?? formatTime(now) };
}
