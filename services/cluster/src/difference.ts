import type { KubeObject } from '@holdfast/api';
import { diffJson } from '@holdfast/apiserver/json-diff';
import type { JsonDifference } from '@holdfast/client/history-documents';
import { parseKey } from '@holdfast/store';
import type { StoreContent } from './state.ts';

/** How one object differs between two states. */
export interface StateDifference {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly object: {
    readonly group: string;
    readonly resource: string;
    readonly namespace?: string;
    readonly name: string;
  };
  /** Present for an object that both states have, unless its contents are not kept. */
  readonly diff?: readonly JsonDifference[];
  /** Only the first differences are shown. */
  readonly diffCut?: true;
}

/** The owners of fields and the version change with every write, and say nothing that the other differences do not. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['/metadata/managedFields', '/metadata/resourceVersion']);
const DIFFERENCES_MAX = 100;

/** What differs between two states, by the keys of the objects. A state of another cluster counts as a later one. */
export function differencesBetween(before: StoreContent, after: StoreContent): readonly StateDifference[] {
  const [old, present] = [valuesOf(before), valuesOf(after)];
  const keys = new Set([...old.keys(), ...present.keys()]);
  return [...keys].toSorted().flatMap((key) => differenceOf(key, old.get(key), present.get(key)));
}

const valuesOf = ({ objects }: StoreContent): ReadonlyMap<string, string> =>
  new Map(objects.map(({ key, value }) => [key, value]));

function differenceOf(key: string, before: string | undefined, after: string | undefined): readonly StateDifference[] {
  if (before === after) return [];
  const { group, resource, namespace, name } = parseKey(key);
  const object = { group, resource, ...(namespace === '' ? {} : { namespace }), name };
  if (before === undefined) return [{ type: 'created', object }];
  if (after === undefined) return [{ type: 'deleted', object }];
  return differenceBetween(object, JSON.parse(before), JSON.parse(after));
}

/** How an object differs that was updated. Its content may be unknown: then only that it was. */
export function differenceBetween(
  object: StateDifference['object'],
  before: unknown,
  after: unknown,
): readonly StateDifference[] {
  if (isUnknown(before) || isUnknown(after)) return [{ type: 'updated', object }];
  const { differences, isCut } = diffJson(before, after, { most: DIFFERENCES_MAX, skip: NOT_COMPARED });
  if (differences.length === 0) return [];
  return [{ type: 'updated', object, diff: differences, ...(isCut ? { diffCut: true } : {}) }];
}

/** The history has no contents of Secrets, and none of a kind that is not served any more. */
const isUnknown = (state: unknown): boolean =>
  state === undefined ||
  (state as KubeObject).metadata.annotations?.['holdfast.io/contents'] === 'left out of the history';
