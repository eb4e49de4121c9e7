import { PLACEMENT_API, type PlacementReport } from '@holdfast/client/why';
import { formatTime, RecentMap } from '@holdfast/platform';
import type { PodInfo } from './domain/pod-info.ts';
import { cut, type RefusedNodes } from './domain/refused-nodes.ts';
import { REFUSALS_KEPT_MAX, REFUSED_MESSAGE_LENGTH_MAX } from './limits.ts';

interface Kept {
  readonly atMs: number;
  readonly message: string;
  readonly why: RefusedNodes;
}

/** The last refusals of pods, for people who ask why a pod has no node. */
export class Refusals {
  readonly #byUid = new RecentMap<string, Kept>(REFUSALS_KEPT_MAX);

  note({ uid }: PodInfo, atMs: number, told: { readonly message: string; readonly why: RefusedNodes }): void {
    this.#byUid.set(uid, { atMs, ...told });
  }

  /** The caller passes a pod that still waits: what is kept of others is not told. */
  reportOf({ uid, namespace, name }: PodInfo): PlacementReport | undefined {
    const kept = this.#byUid.get(uid);
    if (kept === undefined) return undefined;
    const { atMs, message, why } = kept;
    return {
      kind: 'PlacementReport',
      apiVersion: PLACEMENT_API,
      pod: { namespace, name, uid },
      decidedAt: formatTime(atMs),
      message: cut(message, REFUSED_MESSAGE_LENGTH_MAX),
      nodesTotal: why.total,
      nodes: why.nodes,
      rest: why.rest,
    };
  }
}
