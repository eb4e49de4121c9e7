import { JOBS, type Job, PODS, type Pod } from '@holdfast/api';
import { keyOf, revisionOf, targetOf, uidOf } from '../../common/meta.ts';
import { adoptPods, createPod, deletePod, type OwnedPodTools, releasePods } from '../../common/owned-pods.ts';
import { inParallel, slowStart, unlessChanged } from '../../common/writes.ts';
import type { JobDecision } from './decide.ts';
import { withoutTracking, withTracking } from './facts.ts';

export interface JobTools extends OwnedPodTools {
  readonly job: Job;
  /** The status as this process has just stored it. */
  readonly stored: (job: Job) => void;
}

/** Stores the counts first. Nothing is released, started or stopped for a Job that changed since it was observed. */
export async function apply(tools: JobTools, decision: JobDecision): Promise<Error | undefined> {
  const claimError =
    (await adoptPods(tools, decision.adopt, withTracking)) ??
    (await releasePods(tools, decision.release, withoutTracking));
  if (claimError !== undefined) return claimError;
  if (!(await storeStatus(tools, decision))) return undefined;
  const letGoError = await inParallel(decision.letGo, (pod) => letGo(tools, pod));
  const createError = await slowStart(decision.create, (pod) => createPod(tools, pod));
  const deleteError = await inParallel(decision.delete, (pod) => deletePod(tools, pod));
  return letGoError ?? createError ?? deleteError;
}

/** Returns whether the Job is unchanged since it was observed; the write proves it, otherwise a read. */
async function storeStatus(tools: JobTools, decision: JobDecision): Promise<boolean> {
  const { context, job } = tools;
  const { status, events } = decision;
  if (status === undefined) {
    return decision.create.length + decision.delete.length === 0 || isPresent(tools);
  }
  const written = await unlessChanged(() => context.client.updateStatus(JOBS, { ...job, status }));
  if (written === undefined) return false;
  tools.stored(written);
  for (const event of events) context.events.event(job, event);
  return true;
}

async function isPresent({ context, job }: JobTools): Promise<boolean> {
  const live = await context.client.find(JOBS, targetOf(job));
  return live !== undefined && uidOf(live) === uidOf(job) && revisionOf(live) === revisionOf(job);
}

/** A pod that changed meanwhile is met again in its new state; its uid stays in the books until then. */
async function letGo(tools: JobTools, pod: Pod): Promise<void> {
  const updated = await unlessChanged(() => tools.context.client.update(PODS, withoutTracking(pod)));
  if (updated !== undefined) tools.barrier.wrote(keyOf(tools.job), updated);
}
