import { formatTime } from '@holdfast/platform/time';
import type { Film, Lane, Step } from './model.ts';
import { durationText, podName } from './names.ts';

/** A step together with its lane. */
export interface ToldStep {
  readonly lane: Lane;
  readonly step: Step;
}

export const stepsInOrder = ({ lanes }: Film): readonly ToldStep[] =>
  lanes.flatMap((lane) => lane.steps.map((step) => ({ lane, step }))).sort((a, b) => a.step.id - b.step.id);

export const laneName = ({ kind, name }: Lane): string => (kind === 'node' ? name : `${kind} ${podName(name)}`);

export function headline({ node, lostMs, backMs, toMs, waits }: Film): string {
  const lost = `${node} was lost at ${formatTime(lostMs)}`;
  const back =
    backMs === undefined
      ? `and is not back after ${durationText(toMs - lostMs)}`
      : `and was back after ${durationText(backMs - lostMs)}`;
  const rest = waits.length === 0 ? '; nothing waits any more' : '';
  return `${lost} ${back}${rest}.`;
}

/** How long a moment is after the last heartbeat of the node. */
export const afterText = ({ lostMs }: Film, atMs: number): string =>
  atMs < lostMs ? 'before' : durationText(atMs - lostMs);

export function lastedText({ fromMs, toMs, isOpen }: Step): string {
  const ms = toMs - fromMs;
  if (isOpen) return 'lasts';
  return ms >= 1_000 ? durationText(ms) : ms === 0 ? 'at once' : `${Math.round(ms)}ms`;
}

/** Empty for what the step before in its own lane brought about: the order says that. */
export function causeText(told: readonly ToldStep[], { id, cause }: Step): string {
  const found = cause === undefined ? undefined : told[cause];
  if (found === undefined || found.lane === told[id]?.lane) return '';
  return `${laneName(found.lane)}: ${found.step.name}`;
}

/** What a bar says when somebody points at it. */
export function stepText(told: readonly ToldStep[], step: Step): string {
  const cause = causeText(told, step);
  return `${step.name} (${lastedText(step)})${cause === '' ? '' : `, because of ${cause}`}`;
}

export const leftText = ({ left }: Film): readonly string[] =>
  left === 0 ? [] : [`${left} more pods of the node are not shown.`];
