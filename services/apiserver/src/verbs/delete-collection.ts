import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { readListOptions } from '../http/list-options.ts';
import { DELETE_COLLECTION_PARALLEL } from '../limits.ts';
import { groupVersion } from '../served.ts';
import { deleteObject } from './delete.ts';
import { readDeleteOptions } from './delete-options.ts';
import { listBytes, readPage } from './list.ts';

/** Deletes everything the selectors match, object by object, and answers with what it deleted. */
export async function removeCollection(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const { options, dryRun } = readDeleteOptions(context);
  const listOptions = readListOptions(context.request.query, context.info, definition);
  const page = await readPage(core, listOptions, definition);
  const removeOne = async (object: CachedObject): Promise<CachedObject | undefined> => {
    const target = { namespace: object.namespace, name: object.name };
    try {
      return (await deleteObject(core, context, { definition, target, options, dryRun })).object;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  };
  const deleted = (await inParallel(page.objects, removeOne)).filter((each) => each !== undefined);
  const metadata = { resourceVersion: String(page.revision) };
  const value = {
    kind: `${definition.kind}List`,
    apiVersion: groupVersion(definition),
    metadata,
    items: deleted.map((object) => object.object),
  };
  const body = { kind: 'json', bytes: () => listBytes(definition, deleted, metadata), value: () => value } as const;
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += DELETE_COLLECTION_PARALLEL) {
    const batch = items.slice(start, start + DELETE_COLLECTION_PARALLEL);
    results.push(...(await Promise.all(batch.map(work))));
  }
  return results;
}
