import { type Job, jobEnd } from '@holdfast/api/facts';
import { type Finding, quoted } from './finding.ts';
import type { Reader } from './reader.ts';
import {
  blockerOf,
  explainBlocker,
  explainRefusal,
  isUnsettled,
  ownedPods,
  refusalEvent,
  type WorkloadFacts,
} from './workload.ts';

export interface JobFacts extends WorkloadFacts {
  readonly job: Job;
}

export async function observeJob(job: Job, reader: Reader): Promise<JobFacts> {
  const [pods, events] = await Promise.all([ownedPods(job, reader), reader.events(job)]);
  return { job, pods, events, blocker: await blockerOf(pods.find(isUnsettled), reader) };
}

export function explainJob(facts: JobFacts, now: number): Finding {
  const { job, blocker, events } = facts;
  const { spec, status } = job;
  const end = jobEnd(job);
  if (end !== undefined)
    return { rests: `it has ended: ${end.type}${end.message === undefined ? '' : ` (${quoted(end.message)})`}` };
  const { active = 0, failed = 0, succeeded = 0 } = status;
  if (spec.suspend === true) {
    const since = status.conditions?.find(({ type }) => type === 'Suspended')?.lastTransitionTime ?? undefined;
    return { waitsFor: 'it is suspended', endsWhen: 'somebody sets spec.suspend to false', since };
  }
  if (spec.parallelism === 0) return { waitsFor: 'its parallelism is 0', endsWhen: 'somebody raises spec.parallelism' };
  const held = explainBlocker(blocker, 'its pod', now);
  if (held !== undefined) return held;
  if (active > 0) {
    const done = `${succeeded} of ${spec.completions ?? 1} completions are done, ${active} pods run, ${failed} have failed`;
    return { waitsFor: done, endsWhen: 'its pods have succeeded', since: status.startTime ?? undefined };
  }
  return failed > 0 ? backingOff(job, failed) : (explainRefusal(refusalEvent(events)) ?? notBegun());
}

const backingOff = ({ spec }: Job, failed: number): Finding => ({
  waitsFor: `${failed} of its pods have failed (it gives up after ${(spec.backoffLimit ?? 6) + 1}), and the next one is made after a back-off: 10 s after the first failure, twice as long after each further one, at most 6 minutes`,
  endsWhen: 'the back-off is over and a pod succeeds',
});

const notBegun = (): Finding => ({
  waitsFor: 'its controller has not made a pod yet',
  endsWhen: 'the controller manager makes it',
});
