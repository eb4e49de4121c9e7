import type { Pod } from '@holdfast/api';
import type { Oracle } from '@holdfast/testing';
import type { Commit } from '../committed.ts';
import { appOf, isReady } from '../workloads.ts';
import { WEB_MIN_AVAILABLE } from './workloads.ts';

/** When an eviction takes a ready pod of `web`, enough others are ready. */
export class BudgetRule implements Oracle {
  readonly name = 'a budget is not overspent';
  readonly #pods = new Map<string, Pod>();
  #story: string | undefined;

  observe({ operation: { kind, key, value } }: Commit): void {
    if (!key.startsWith('core/pods/')) return;
    const old = this.#pods.get(key);
    if (kind === 'delete') {
      this.#pods.delete(key);
      return;
    }
    const pod = JSON.parse(value) as Pod;
    this.#pods.set(key, pod);
    if (old === undefined || appOf(old) !== 'web' || !isReady(old)) return;
    const mark = pod.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
    if (pod.metadata.deletionTimestamp === undefined || mark?.reason !== 'EvictionByEvictionAPI') return;
    const left = [...this.#pods.values()].filter((each) => appOf(each) === 'web' && isReady(each)).length;
    if (left < WEB_MIN_AVAILABLE)
      this.#story ??= `the eviction of ${key} leaves ${left} ready pods of ${WEB_MIN_AVAILABLE}`;
  }

  check(): string | undefined {
    return this.#story;
  }
}
