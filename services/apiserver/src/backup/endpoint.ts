import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { backupLines } from '@holdfast/store';
import type { User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import { methodNotAllowed } from '../http/refusals.ts';
import { BACKUP_PIECE_CHARACTERS } from '../limits.ts';

/** For administrators: no role of Kubernetes but `cluster-admin` names it. */
export const BACKUP_PATH = '/holdfast.io/backup/v1';

/** All objects of the store at one revision, secrets included, as lines of JSON. */
export async function answerBackup(
  { store, clock, turns }: Core,
  { request, user }: { readonly request: ApiRequest; readonly user: User },
): Promise<ApiResponse> {
  if (request.method !== 'GET') throw methodNotAllowed();
  const { objects, revision } = await store.list('');
  // A list leaves out what cannot be decrypted. A backup must not.
  const count = store.atRest?.unreadableCount() ?? 0;
  if (count > 0) throw incomplete(count);
  const lines = backupLines({ objects, revision }, formatTime(clock.now()));
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson' },
    body: { kind: 'stream', chunks: inPieces(lines, () => turns.goOn(user)) },
  };
}

/** Other work runs between pieces. */
async function* inPieces(lines: Iterable<string>, goOn: () => Promise<void> | undefined): AsyncGenerator<Uint8Array> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length < BACKUP_PIECE_CHARACTERS) continue;
    yield Buffer.from(piece);
    piece = '';
    await goOn();
  }
  yield Buffer.from(piece);
}

const incomplete = (count: number): StatusError =>
  new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `there is no backup: ${count} objects cannot be decrypted; restore their keys, or delete them`,
  });
