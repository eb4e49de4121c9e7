import { isTerminating, type Pod } from '@holdfast/api';
import type { CommitRule } from './commit-rules.ts';
import { controllerOf, MANAGER, uidOf } from './meta.ts';
import { type ReplicaDeps, settling } from './settled.ts';

/** What was so for this long has reached everybody in a calm seed. */
const LONG_KNOWN_MS = 3_000;
/** A manager that began to act has heard of what the one before did. */
const SETTLED_MS = 60_000;

interface Ending {
  readonly sinceMs: number;
  /** The set itself has ended it. */
  readonly isOwn: boolean;
}

/**
 * A StatefulSet goes on when the pod before is back. It knows at once what it has ended itself; of other ends it hears,
 * soon where nothing delays that.
 */
export function orderRules(isCalm: boolean, replicas: ReplicaDeps): Readonly<Record<string, CommitRule>> {
  const endings = new Map<string, Ending>();
  const settledForMs = settling(replicas);
  return {
    'a StatefulSet ends one pod after the other': (change) => {
      const knowsMs = settledForMs(change);
      const { resource, name, before, after, by, nowMs, objects } = change;
      if (resource !== 'pods' || before === undefined) return undefined;
      if (after === undefined) endings.delete(uidOf(before));
      if (after === undefined || isTerminating(before) || !isTerminating(after)) return undefined;
      const isOfSet = before.metadata.ownerReferences?.some(({ kind }) => kind === 'StatefulSet') === true;
      const isEvicted = (after as Pod).status.conditions?.some(({ type }) => type === 'DisruptionTarget') === true;
      const set = [...objects.values()].find((each) => uidOf(each) === controllerOf(before));
      const isOwn = by === MANAGER && isOfSet && !isEvicted && set !== undefined && !isTerminating(set);
      endings.set(uidOf(after), { sinceMs: nowMs, isOwn });
      if (!isOwn) return undefined;
      const isKnown = (ending: Ending | undefined): boolean =>
        ending !== undefined &&
        ((ending.isOwn && knowsMs >= SETTLED_MS) || (isCalm && nowMs - ending.sinceMs > LONG_KNOWN_MS));
      const other = [...objects.values()].find(
        (each) =>
          each.kind === 'Pod' &&
          each.metadata.name !== name &&
          controllerOf(each) === uidOf(set) &&
          isKnown(endings.get(uidOf(each))),
      );
      return other === undefined ? undefined : `${by} ends it while ${other.metadata.name} still ends`;
    },
  };
}
