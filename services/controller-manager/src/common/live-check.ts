import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ControllerContext } from './context.ts';
import { generationOf, isTerminating, targetOf, uidOf } from './meta.ts';

export interface Observed<T extends KubeObject> {
  readonly resource: ResourceRef<T>;
  readonly object: T;
}

/**
 * The items to start or to delete, or none when the live owner no longer asks for what was observed: a pod that was deleted
 * for a size that somebody has taken back meanwhile is not to be had again, and one that was started for it is too many.
 */
export async function unlessSpecChanged<T extends KubeObject, I>(
  { client }: Pick<ControllerContext, 'client'>,
  { resource, object }: Observed<T>,
  items: readonly I[],
): Promise<readonly I[]> {
  if (items.length === 0) return items;
  const live = await client.find(resource, targetOf(object));
  const isAsObserved =
    live !== undefined &&
    uidOf(live) === uidOf(object) &&
    generationOf(live) === generationOf(object) &&
    isTerminating(live) === isTerminating(object);
  return isAsObserved ? items : [];
}

/** The owner still exists as observed and is not being deleted: it may adopt. */
export async function mayAdopt<T extends KubeObject>(
  { client }: Pick<ControllerContext, 'client'>,
  { resource, object }: Observed<T>,
): Promise<boolean> {
  const live = await client.find(resource, targetOf(object));
  return live !== undefined && uidOf(live) === uidOf(object) && !isTerminating(live);
}
