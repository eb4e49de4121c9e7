import type { KubeObject } from '@holdfast/api';
import { parseFieldSelector, parseLabelSelector } from '@holdfast/machinery';
import type { ListSelection } from '../port.ts';

/** Applies the server's selection to messages of the bus, which has channels but no selectors. */
export function compileSelection(selection: ListSelection): (object: KubeObject) => boolean {
  const labels = selection.labelSelector === undefined ? undefined : parseLabelSelector(selection.labelSelector);
  const fields = selection.fieldSelector === undefined ? undefined : parseFieldSelector(selection.fieldSelector);
  return (object) =>
    (selection.namespace === undefined || object.metadata.namespace === selection.namespace) &&
    (labels === undefined || labels.matches(object.metadata.labels)) &&
    (fields === undefined || fields.matches((field) => textAt(object, field)));
}

/** Selectable fields are paths into the object. An absent field compares as the empty string. */
function textAt(object: KubeObject, path: string): string {
  let at: unknown = object;
  for (const step of path.split('.')) at = typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined;
  return typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean' ? String(at) : '';
}
