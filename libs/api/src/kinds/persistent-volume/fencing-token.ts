import { type FieldError, invalid } from '@holdfast/machinery';
import type { PersistentVolume } from '../../generated/types.ts';

/** Leaves room for attachments after an administrator raised a token as far as possible. */
export const FENCING_TOKEN_MAX = 2 ** 52;

/**
 * The number of the next attachment of the volume; storage refuses writers with a smaller one than it has seen. It is
 * greater than every earlier number of this object. It is also at least the revision that was read, which is greater
 * than that of any earlier object with the same name: so it grows even when the volume was deleted and created again.
 * `position` is a revision that the store has reached. In a restored or adopted copy objects keep their revisions, and
 * only the store continues above every number that was given after the copy was made.
 */
export function nextFencingToken(
  { metadata, status }: Pick<PersistentVolume, 'metadata' | 'status'>,
  position: number,
): number {
  const revision = Number(metadata.resourceVersion ?? 0);
  const last = status.fencingToken ?? 0;
  return Math.max(last + 1, Number.isSafeInteger(revision) ? revision : 0, position);
}

type Status = PersistentVolume['status'];

/** Another machine got the volume, even if its node has the name of the one before. */
const isOtherAttachment = (next: Status['attachment'], old: Status['attachment']): boolean =>
  next !== undefined && (next.nodeName !== old?.nodeName || next.nodeUID !== old.nodeUID);

/** A writer that does not know the field keeps it. */
export function keepFencingToken(volume: PersistentVolume, { status }: Readonly<PersistentVolume>): void {
  if (status.fencingToken !== undefined) volume.status.fencingToken ??= status.fencingToken;
}

/** No order of writes takes a token back. `mustGrow`: storage counts on a new one with every attachment. */
export function validateFencingToken(
  out: FieldError[],
  { status }: Readonly<PersistentVolume>,
  { old, mustGrow }: { readonly old: Readonly<PersistentVolume>; readonly mustGrow: boolean },
): void {
  const path = 'status.fencingToken';
  const { fencingToken: token } = status;
  const before = old.status.fencingToken ?? 0;
  if (token !== undefined && (token < 0 || token > FENCING_TOKEN_MAX))
    out.push(invalid(path, token, `must be between 0 and ${FENCING_TOKEN_MAX}`));
  else if ((token ?? 0) < before) out.push(invalid(path, token ?? 0, `must not be smaller than before (${before})`));
  else if (mustGrow && (token ?? 0) === before && isOtherAttachment(status.attachment, old.status.attachment))
    out.push(invalid(path, token ?? 0, `must be greater than before (${before}) when the volume is attached`));
}
