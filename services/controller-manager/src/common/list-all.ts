import type { KubeObject, ResourceRef } from '@holdfast/api';
import { NAMESPACE_PAGE_OBJECTS, NAMESPACE_PAGES_MAX } from '../limits.ts';
import type { ControllerContext } from './context.ts';

/** Every object of the kind in the namespace, live and page by page. */
export async function listAll<T extends KubeObject>(
  { client }: ControllerContext,
  resource: ResourceRef<T>,
  selection: { readonly namespace: string; readonly labelSelector?: string },
): Promise<readonly T[]> {
  const all: T[] = [];
  let continueToken: string | undefined;
  let pages = 0;
  do {
    if (++pages > NAMESPACE_PAGES_MAX) throw new Error(`the list of ${resource.plural} does not end`);
    const page = await client.list(resource, {
      ...selection,
      limit: NAMESPACE_PAGE_OBJECTS,
      ...(continueToken === undefined ? {} : { continueToken }),
    });
    all.push(...page.items);
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return all;
}
