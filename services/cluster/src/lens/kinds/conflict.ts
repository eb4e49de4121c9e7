import { StatusError } from '@holdfast/machinery';
import { type Asked, bodyOf } from '../asked.ts';
import type { LensKind } from '../kind.ts';

export const CONFLICT: LensKind<object> = {
  summary: 'Writes that expect a version of the object are refused with 409',
  isView: false,
  verbs: ['update', 'patch', 'delete'],
  settings: {},
  open: (_settings, { onHit }) => ({
    applies: expectsVersion,
    handle: async (asked) => {
      await onHit(asked);
      throw conflict(asked);
    },
  }),
};

/** A conflict of another write could not happen: it has no precondition. */
function expectsVersion({ request }: Asked): boolean {
  const { metadata, preconditions } = bodyOf(request) ?? {};
  return metadata?.resourceVersion !== undefined || preconditions !== undefined;
}

function conflict({ info, name }: Asked): StatusError {
  const { group, resource } = info;
  const place = `${resource}${group === '' ? '' : `.${group}`} "${name}"`;
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${place}: the object has been modified; please apply your changes to the latest version and try again`,
    details: { name, kind: resource, ...(group === '' ? {} : { group }) },
  });
}
