import { JOB_UID_LABEL, type Job, type JobStatus, PODS, type Pod } from '@holdfast/api';
import type { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext } from '../../common/context.ts';
import { canonicalJson } from '../../common/hash.ts';
import { listAll } from '../../common/list-all.ts';
import { isControlledBy, keyOf, namespaceOf, revisionOf, targetOf, uidOf } from '../../common/meta.ts';

/**
 * A pod counts once only if the cache of pods is at least as new as the books of the Job: an older one still shows the finalizer
 * of a pod that has been counted. For books that this process wrote itself the cache barrier sees to that. Books that another
 * process wrote (one before a restart, a second manager) are compared with the API once, and what the cache lacks is awaited.
 */
export class Freshness {
  readonly #known = new Map<string, string>();
  readonly #context: ControllerContext;
  readonly #barrier: CacheBarrier;

  constructor(context: ControllerContext, barrier: CacheBarrier) {
    this.#context = context;
    this.#barrier = barrier;
  }

  /** The books of this Job rest on what the barrier knows of. */
  wrote(job: Job): void {
    this.#known.set(keyOf(job), booksOf(job));
  }

  async ensure(job: Job): Promise<void> {
    const key = keyOf(job);
    const books = booksOf(job);
    if (!hasCounts(job.status) || this.#known.get(key) === books) return;
    const live = new Map((await this.#livePods(job)).map((pod) => [uidOf(pod), pod]));
    const cache = this.#context.informers.of(PODS);
    for (const pod of live.values()) {
      const cached = cache.get(targetOf(pod));
      if (cached === undefined || revisionOf(cached) < revisionOf(pod)) this.#barrier.wrote(key, pod);
    }
    for (const pod of cache.byIndex('controller', uidOf(job))) {
      if (!live.has(uidOf(pod))) this.#barrier.gone(key, pod, this.#context.clock.monotonic());
    }
    this.#known.set(key, books);
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  async #livePods(job: Job): Promise<readonly Pod[]> {
    const selection = {
      namespace: namespaceOf(job),
      ...(job.spec.manualSelector === true ? {} : { labelSelector: `${JOB_UID_LABEL}=${uidOf(job)}` }),
    };
    const pods = await listAll(this.#context, PODS, selection);
    return pods.filter((pod) => isControlledBy(pod, uidOf(job)));
  }
}

const hasCounts = ({ succeeded, failed, completedIndexes, uncountedTerminatedPods }: JobStatus): boolean =>
  (succeeded ?? 0) + (failed ?? 0) > 0 ||
  (completedIndexes ?? '') !== '' ||
  (uncountedTerminatedPods?.succeeded ?? []).length + (uncountedTerminatedPods?.failed ?? []).length > 0;

const booksOf = ({ metadata, status }: Job): string =>
  canonicalJson([
    metadata.uid,
    status.succeeded ?? 0,
    status.failed ?? 0,
    status.completedIndexes,
    uncountedOf(status),
  ]);

const uncountedOf = ({ uncountedTerminatedPods: uncounted }: JobStatus): unknown => [
  uncounted?.succeeded ?? [],
  uncounted?.failed ?? [],
];
