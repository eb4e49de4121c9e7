import type { KubeObject, ResourceRef } from '@holdfast/api';
import { NAMESPACE_PAGE_OBJECTS } from '../limits.ts';
import type { ControllerContext } from './context.ts';

/** Every object of the kind in the namespace, live and page by page. */
export async function listAll<T extends KubeObject>(
  { client }: ControllerContext,
  resource: ResourceRef<T>,
  selection: { readonly namespace: string; readonly labelSelector?: string },
): Promise<readonly T[]> {
  const all: T[] = [];
  let continueToken: string | undefined;
  do {
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
