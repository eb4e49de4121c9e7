import { type DeleteOptions, isTerminating, type KubeObject, type ResourceDefinition } from '@holdfast/api';
import { formatTime, parseTime } from '@holdfast/platform';
import { isHeld, markTerminating } from './deletion-holds.ts';

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';

/** The effect of a DELETE on the stored object. */
export type DeletionStep =
  /** No change: the object is already terminating at least as fast. */
  | { readonly kind: 'keep' }
  /** The object stays, marked as terminating. */
  | { readonly kind: 'mark'; readonly object: KubeObject }
  /** The object is marked as terminating, so that watchers see it, and then removed. */
  | { readonly kind: 'markAndRemove'; readonly object: KubeObject }
  | { readonly kind: 'remove' };

export interface DeletionInput {
  readonly definition: ResourceDefinition;
  readonly old: KubeObject;
  /**
   * `undefined` for internal deletions without any options, not even the pod's own grace. A request always has options.
   */
  readonly options: DeleteOptions | undefined;
  readonly now: number;
}

/** SAFE-04, SAFE-05, SAFE-09, TERM-38..43: grace periods only shrink, finalizers hold the object, grace 0 removes it. */
export function decideDeletion(input: DeletionInput): DeletionStep {
  // Copies only metadata: other fields are replaced, never changed in place.
  const copy = { ...input.old, metadata: { ...input.old.metadata } };
  const { beginsDeletion } = input.definition.strategy;
  const isFirst = !isTerminating(copy);
  const object = isFirst && beginsDeletion !== undefined ? beginsDeletion(copy, input.now) : copy;
  const finalizersChanged = applyPropagation(object, input);
  const grace = gracePeriod(input);
  const held = isHeld(input.definition, object);
  if (grace !== undefined) return decideGraceful(input, object, { grace, held, finalizersChanged });
  if (!held) return { kind: 'remove' };
  const marked = markDeleted(object, input.now, 0);
  if (marked) markTerminating(input.definition, object);
  return marked || finalizersChanged ? { kind: 'mark', object } : { kind: 'keep' };
}

/** `undefined`: the deletion is not graceful. */
const gracePeriod = ({ definition, old, options }: DeletionInput): number | undefined =>
  options === undefined ? undefined : definition.strategy.gracefulDeletion?.(old, options.gracePeriodSeconds);

interface Graceful {
  readonly grace: number;
  readonly held: boolean;
  readonly finalizersChanged: boolean;
}

function decideGraceful(input: DeletionInput, object: KubeObject, state: Graceful): DeletionStep {
  const { metadata } = input.old;
  if (isTerminating({ metadata })) {
    return decideAgain(input, object, { ...state, running: metadata.deletionGracePeriodSeconds ?? 0 });
  }
  markDeleted(object, input.now, state.grace);
  return state.grace > 0 || state.held ? { kind: 'mark', object } : { kind: 'markAndRemove', object };
}

/** The object is already terminating: only a shorter period in the request changes it. */
function decideAgain(
  input: DeletionInput,
  object: KubeObject,
  { running, held, finalizersChanged }: Graceful & { readonly running: number },
): DeletionStep {
  const unchanged: DeletionStep = finalizersChanged ? { kind: 'mark', object } : { kind: 'keep' };
  // Grace 0 without finalizers is a removal that was interrupted between its two writes: finish it.
  if (running === 0) return held ? unchanged : { kind: 'remove' };
  const requested = input.options?.gracePeriodSeconds;
  if (requested === undefined) return unchanged;
  const wanted = requested < 0 ? 1 : requested;
  if (wanted >= running) return unchanged;
  shortenGrace(object, running, wanted);
  return wanted > 0 || held ? { kind: 'mark', object } : { kind: 'markAndRemove', object };
}

/** The deadline moves by the same time as the grace period. */
function shortenGrace(object: KubeObject, from: number, to: number): void {
  const { metadata } = object;
  const deadline = parseTime(metadata.deletionTimestamp ?? '') ?? 0;
  metadata.deletionTimestamp = formatTime(deadline - (dated(from) - dated(to)) * 1000);
  metadata.deletionGracePeriodSeconds = to;
}

/** The longest duration of Go clients, 292 years: they cannot parse a later deadline. */
const GRACE_DATED_MAX_SECONDS = 9_223_372_036;

const dated = (graceSeconds: number): number => Math.min(graceSeconds, GRACE_DATED_MAX_SECONDS);

function markDeleted(object: KubeObject, now: number, graceSeconds: number): boolean {
  const { metadata } = object;
  if (isTerminating({ metadata })) return false;
  metadata.deletionTimestamp = formatTime(now + dated(graceSeconds) * 1000);
  metadata.deletionGracePeriodSeconds = graceSeconds;
  if (metadata.generation !== undefined && metadata.generation > 0) metadata.generation += 1;
  return true;
}

/** Foreground and orphan deletion are finalizers that the garbage collector removes when it is done. */
function applyPropagation(object: KubeObject, { definition, options = {} }: DeletionInput): boolean {
  const before = object.metadata.finalizers ?? [];
  const isSettled = before.includes(FOREGROUND) || before.includes(ORPHAN);
  const orphans = orphansByDefault(definition, options) && !isSettled;
  const wanted = orphans ? ORPHAN : wantedFinalizer(options);
  if (wanted === undefined) return false;
  const after = before.filter((each) => each !== FOREGROUND && each !== ORPHAN);
  if (wanted !== '') after.push(wanted);
  const changed = after.length !== before.length || after.some((each, i) => each !== before[i]);
  if (changed) {
    if (after.length === 0) delete object.metadata.finalizers;
    else object.metadata.finalizers = after;
  }
  return changed;
}

/** Kinds older than garbage collection orphan their dependents by default. */
export const orphansByDefault = ({ strategy }: ResourceDefinition, options: DeleteOptions): boolean =>
  strategy.orphansByDefault !== undefined &&
  options.propagationPolicy === undefined &&
  options.orphanDependents === undefined;

/** `undefined` = keep the finalizers; '' = neither of the two. */
function wantedFinalizer(options: DeleteOptions): string | undefined {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? ORPHAN : '';
  switch (options.propagationPolicy) {
    case 'Foreground':
      return FOREGROUND;
    case 'Orphan':
      return ORPHAN;
    case 'Background':
      return '';
    case undefined:
    default:
      return undefined;
  }
}
