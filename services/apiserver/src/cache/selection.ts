import type { KubeObject } from '@holdfast/api';
import type { CachedObject } from './cached-object.ts';

/** What a list or a watch asks for. Parsed once per request; `exact*` let the cache find candidates without scanning. */
export interface Selection {
  /** `undefined` = all namespaces (or a cluster-scoped resource). */
  readonly namespace: string | undefined;
  /** From `metadata.name=...`. */
  readonly exactName: string | undefined;
  /** First `field=value` requirement on an indexed field, such as `spec.nodeName`. */
  readonly exactField: { readonly field: string; readonly value: string } | undefined;
  /** Label and field requirements together; `undefined` when there are none. */
  readonly matches: ((object: KubeObject, state: CachedObject) => boolean) | undefined;
  /** What was found out ahead of some states. */
  readonly verdicts?: ReadonlyMap<CachedObject, boolean> | undefined;
  /**
   * Where fields are those of a version that a webhook converts to: everything else that is asked for. States that this selects have to
   * be converted before `matches` can be asked.
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
