/** One served kind in discovery. */
export interface KindInfo {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** Name of its field table: `core.v1.Pod`. */
  readonly struct: string;
  /** True: a delete responds with the deleted object. False: it responds with a `Status`. */
  readonly answersDeleted?: boolean;
  readonly subresources: readonly SubresourceInfo[];
}

export interface SubresourceInfo {
  /** `status`, `scale`, `exec`, ... */
  readonly name: string;
  readonly verbs: readonly string[];
  /** Present when the body has another kind than the parent. */
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
}
