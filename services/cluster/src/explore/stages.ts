import { OperatorError } from '@holdfast/platform';

/** What a run does now: told when it begins, and again and again while it waits. */
export interface Stage {
  /** `run 1 of 2 without a fault`, `plan 3`. */
  readonly run: string;
  /** `the operator starts`, `step 2 of 3: apply Tank a`. */
  readonly at: string;
  /** How long the rest of the operator is waited for, in milliseconds. */
  readonly waitedMs: number;
  /** What happened most often meanwhile. */
  readonly mostOften: string | undefined;
}

const secondsOf = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

/** `run 1 of 2 without a fault, step 1 of 3: apply Tank a`, and how the wait for rest goes. */
export function describeStage({ run, at, waitedMs, mostOften }: Stage): string {
  const place = `${run}, ${at}`;
  if (waitedMs < 1_000) return place;
  return `${place}: waited ${secondsOf(waitedMs)} for rest; ${mostOften === undefined ? 'nothing happened' : `most often: ${mostOften}`}`;
}

/** Without a fault it has to rest: nothing else tells where a step ends. `quietMs`: the longest quiet that is waited for. */
export const neverRests = ({ at, waitedMs, mostOften }: Stage, quietMs: number): OperatorError =>
  new OperatorError({
    code: 'NeverRests',
    message:
      `the operator never rests, also without a fault (${at}): in ${secondsOf(waitedMs)} there was no pause of ` +
      `${secondsOf(quietMs)}${mostOften === undefined ? '' : `; most often: ${mostOften}`}`,
    nextStep:
      'Let it write only what differs. If it repeats something in a period, give --quiet-ms less than a sixth of that period.',
  });

export const timeIsUp = (withinMs: number, stage: Stage | undefined): OperatorError =>
  new OperatorError({
    code: 'TimeIsUp',
    message: `no plan was tried in ${secondsOf(withinMs)}: ${stage === undefined ? 'the cluster was prepared' : describeStage(stage)}`,
    nextStep: 'Give more --minutes, fewer steps, or a shorter --quiet-ms.',
  });
