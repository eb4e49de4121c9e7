import { duplicate, type FieldError, invalid, OMITTED, required, semanticEqual } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';
import type { Job, JobStatus } from '../../generated/types.ts';
import { goValue } from '../../validation/go/print.ts';
import { goInstant } from '../../validation/go-text.ts';
import { validateNonNegative } from '../../validation/numbers.ts';
import { checkedUpdate } from '../checked.ts';
import { countIndexes, firstOverlap } from './indexes.ts';

interface Change {
  readonly job: Readonly<Job>;
  readonly status: Readonly<JobStatus>;
  readonly old: Readonly<JobStatus>;
}

/** An external controller may manage a job (`managedBy`), so the server checks its status changes. */
export const validateJobStatusUpdate = checkedUpdate<Job>((out, job, { status: old }) => {
  const change: Change = { job, status: job.status, old };
  for (const key of COUNTS) validateNonNegative(out, `status.${key}`, job.status[key]);
  validateUncounted(out, job.status);
  validateEnd(out, change);
  validateCompletionTime(out, change);
  validateReasons(out, change);
  validateFinished(out, change);
  validateIndexes(out, change);
  validateLivePods(out, change);
  validateCriteria(out, change);
  validateHistory(out, change);
});

const COUNTS = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const;

const has = ({ conditions = [] }: Readonly<JobStatus>, type: string): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === 'True');
const isFinished = (status: Readonly<JobStatus>): boolean => has(status, 'Complete') || has(status, 'Failed');

const turned = ({ status, old }: Change, type: string): boolean => has(status, type) !== has(old, type);
const finishedTurned = ({ status, old }: Change): boolean => isFinished(status) !== isFinished(old);
const changed = ({ status, old }: Change, ...keys: readonly (keyof JobStatus)[]): boolean =>
  keys.some((key) => !semanticEqual(status[key], old[key]));

const refuseConditions = (out: FieldError[], detail: string): void => {
  out.push(invalid('status.conditions', OMITTED, detail));
};

function validateUncounted(out: FieldError[], { uncountedTerminatedPods: uncounted }: Readonly<JobStatus>): void {
  const seen = new Set<string>();
  for (const key of ['succeeded', 'failed'] as const) {
    for (const [i, uid] of (uncounted?.[key] ?? []).entries()) {
      const path = `status.uncountedTerminatedPods.${key}[${i}]`;
      if (uid === '') out.push(invalid(path, uid, 'must not be empty'));
      else if (seen.has(uid)) out.push(duplicate(path, uid));
      seen.add(uid);
    }
  }
}

function validateEnd(out: FieldError[], change: Change): void {
  const { status } = change;
  if (!has(status, 'Complete')) return;
  if ((turned(change, 'Complete') || turned(change, 'Failed')) && has(status, 'Failed')) {
    refuseConditions(out, 'cannot set Complete=True and Failed=true conditions');
  }
  if ((turned(change, 'Complete') || turned(change, 'FailureTarget')) && has(status, 'FailureTarget')) {
    refuseConditions(out, 'cannot set Complete=True and FailureTarget=true conditions');
  }
}

function validateCompletionTime(out: FieldError[], change: Change): void {
  const { status } = change;
  const path = 'status.completionTime';
  const shown = goInstant(status.completionTime);
  if (turned(change, 'Complete') || changed(change, 'completionTime')) {
    if (status.completionTime !== undefined && !has(status, 'Complete')) {
      out.push(invalid(path, shown, 'cannot set completionTime when there is no Complete=True condition'));
    }
    if (status.completionTime === undefined && has(status, 'Complete')) {
      out.push(required(path, 'completionTime is required for Complete jobs'));
    }
  }
  if (!changed(change, 'startTime', 'completionTime')) return;
  const [start, end] = [parseTime(status.startTime ?? ''), parseTime(status.completionTime ?? '')];
  if (start !== undefined && end !== undefined && end < start) {
    out.push(invalid(path, shown, 'completionTime cannot be set before startTime'));
  }
}

/** The reason for a job's end is set before it ends. */
function validateReasons(out: FieldError[], change: Change): void {
  const { status } = change;
  if (turned(change, 'Failed') && has(status, 'Failed') && !has(status, 'FailureTarget')) {
    refuseConditions(out, 'cannot set Failed=True condition without the FailureTarget=true condition');
  }
  if (turned(change, 'Complete') && has(status, 'Complete') && !has(status, 'SuccessCriteriaMet')) {
    refuseConditions(out, 'cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  }
}

function validateFinished(out: FieldError[], change: Change): void {
  const { status } = change;
  if (!isFinished(status)) return;
  const turnedNow = finishedTurned(change);
  const { active = 0, uncountedTerminatedPods: uncounted } = status;
  if ((turnedNow || changed(change, 'active')) && active > 0) {
    out.push(invalid('status.active', active, 'active>0 is invalid for finished job'));
  }
  if ((turnedNow || changed(change, 'startTime')) && status.startTime === undefined) {
    out.push(required('status.startTime', 'startTime is required for finished job'));
  }
  if (!turnedNow && !changed(change, 'uncountedTerminatedPods')) return;
  if ((uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length > 0) {
    const shown = goValue('batch.UncountedTerminatedPods', uncounted);
    const detail = 'uncountedTerminatedPods needs to be empty for finished job';
    out.push(invalid('status.uncountedTerminatedPods', shown, detail));
  }
}

function validateIndexes(out: FieldError[], change: Change): void {
  const { spec } = change.job;
  const { completedIndexes = '', failedIndexes } = change.status;
  const { completions, backoffLimitPerIndex } = spec;
  const completedNew = changed(change, 'completedIndexes');
  const failedNew = changed(change, 'failedIndexes');
  const refuse = (key: 'completedIndexes' | 'failedIndexes', value: string, detail: string): void => {
    out.push(invalid(`status.${key}`, value, detail));
  };
  const parse = (key: 'completedIndexes' | 'failedIndexes', value: string): void => {
    const problem = countIndexes(value, completions ?? 0);
    if (typeof problem === 'string') refuse(key, value, `error parsing ${key}: ${problem}`);
  };
  if (completedNew && completions !== undefined) parse('completedIndexes', completedIndexes);
  if (failedNew && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined) {
    parse('failedIndexes', failedIndexes);
  }
  if (completedNew && completedIndexes !== '' && spec.completionMode !== 'Indexed') {
    const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    refuse('completedIndexes', completedIndexes, detail);
  }
  if (failedIndexes === undefined) return;
  if (failedNew && backoffLimitPerIndex === undefined) {
    const detail = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    refuse('failedIndexes', failedIndexes, detail);
  }
  if ((!completedNew && !failedNew) || completions === undefined) return;
  const overlap = firstOverlap(completedIndexes, failedIndexes, completions);
  if (overlap === undefined) return;
  refuse('failedIndexes', failedIndexes, `failedIndexes and completedIndexes overlap at index: ${overlap}`);
}

function validateLivePods(out: FieldError[], change: Change): void {
  const { status } = change;
  const { terminating = 0, ready, active = 0 } = status;
  if ((finishedTurned(change) || changed(change, 'terminating')) && terminating > 0 && isFinished(status)) {
    out.push(invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job'));
  }
  if (changed(change, 'ready', 'active') && ready !== undefined && ready > active) {
    out.push(invalid('status.ready', ready, 'cannot set more ready pods than active'));
  }
}

function validateCriteria(out: FieldError[], { job, status }: Change): void {
  const met = has(status, 'SuccessCriteriaMet');
  if (met && has(status, 'Failed')) {
    refuseConditions(out, 'cannot set SuccessCriteriaMet=True and Failed=true conditions');
  }
  if (met && has(status, 'FailureTarget')) {
    refuseConditions(out, 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  }
  if (job.spec.successPolicy !== undefined && !met && has(status, 'Complete')) {
    const detail = 'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True';
    refuseConditions(out, detail);
  }
}

/** Past results cannot be undone. */
function validateHistory(out: FieldError[], change: Change): void {
  const { job, status, old } = change;
  for (const type of ['Failed', 'Complete', 'FailureTarget']) {
    if (has(old, type) && !has(status, type)) {
      refuseConditions(out, `cannot disable the terminal ${type}=True condition`);
    }
  }
  validateCounters(out, change);
  if (status.completionTime !== undefined && old.completionTime !== undefined && changed(change, 'completionTime')) {
    const shown = goInstant(status.completionTime);
    out.push(invalid('status.completionTime', shown, 'completionTime cannot be mutated'));
  }
  // A resumed job starts again.
  const isResumed = has(old, 'Suspended') && !has(status, 'Suspended') && status.startTime !== undefined;
  if (old.startTime !== undefined && changed(change, 'startTime') && job.spec.suspend !== true && !isResumed) {
    out.push(required('status.startTime', 'startTime cannot be removed for unsuspended job'));
  }
  const [met, wasMet] = [has(status, 'SuccessCriteriaMet'), has(old, 'SuccessCriteriaMet')];
  if (wasMet && !met) refuseConditions(out, 'cannot disable the SuccessCriteriaMet=True condition');
  if (has(old, 'Complete') && !wasMet && met) {
    refuseConditions(out, 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
  }
}

function validateCounters(out: FieldError[], { job, status, old }: Change): void {
  const { completionMode, completions, parallelism } = job.spec;
  if ((status.failed ?? 0) < (old.failed ?? 0)) {
    out.push(invalid('status.failed', status.failed ?? 0, 'cannot decrease the failed counter'));
  }
  // An indexed job that runs all indexes in parallel can be scaled down.
  const maySucceedLess = completionMode === 'Indexed' && completions === parallelism;
  if (!maySucceedLess && (status.succeeded ?? 0) < (old.succeeded ?? 0)) {
    out.push(invalid('status.succeeded', status.succeeded ?? 0, 'cannot decrease the succeeded counter'));
  }
}
