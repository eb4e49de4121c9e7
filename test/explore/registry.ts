import type { MakeOperator } from './make-operator.ts';
import { claimByStaleRead } from './operators/claim-by-stale-read.ts';
import { conflictSwallowed } from './operators/conflict-swallowed.ts';
import { createsTwice } from './operators/creates-twice.ts';
import { deletesByName } from './operators/deletes-by-name.ts';
import { edgeTriggered } from './operators/edge-triggered.ts';
import { existsIsAFailure } from './operators/exists-is-a-failure.ts';
import { finalizerAfterCrash } from './operators/finalizer-after-crash.ts';
import { givesUpWhenThrottled } from './operators/gives-up-when-throttled.ts';
import { lostAnswer } from './operators/lost-answer.ts';
import { readyTooEarly } from './operators/ready-too-early.ts';
import { sameNameOtherUid } from './operators/same-name-other-uid.ts';
import { statusInMemory } from './operators/status-in-memory.ts';
import { stuckAfter410 } from './operators/stuck-after-410.ts';
import { volumeLeftAtScaleDown } from './operators/volume-left-at-scale-down.ts';

/** What users do with the tank `a`: its spec, or `undefined` to delete it. */
export type TankSteps = readonly (Readonly<Record<string, string | number>> | undefined)[];

export interface Planted {
  /** The class of the bug, in one sentence. */
  readonly bug: string;
  readonly make: MakeOperator;
  readonly steps: TankSteps;
}

const VALUES: TankSteps = [{ value: 1 }, { value: 2 }];

export const PLANTED: ReadonlyMap<string, Planted> = new Map<string, Planted>([
  [
    'claim-by-stale-read',
    { bug: 'deletes a claim because its cache does not have the owner', make: claimByStaleRead, steps: VALUES },
  ],
  [
    'finalizer-after-crash',
    {
      bug: 'a crash between object and finalizer leaves the object for ever',
      make: finalizerAfterCrash,
      steps: [{}, undefined],
    },
  ],
  [
    'volume-left-at-scale-down',
    { bug: 'a crash while scaling down leaks a claim', make: volumeLeftAtScaleDown, steps: [{ size: 2 }, { size: 1 }] },
  ],
  [
    'creates-twice',
    { bug: 'creates a second secret, as the first is not in its cache yet', make: createsTwice, steps: VALUES },
  ],
  [
    'same-name-other-uid',
    { bug: 'takes a new object for the old one of the same name', make: sameNameOtherUid, steps: [{}, undefined, {}] },
  ],
  ['lost-answer', { bug: 'repeats an effect whose answer was lost', make: lostAnswer, steps: [{ value: 1 }] }],
  [
    'status-in-memory',
    {
      bug: 'a restart loses what the status counts',
      make: statusInMemory,
      steps: [{ version: '1' }, { version: '2' }],
    },
  ],
  ['stuck-after-410', { bug: 'resumes from an expired revision again and again', make: stuckAfter410, steps: VALUES }],
  [
    'edge-triggered',
    {
      bug: 'acts only on a state that it may not observe',
      make: edgeTriggered,
      steps: [{ stage: 'new' }, { stage: 'fill' }, { stage: 'sealed' }],
    },
  ],
  ['conflict-swallowed', { bug: 'takes a conflict for a success', make: conflictSwallowed, steps: VALUES }],
  [
    'deletes-by-name',
    {
      bug: 'deletes the successor of the object that it means',
      make: deletesByName,
      steps: [{ version: '1' }, { version: '2' }],
    },
  ],
  [
    'ready-too-early',
    {
      bug: 'reports the work before it is done, and skips it after a crash',
      make: readyTooEarly,
      steps: [{ value: 1 }],
    },
  ],
  ['gives-up-when-throttled', { bug: 'never tries again after 429', make: givesUpWhenThrottled, steps: VALUES }],
  [
    'exists-is-a-failure',
    {
      bug: 'takes its own object for that of a stranger after a lost answer',
      make: existsIsAFailure,
      steps: [{ value: 1 }],
    },
  ],
]);
