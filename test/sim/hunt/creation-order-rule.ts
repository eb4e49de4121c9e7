import { isPodReady, type Pod, type StatefulSet } from '@holdfast/api';
import type { CommitRule, CommittedChange } from './commit-rules.ts';
import { controllerOf, MANAGER, uidOf } from './meta.ts';

/** What was so for this long has reached everybody in a calm seed. */
const LONG_KNOWN_MS = 3_000;

/**
 * A StatefulSet creates a pod when all pods of lower ordinals are ready. It may have heard late that one no longer is; one that nobody has
 * seen ready under its name was never reported as ready.
 */
export function creationOrderRules(isCalm: boolean): Readonly<Record<string, CommitRule>> {
  /** When a name was last seen ready; those of which nothing is known are absent. */
  const readyAtMs = new Map<string, number>();
  return {
    'a StatefulSet creates one pod after the other': (change) => {
      if (change.resource !== 'pods') return undefined;
      note(readyAtMs, change);
      const set = change.before === undefined && change.by === MANAGER ? orderedSetOf(change) : undefined;
      if (set === undefined) return undefined;
      const late = lowerNames(set, change.name).find((name) => {
        const seenMs = readyAtMs.get(name);
        if (seenMs === undefined) return false;
        return seenMs === NEVER || (isCalm && change.nowMs - seenMs > LONG_KNOWN_MS);
      });
      return late === undefined ? undefined : `${change.by} creates it although ${late} is not ready`;
    },
  };
}

const NEVER = Number.NEGATIVE_INFINITY;
const NOW = Number.POSITIVE_INFINITY;

function note(readyAtMs: Map<string, number>, { name, before, after, nowMs }: CommittedChange): void {
  const was = before !== undefined && isPodReady(before as Pod);
  const is = after !== undefined && isPodReady(after as Pod);
  if (is) readyAtMs.set(name, NOW);
  else if (was) readyAtMs.set(name, nowMs);
  else if (before === undefined && !readyAtMs.has(name)) readyAtMs.set(name, NEVER);
}

function orderedSetOf({ after, objects }: CommittedChange): StatefulSet | undefined {
  const owner = controllerOf(after);
  if (owner === undefined) return undefined;
  const found = [...objects.values()].find((each) => uidOf(each) === owner);
  if (found?.kind !== 'StatefulSet') return undefined;
  const set = found as StatefulSet;
  return set.spec.podManagementPolicy === 'Parallel' ? undefined : set;
}

function lowerNames({ metadata, spec }: StatefulSet, name: string): readonly string[] {
  const first = spec.ordinals?.start ?? 0;
  const ordinal = Number(name.slice(name.lastIndexOf('-') + 1));
  return Array.from({ length: Math.max(0, ordinal - first) }, (_, i) => `${metadata.name}-${first + i}`);
}
