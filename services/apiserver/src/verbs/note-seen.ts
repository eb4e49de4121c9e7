import type { ResourceDefinition } from '@holdfast/api';
import { resourcePrefix } from '@holdfast/store';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { storedNameOf } from '../objects/stored-object.ts';

/** Notes what is sent to this client: the history shows what a writer had seen. `undefined` without a history. */
export function seenNotes(
  { history }: Core,
  { user, request }: ResourceContext,
  definition: ResourceDefinition,
): ((revision: number) => void) | undefined {
  if (history === undefined) return undefined;
  const seen = history.seen.of(user.name, request.headers['user-agent'] ?? '');
  const { group, plural } = storedNameOf(definition);
  const prefix = resourcePrefix(group, plural);
  return (revision) => seen.note(prefix, revision);
}
