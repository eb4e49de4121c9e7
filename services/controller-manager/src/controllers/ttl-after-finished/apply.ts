import { JOBS, type Job } from '@holdfast/api';
import type { ControllerContext } from '../../common/context.ts';
import { targetOf, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { timeToLiveMs } from './decide.ts';

/** Asks the API once more: a life that was made longer a moment ago may not be cut short. */
export async function removeIfDue({ client, clock }: ControllerContext, observed: Job): Promise<void> {
  const job = await client.find(JOBS, targetOf(observed));
  if (job === undefined || uidOf(job) !== uidOf(observed)) return;
  const leftMs = timeToLiveMs(job, clock.now());
  const { resourceVersion } = job.metadata;
  if (leftMs === undefined || leftMs > 0 || resourceVersion === undefined) return;
  const request = { uid: uidOf(job), resourceVersion, propagationPolicy: 'Foreground' } as const;
  await unlessChanged(() => client.delete(JOBS, targetOf(job), request));
}
