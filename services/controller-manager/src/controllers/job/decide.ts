import { COMPLETION_INDEX_ANNOTATION, type Job, type JobStatus, type Pod } from '@holdfast/api';
import type { EventText } from '@holdfast/client';
import { claim } from '../../common/claim.ts';
import { isControlledBy, isTerminating, uidOf } from '../../common/meta.ts';
import { account } from './accounting.ts';
import { isIndexed } from './facts.ts';
import { pictureOf } from './picture.ts';
import { decideStatus } from './status.ts';
import { deadlineLeftMs, verdictOf } from './verdict.ts';
import { workforce } from './workforce.ts';

export interface JobSnapshot {
  readonly job: Job;
  /** Every pod it controls and every pod of its namespace without a controller. */
  readonly pods: readonly Pod[];
  /** False while the caches do not yet show all that the counts of this Job rest on. */
  readonly caughtUp: boolean;
  /** Uids of pods whose delete got no response: the delete is repeated for them, not sent for other pods. */
  readonly unansweredDeletes: ReadonlySet<string>;
  readonly avoidedNames: ReadonlySet<string>;
}

export interface JobDecision {
  readonly adopt: readonly Pod[];
  readonly release: readonly Pod[];
  /** Store it before anything below; absent when it is stored already. */
  readonly status: JobStatus | undefined;
  readonly events: readonly EventText[];
  /** Pods that are in the books and may lose their finalizer. */
  readonly letGo: readonly Pod[];
  readonly create: readonly Pod[];
  readonly delete: readonly Pod[];
  readonly lookAgainMs: number | undefined;
}

const NOTHING: JobDecision = {
  adopt: [],
  release: [],
  status: undefined,
  events: [],
  letGo: [],
  create: [],
  delete: [],
  lookAgainMs: undefined,
};

export function decide(snapshot: JobSnapshot, now: number): JobDecision {
  const { job, caughtUp, unansweredDeletes, avoidedNames } = snapshot;
  const { owned, adopt } = claim(job, snapshot.pods);
  const counted = new Set(owned);
  // Also for a pod that is being deleted: nothing else would remove its finalizer.
  const release = snapshot.pods.filter((pod) => isControlledBy(pod, uidOf(job)) && !counted.has(pod));
  if (adopt.length + release.length > 0) return { ...NOTHING, adopt, release };
  if (!caughtUp) return { ...NOTHING, delete: owned.filter((pod) => unansweredDeletes.has(uidOf(pod))) };
  const picture = pictureOf(job, inIndexOrder(job, owned), now);
  const verdict = verdictOf(picture);
  const accounts = account(picture, verdict);
  const { status, events } = decideStatus(picture, verdict, accounts);
  const staff = workforce({ picture, verdict, avoidedNames });
  const deadlineMs = verdict === undefined && !isTerminating(job) ? deadlineLeftMs(job, now) : undefined;
  return {
    ...NOTHING,
    status,
    events,
    letGo: accounts.letGo,
    create: staff.create,
    delete: staff.delete,
    lookAgainMs: earliest(staff.lookAgainMs, deadlineMs),
  };
}

/** In an indexed Job the lowest indexes are counted first. */
const inIndexOrder = (job: Job, pods: readonly Pod[]): readonly Pod[] =>
  isIndexed(job) ? [...pods].sort((a, b) => indexText(a) - indexText(b)) : pods;

const indexText = (pod: Pod): number => Number(pod.metadata.annotations?.[COMPLETION_INDEX_ANNOTATION] ?? -1);

function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(0, Math.min(...known));
}
