import { isPodFinished, isTerminating, type Pod } from '@holdfast/api';
import type { InformerChange } from '@holdfast/client';
import { type PodInfo, refreshPodInfo } from './domain/pod-info.ts';
import { PodTemplates } from './domain/pod-templates.ts';
import type { SchedulerState } from './scheduler-state.ts';

/** Handles pods of the API: pending ones go to the queue, bound ones to the cache. */
export class SeenPods {
  readonly #state: SchedulerState;
  readonly #templates = new PodTemplates();

  constructor(state: SchedulerState) {
    this.#state = state;
  }

  changed({ object, old }: InformerChange<Pod>): void {
    const before = old?.metadata.uid;
    if (before !== undefined && before !== object?.metadata.uid) this.gone(before);
    if (object !== undefined) this.seen(object, before === object.metadata.uid ? old : undefined);
  }

  seen(pod: Pod, old?: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (isPodFinished(pod)) {
      this.gone(uid);
    } else if ((pod.spec.nodeName ?? '') !== '') {
      this.#state.queue.delete(uid);
      const known = this.#state.cache.placed(uid);
      const info = known === undefined ? this.#templates.infoOf(pod) : refreshPodInfo(known, pod);
      this.#state.endNomination(info, info.nodeName);
      for (const event of this.#state.cache.setPod(info)) this.#state.note(event, info);
    } else if (!this.#state.cache.isPlaced(uid)) this.#waits(pod, old);
  }

  #waits(pod: Pod, old: Pod | undefined): void {
    const uid = pod.metadata.uid ?? '';
    const profile = this.#state.profileOf(pod);
    if (isTerminating(pod) || profile === undefined) {
      this.#waitsNoMore(uid);
      return;
    }
    const known = this.#state.queue.get(uid);
    const info = known === undefined ? this.#templates.infoOf(pod) : refreshPodInfo(known, pod);
    this.#followNomination(info, old);
    const gated = profile.preEnqueue.some(({ call }) => call(info) !== undefined);
    this.#state.causes?.note(uid);
    this.#state.queue.upsert(info, gated, this.#state.deps.clock.monotonic());
    this.#state.wake();
  }

  /** Our own nomination may be newer than the observed status: only a changed status replaces it. */
  #followNomination(pod: PodInfo, old: Pod | undefined): void {
    const nominated = pod.pod.status.nominatedNodeName ?? '';
    const before = old?.status.nominatedNodeName ?? '';
    if (nominated === before) return;
    if (nominated !== '') this.#state.nominate(pod, nominated);
    else if (this.#state.cache.nominationOf(pod) === before) this.#state.nominate(pod, '');
  }

  #waitsNoMore(uid: string): void {
    const pod = this.#state.queue.get(uid);
    this.#state.queue.delete(uid);
    if (pod === undefined) this.#state.cache.nominations.clear(uid);
    else this.#state.nominate(pod, '');
  }

  gone(uid: string): void {
    this.#state.causes?.take(uid);
    this.#waitsNoMore(uid);
    const gone = this.#state.cache.removePod(uid);
    if (gone !== undefined) this.#state.note('pod-removed', gone);
  }
}
