/** What discovery says of one served kind. */
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
  /** Who deletes one of them is answered with what it was; of other kinds with a `Status`. */
  readonly answersDeleted?: boolean;
  readonly subresources: readonly SubresourceInfo[];
}

export interface SubresourceInfo {
  /** `status`, `scale`, `exec`, ... */
  readonly name: string;
  readonly verbs: readonly string[];
  /** Present when the body is of another kind than the parent's. */
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
}
