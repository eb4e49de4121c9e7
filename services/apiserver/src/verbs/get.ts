import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { catchUp } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { readResourceVersion } from '../http/list-options.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { waitForRevision } from '../http/wait-for-revision.ts';
import { convertAhead } from '../kinds/conversion.ts';
import { keyOf } from '../objects/object-keys.ts';
import { asServed } from '../objects/stored-object.ts';
import { yamlAnswer } from './long-lists.ts';
import { seenNotes } from './note-seen.ts';
import { missing } from './write-results.ts';

export async function get(core: Core, context: ResourceContext, definition: ResourceDefinition): Promise<ApiResponse> {
  const { namespace, name } = context.info;
  const { query } = context.request;
  const notOlderThan = query.size === 0 ? undefined : readResourceVersion(query.get('resourceVersion'));
  if (notOlderThan === undefined) await catchUp(core);
  else await waitForRevision(core, notOlderThan);
  const object = core.cache.byKey(keyOf(definition, namespace, name));
  if (object === undefined) throw missing(definition, name);
  seenNotes(core, context, definition)?.(object.revision);
  const converting = convertAhead(core, definition, [object]);
  if (converting !== undefined) await converting;
  const { shape, encoding } = context.representation;
  if (shape === 'object' && encoding === 'yaml') return yamlAnswer(core, context, asServed(definition, object));
  return objectAnswer(core, context, definition, { status: 200, object: asServed(definition, object) });
}
