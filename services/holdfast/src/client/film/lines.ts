import { formatTime } from '@holdfast/platform';
import { harmless, inLines } from '../table.ts';
import type { Film, Lane, Step } from './model.ts';
import { durationText, podName } from './names.ts';

const HEAD = ['AFTER', 'LASTED', 'WHO', 'WHAT', 'BECAUSE'] as const;

/** A film as a table of steps and sentences. */
export function filmLines(film: Film): readonly string[] {
  const told = stepsInOrder(film);
  const rows = told.map(({ lane, step }) => [
    afterText(film, step),
    lastedText(step),
    laneName(lane),
    harmless(step.name),
    causeText(told, step),
  ]);
  return [headline(film), ...inLines([HEAD, ...rows]), ...leftText(film), ...film.waits.map(harmless)];
}

export interface ToldStep {
  readonly lane: Lane;
  readonly step: Step;
}

export const stepsInOrder = ({ lanes }: Film): readonly ToldStep[] =>
  lanes.flatMap((lane) => lane.steps.map((step) => ({ lane, step }))).sort((a, b) => a.step.id - b.step.id);

export const laneName = ({ kind, name }: Lane): string => harmless(kind === 'node' ? name : `${kind} ${podName(name)}`);

export function headline({ node, lostMs, backMs, toMs, waits }: Film): string {
  const lost = `${node} was lost at ${formatTime(lostMs)}`;
  const back =
    backMs === undefined
      ? `and is not back after ${durationText(toMs - lostMs)}`
      : `and was back after ${durationText(backMs - lostMs)}`;
  const rest = waits.length === 0 ? '; nothing waits any more' : '';
  return harmless(`${lost} ${back}${rest}.`);
}

/** Since the last heartbeat of the node. */
export const afterText = ({ lostMs }: Film, { fromMs }: Step): string =>
  fromMs < lostMs ? 'before' : durationText(fromMs - lostMs);

export function lastedText({ fromMs, toMs, isOpen }: Step): string {
  const ms = toMs - fromMs;
  if (isOpen) return 'lasts';
  return ms >= 1_000 ? durationText(ms) : ms === 0 ? 'at once' : `${Math.round(ms)}ms`;
}

/** Empty for what the step before in its own lane brought about: the order says that. */
export function causeText(told: readonly ToldStep[], { id, cause }: Step): string {
  const found = cause === undefined ? undefined : told[cause];
  if (found === undefined || found.lane === told[id]?.lane) return '';
  return `${laneName(found.lane)}: ${harmless(found.step.name)}`;
}

export const leftText = ({ left }: Film): readonly string[] =>
  left === 0 ? [] : [`${left} more pods of the node are not shown.`];
