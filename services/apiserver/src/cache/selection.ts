import type { KubeObject } from '@holdfast/api';
import type { CachedObject } from './cached-object.ts';

/**
 * The selection of a list or a watch. Parsed once per request; `exact*` lets the cache find candidates without a scan.
 */
export interface Selection {
  /** `undefined` = all namespaces (or a cluster-scoped resource). */
  readonly namespace: string | undefined;
  /** From `metadata.name=...`. */
  readonly exactName: string | undefined;
  /** First `field=value` requirement on an indexed field, such as `spec.nodeName`. */
  readonly exactField: { readonly field: string; readonly value: string } | undefined;
  /** Label and field requirements together; `undefined` when there are none. */
  readonly matches: ((object: KubeObject, state: CachedObject) => boolean) | undefined;
  /** Precomputed results for some states. */
  readonly verdicts?: ReadonlyMap<CachedObject, boolean> | undefined;
  /**
   * Set when field requirements need a version from a conversion webhook: all other requirements. States that this
   * selects must be converted before `matches` is called.
   */
  readonly beforeConversion?: Selection | undefined;
}

export function selects(selection: Selection, object: CachedObject): boolean {
  const known = selection.verdicts?.get(object);
  if (known !== undefined) return known;
  if (selection.namespace !== undefined && selection.namespace !== object.namespace) return false;
  if (selection.exactName !== undefined && selection.exactName !== object.name) return false;
  return selection.matches === undefined || selection.matches(object.object, object);
}
