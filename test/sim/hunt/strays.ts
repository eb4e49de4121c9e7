import { type LabelSelector, type ObjectMeta, REPLICA_SETS, STATEFUL_SETS, selectorOf } from '@holdfast/api';
import type { CommittedState } from '../committed.ts';

/** A user has relabelled the pod, and with that has perhaps taken it from its controller. */
export const hasStrayed = ({ labels }: ObjectMeta): boolean => labels?.['was'] !== undefined;

/** The pod has a controller, or one that lives selects it. */
export function isAdoptable(
  committed: Pick<CommittedState, 'list'>,
  { labels, ownerReferences = [] }: ObjectMeta,
): boolean {
  if (ownerReferences.some(({ controller }) => controller === true)) return true;
  return [...committed.list(REPLICA_SETS), ...committed.list(STATEFUL_SETS)].some(({ metadata, spec }) => {
    const { selector } = spec as { readonly selector?: LabelSelector };
    return metadata.deletionTimestamp === undefined && selectorOf(selector).matches(labels);
  });
}
