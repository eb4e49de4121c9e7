import type { Pod, PodDisruptionBudget } from '@holdfast/api';
import type { StoredObject } from '@holdfast/store';
import type { Oracle } from '@holdfast/testing';
import { type Commit, objectOf } from '../committed.ts';
import { appOf, isReady } from '../workloads.ts';
import { WEB_MIN_AVAILABLE } from './workloads.ts';

/** A request for a pod that had another label then has ended. */
const SURELY_GUARDED_MS = 20_000;
const BUDGET = 'policy/poddisruptionbudgets/default/web';

/** When an eviction takes a ready pod of `web`, enough others are ready. */
export class BudgetRule implements Oracle {
  readonly name = 'a budget is not overspent';
  readonly #pods = new Map<string, Pod>();
  #minAvailable = WEB_MIN_AVAILABLE;
  /** When ready pods were lost without an eviction. */
  readonly #otherLossesAt: number[] = [];
  readonly #spentUnder = new Map<string, { readonly least: number; readonly countedAtMs: number }>();
  /** Pods for which a disruption was ever taken from the budget. */
  readonly #everSpent = new Set<string>();
  /** When the label that the budget selects was given or taken. */
  readonly #labelledAt = new Map<string, number>();
  #isKnown = false;
  readonly #now: () => number;
  #story: string | undefined;

  constructor(now: () => number = () => 0) {
    this.#now = now;
  }

  /** What was stored before the first commit. */
  startOn(objects: readonly StoredObject[]): void {
    for (const { key, value, revision } of objects)
      this.observe({ revision, operation: { kind: 'create', key, value } });
  }

  observe(commit: Commit): void {
    const { kind, key } = commit.operation;
    if (key === BUDGET && kind !== 'delete') this.#budgetIs(commit);
    if (!key.startsWith('core/pods/')) return;
    const old = this.#pods.get(key);
    if (kind === 'delete') {
      this.#pods.delete(key);
      return;
    }
    const pod = objectOf(commit) as Pod;
    this.#pods.set(key, pod);
    if (old !== undefined && appOf(old) !== appOf(pod)) this.#labelledAt.set(key, this.#now());
    if (old === undefined || appOf(old) !== 'web' || !isReady(old)) return;
    const mark = pod.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
    if (isReady(pod)) return;
    if (pod.metadata.deletionTimestamp === undefined || mark?.reason !== 'EvictionByEvictionAPI') {
      this.#otherLossesAt.push(this.#now());
      return;
    }
    const isSure = this.#now() - (this.#labelledAt.get(key) ?? Number.NEGATIVE_INFINITY) > SURELY_GUARDED_MS;
    if (isSure && this.#isKnown && !this.#everSpent.has(pod.metadata.name ?? ''))
      this.#story ??= `${key} is evicted, and its budget was not asked`;
    const left = [...this.#pods.values()].filter((each) => appOf(each) === 'web' && isReady(each)).length;
    const spent = this.#spentUnder.get(pod.metadata.name ?? '');
    const least = spent?.least ?? this.#minAvailable;
    // Rollouts, users and lost nodes ask no budget, also between the count of the eviction and its deletion.
    const countedAtMs = spent?.countedAtMs ?? commit.askedAtMs ?? this.#now();
    const othersSince = this.#otherLossesAt.filter((atMs) => atMs >= countedAtMs).length;
    if (left + othersSince < least) this.#story ??= `the eviction of ${key} leaves ${left} ready pods of ${least}`;
  }

  /**
   * An eviction is measured by the budget as it was when it was spent. It counts the pods after its request has arrived
   * and before it spends: no transaction spans all pods, so it cannot know who is lost in between.
   */
  #budgetIs(commit: Commit): void {
    const { spec, status } = objectOf(commit) as PodDisruptionBudget;
    this.#minAvailable = Number(spec.minAvailable);
    this.#isKnown = true;
    const spent = Object.keys(status.disruptedPods ?? {});
    for (const pod of this.#spentUnder.keys()) if (!spent.includes(pod)) this.#spentUnder.delete(pod);
    for (const pod of spent)
      if (!this.#spentUnder.has(pod)) {
        this.#everSpent.add(pod);
        const countedAtMs = commit.askedAtMs ?? this.#now();
        this.#spentUnder.set(pod, { least: this.#minAvailable, countedAtMs });
      }
  }

  check(): string | undefined {
    return this.#story;
  }
}
