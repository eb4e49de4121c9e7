import { type Deployment, isPodReady, isTerminating, type KubeObject, type Pod, type ReplicaSet } from '@holdfast/api';
import type { CommitRule, CommittedChange } from './commit-rules.ts';
import { controllerOf, MANAGER, uidOf } from './meta.ts';
import { type ReplicaDeps, settling } from './settled.ts';

/** A decision may rest on what was stored this long ago. */
const DECIDED_MS = 60_000;
/** What was so for this long has reached everybody in a calm seed. */
const LONG_KNOWN_MS = 3_000;

interface Bounds {
  readonly most: number;
  readonly least: number;
  readonly atMs: number;
}

/**
 * A rollout makes no more pods than the Deployment and its surge, and takes none that it needs. What it counts are the
 * sizes of the ReplicaSets, which only it writes, and the ready pods, of which it hears soon in a calm seed.
 */
export function rolloutRules(isCalm: boolean, replicas: ReplicaDeps): Readonly<Record<string, CommitRule>> {
  const bounds = new Map<string, Bounds[]>();
  const settledForMs = settling(replicas);
  let claimedAtMs = Number.NEGATIVE_INFINITY;
  let lostAtMs = Number.NEGATIVE_INFINITY;
  const note = ({ resource, before, after, nowMs }: CommittedChange): number => {
    const isOwned = resource === 'pods' || resource === 'replicasets';
    if (isOwned && before !== undefined && after !== undefined && claimOf(before) !== claimOf(after))
      claimedAtMs = nowMs;
    if (resource === 'pods' && isUp(before) && !isUp(after)) lostAtMs = nowMs;
    if (resource === 'deployments' && after !== undefined)
      bounds.set(uidOf(after), [
        ...(bounds.get(uidOf(after)) ?? []),
        { ...boundsOf(after as Deployment), atMs: nowMs },
      ]);
    return nowMs - claimedAtMs;
  };
  /** The set of a rolling Deployment that the manager has resized, when it knows what it does. */
  const resized = (change: CommittedChange): { readonly by: number; readonly owner: KubeObject } | undefined => {
    const knownMs = Math.min(settledForMs(change), note(change));
    const { resource, before, after, by, objects } = change;
    if (by !== MANAGER || resource !== 'replicasets' || after === undefined || knownMs < DECIDED_MS) return undefined;
    const owner = [...objects.values()].find((each) => uidOf(each) === controllerOf(after));
    if (owner === undefined || isTerminating(owner)) return undefined;
    return { by: sizeOf(after) - (before === undefined ? 0 : sizeOf(before)), owner };
  };
  const lately = (owner: KubeObject, nowMs: number): readonly Bounds[] => {
    const all = bounds.get(uidOf(owner)) ?? [];
    return all.filter((_, i) => (all[i + 1]?.atMs ?? nowMs) >= nowMs - DECIDED_MS);
  };
  return {
    'a rollout keeps its bounds': (change) => {
      const found = resized(change);
      const { after, objects, nowMs } = change;
      if (found === undefined || after === undefined || found.by === 0) return undefined;
      const others = [...objects.values()].filter(
        (each) =>
          each.kind === 'ReplicaSet' && controllerOf(each) === uidOf(found.owner) && uidOf(each) !== uidOf(after),
      );
      const sets = [...others, after];
      const known = lately(found.owner, nowMs);
      if (found.by > 0) {
        const sum = sets.reduce((total, set) => total + sizeOf(set), 0);
        const most = Math.max(...known.map((each) => each.most));
        return sum > most ? `its sets have ${sum} replicas, of at most ${most}` : undefined;
      }
      if (!isCalm || nowMs - lostAtMs < LONG_KNOWN_MS) return undefined;
      const left = sets.reduce((total, set) => total + Math.min(sizeOf(set), upOf(set, objects)), 0);
      const least = Math.min(...known.map((each) => each.least));
      return left < least ? `it leaves ${left} ready pods, of at least ${least}` : undefined;
    },
  };
}

const sizeOf = (set: KubeObject): number => (set as ReplicaSet).spec.replicas ?? 1;
const isUp = (pod: KubeObject | undefined): boolean =>
  pod !== undefined && isPodReady(pod as Pod) && !isTerminating(pod);
const upOf = (set: KubeObject, objects: ReadonlyMap<string, KubeObject>): number =>
  [...objects.values()].filter((each) => each.kind === 'Pod' && controllerOf(each) === uidOf(set) && isUp(each)).length;

const claimOf = (object: KubeObject): string => JSON.stringify([controllerOf(object), object.metadata.labels]);

function boundsOf({ spec }: Deployment): { readonly most: number; readonly least: number } {
  const { replicas = 1, strategy } = spec;
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = partOf(maxSurge, replicas, Math.ceil);
  const unavailable = partOf(maxUnavailable, replicas, Math.floor);
  // One of the two is at least one, so that a rollout can go on.
  return { most: replicas + surge, least: replicas - (surge + unavailable === 0 ? 1 : unavailable) };
}

const partOf = (part: number | string, of: number, round: (value: number) => number): number =>
  typeof part === 'number' ? part : round((Number.parseInt(part, 10) * of) / 100);
