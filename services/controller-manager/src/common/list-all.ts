import type { KubeObject, ResourceRef } from '@holdfast/api';
import { NAMESPACE_PAGE_OBJECTS } from '../limits.ts';
import type { ControllerContext } from './context.ts';

/** Every object of the kind in the namespace, live and page by page. */
export async function listAll(
  { client }: ControllerContext,
  resource: ResourceRef,
  namespace: string,
): Promise<readonly KubeObject[]> {
  const all: KubeObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(resource, {
      namespace,
      limit: NAMESPACE_PAGE_OBJECTS,
      ...(continueToken === undefined ? {} : { continueToken }),
    });
    all.push(...page.items);
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return all;
}
