import type { KubeObject } from '@holdfast/api';
import { shareParts } from '@holdfast/machinery';
import { RecentMap } from '@holdfast/platform';

/** Owners of whose objects the last one is known. */
const OWNERS_MAX = 256;
/** Larger objects are few. */
const OBJECT_CHARACTERS_MAX = 8_192;

/**
 * Objects of one owner are made of one template: what two of them have in common they share. A pod of a ReplicaSet takes a third less
 * memory for it. Only while values are kept: the text of each stands for itself.
 */
export class Siblings {
  /** The last object of each owner, by kind and uid. */
  readonly #last = new RecentMap<string, KubeObject>(OWNERS_MAX);

  /**
   * Returns `value` with parts of its last sibling, changed in place. To be frozen before anybody else sees it. A frozen
   * value comes from a mould and shares already.
   */
  share(value: KubeObject, characters: number): KubeObject {
    if (Object.isFrozen(value)) return value;
    const owner = value.metadata.ownerReferences?.[0]?.uid;
    if (owner === undefined || characters > OBJECT_CHARACTERS_MAX) return value;
    const family = `${value.kind}/${owner}`;
    const shared = shareParts(value, this.#last.get(family));
    this.#last.set(family, shared);
    return shared;
  }
}

/** Those of this process. */
export const siblings = new Siblings();
