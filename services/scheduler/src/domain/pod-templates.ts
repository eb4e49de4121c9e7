import type { Pod } from '@holdfast/api';
import { POD_TEMPLATES_MAX } from '../limits.ts';
import { createPodInfo, type PodInfo } from './pod-info.ts';

/** The last pod of each owner: the next one most likely has the same template, so only its name and node must be read. */
export class PodTemplates {
  readonly #latest = new Map<string, PodInfo>();

  infoOf(pod: Pod): PodInfo {
    const { namespace = '', ownerReferences = [] } = pod.metadata;
    const key = ownerReferences[0]?.uid ?? namespace;
    const latest = this.#latest.get(key);
    const info = createPodInfo(pod, latest);
    // Pods that share parsed values keep one copy of them.
    if (latest?.requests !== info.requests) this.#remember(key, info);
    return info;
  }

  #remember(key: string, info: PodInfo): void {
    this.#latest.delete(key);
    this.#latest.set(key, info);
    const [oldest] = this.#latest.keys();
    if (this.#latest.size > POD_TEMPLATES_MAX && oldest !== undefined) this.#latest.delete(oldest);
  }
}
