import { CRON_JOBS, type CronJob, type CronJobStatus, JOBS, type Job, type ObjectReference } from '@holdfast/api';
import type { EventText } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { isControlledBy, nameOf, revisionOf, targetOf, toTarget, uidOf } from '../../common/meta.ts';
import {
  asError,
  inParallel,
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
  unlessChanged,
} from '../../common/writes.ts';
import { type CronJobDecision, isChanged, withoutActive, withStarted } from './decide.ts';

/** The status records a started job afterwards. If the process dies in between, the job is found by its name. */
export async function apply(context: ControllerContext, cronJob: CronJob, decision: CronJobDecision): Promise<void> {
  for (const event of decision.events) context.events.event(cronJob, event);
  const forgetError = await inParallel(decision.forget, (job) => remove(context, cronJob, referenceOf(job)));
  const { status, startError } = await start(context, cronJob, decision);
  if (isChanged(cronJob, status)) {
    await unlessChanged(() => context.client.updateStatus(CRON_JOBS, { ...cronJob, status }));
  }
  const error = startError ?? forgetError;
  if (error !== undefined) throw error;
}

const referenceOf = (job: Job): ObjectReference => ({
  namespace: job.metadata.namespace ?? '',
  name: nameOf(job),
  uid: uidOf(job),
});

interface Started {
  readonly status: CronJobStatus;
  readonly startError?: Error;
}

async function start(context: ControllerContext, cronJob: CronJob, decision: CronJobDecision): Promise<Started> {
  const { start: wanted, replace, status } = decision;
  if (wanted === undefined || !(await isPresent(context, cronJob))) return { status };
  const replaceError = await inParallel(replace, (reference) => remove(context, cronJob, reference));
  if (replaceError !== undefined) return { status, startError: replaceError };
  const without = withoutActive(status, replace);
  try {
    const job = await createOrFind(context, cronJob, wanted.job);
    return { status: job === undefined ? without : withStarted(without, job, wanted.scheduled) };
  } catch (error) {
    tell(context, cronJob, 'Warning', 'FailedCreate', `Error creating job: ${describeError(error)}`);
    return { status: without, startError: asError(error) };
  }
}

/** A cache that lags behind would start once more what was started, has ended and was cleared away. */
async function isPresent({ client }: ControllerContext, cronJob: CronJob): Promise<boolean> {
  const live = await client.find(CRON_JOBS, targetOf(cronJob));
  return live !== undefined && uidOf(live) === uidOf(cronJob) && revisionOf(live) === revisionOf(cronJob);
}

/** The name may be taken by the Job that an earlier pass started without living to note it. */
async function createOrFind(context: ControllerContext, cronJob: CronJob, job: Job): Promise<Job | undefined> {
  try {
    const created = await context.client.create(JOBS, job);
    tell(context, cronJob, 'Normal', 'SuccessfulCreate', `Created job ${nameOf(created)}`);
    return created;
  } catch (error) {
    if (isNamespaceTerminating(error)) return undefined;
    if (!isAlreadyExists(error)) throw error;
    const holder = await context.client.find(JOBS, targetOf(job));
    return holder !== undefined && isControlledBy(holder, uidOf(cronJob)) ? holder : undefined;
  }
}

async function remove(context: ControllerContext, cronJob: CronJob, reference: ObjectReference): Promise<void> {
  const { namespace = '', name = '', uid } = reference;
  try {
    const request = { propagationPolicy: 'Background', ...(uid === undefined ? {} : { uid }) } as const;
    await context.client.delete(JOBS, toTarget(namespace, name), request);
    tell(context, cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return;
    tell(context, cronJob, 'Warning', 'FailedDelete', `Error deleting job: ${describeError(error)}`);
    throw error;
  }
}

function tell(context: ControllerContext, cronJob: CronJob, ...text: [EventText['type'], string, string]): void {
  const [type, reason, message] = text;
  context.events.event(cronJob, { type, reason, message });
}
