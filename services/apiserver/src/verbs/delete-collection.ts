import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { readListOptions } from '../http/list-options.ts';
import { DELETE_COLLECTION_PARALLEL } from '../limits.ts';
import { deleteObject } from './delete.ts';
import { readDeleteOptions } from './delete-options.ts';
import { listAnswer, readPage } from './list.ts';

/** Deletes everything the selectors match, object by object, and answers with what there was. */
export async function removeCollection(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const listOptions = readListOptions(core, context.request.query, context.info, definition);
  const { options, dryRun } = readDeleteOptions(context);
  const page = await readPage(core, listOptions, definition, context.user);
  const removeOne = async ({ namespace, name }: CachedObject): Promise<void> => {
    try {
      await deleteObject(core, context, { definition, target: { namespace, name }, options, dryRun });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
  };
  await inParallel(page.objects, removeOne);
  return listAnswer(core, context, definition, page);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += DELETE_COLLECTION_PARALLEL) {
    await Promise.all(items.slice(start, start + DELETE_COLLECTION_PARALLEL).map(work));
  }
}
