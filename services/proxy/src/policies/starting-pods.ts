import type { Pod } from '@holdfast/api';

/** A pod whose node has given it an address, before any of its processes runs. */
export interface StartingPod {
  /** The id belongs to the address, not to the pod: a pod that starts anew may have two for a moment. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly address: string;
}

/** The addresses that the nodes of this network have given. They are true before they are in the status of their pods. */
export class StartingPods {
  readonly #byId = new Map<string, StartingPod>();
  readonly #byUid = new Map<string, Set<StartingPod>>();

  add(pod: StartingPod): void {
    this.remove(pod.id);
    this.#byId.set(pod.id, pod);
    const own = this.#byUid.get(pod.uid) ?? new Set();
    this.#byUid.set(pod.uid, own.add(pod));
  }

  /** Returns the pod that had the address. */
  remove(id: string): StartingPod | undefined {
    const pod = this.#byId.get(id);
    if (pod === undefined) return undefined;
    this.#byId.delete(id);
    const own = this.#byUid.get(pod.uid);
    own?.delete(pod);
    if (own?.size === 0) this.#byUid.delete(pod.uid);
    return pod;
  }

  /** The pod with the addresses that its node has given it; without any, as it is. */
  placed(pod: Pod): Pod {
    const given = [...(this.#byUid.get(pod.metadata.uid ?? '') ?? [])].map(({ address }) => ({ ip: address }));
    return given.length === 0 ? pod : { ...pod, status: { ...pod.status, podIPs: given } };
  }
}
