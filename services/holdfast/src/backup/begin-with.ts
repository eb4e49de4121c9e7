import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { readSnapshotFile } from '@holdfast/cluster/snapshot-file';
import { type Clock, type Ids, type Log, OperatorError, parseTime } from '@holdfast/platform';
import type { TlsClient } from '@holdfast/platform/tls-client';
import { BACKUP_FORMAT, type Revision, type StoreContent } from '@holdfast/store';
import type { AdoptLogOptions } from '@holdfast/store/log';
import { type BackupContent, readBackupFile } from './backup-file.ts';

const HEAD_BYTES = 256;

/** The first objects of a new cluster. */
export interface FirstContent {
  readonly content: StoreContent;
  /** Absent for a snapshot of a test cluster. */
  readonly takenAt?: string;
}

/** The objects of a backup, or of a snapshot of a test cluster. */
export async function readContent(file: string, nowMs: number): Promise<FirstContent> {
  const head = Buffer.alloc(HEAD_BYTES);
  const handle = await open(file).catch((cause: unknown) => {
    throw unreadable(file, cause);
  });
  try {
    await handle.read(head, 0, HEAD_BYTES, 0);
  } finally {
    await handle.close();
  }
  const isBackup = head.toString('utf8').includes(`"${BACKUP_FORMAT}"`);
  if (!isBackup) return { content: (await readSnapshotFile(file)).state };
  const backup = await readBackupFile(file);
  return { content: agedContent(backup, nowMs), takenAt: backup.head.takenAt };
}

/** More than any cluster writes. */
const REVISIONS_PER_MS = 1_000;

/**
 * A backup may be restored twice. The second store has to begin above all that the first one has written meanwhile, and
 * only the time says how much that can be.
 */
export function agedContent(content: BackupContent, nowMs: number): BackupContent {
  const takenAt = parseTime(content.head.takenAt) ?? nowMs;
  const ageMs = Math.ceil(Math.max(0, nowMs - takenAt));
  return { ...content, revision: content.revision + ageMs * REVISIONS_PER_MS };
}

/** Where the objects go. */
export type Target =
  | { readonly kind: 'sqlite'; readonly directory: string }
  | { readonly kind: 'redis'; readonly url: string; readonly tls: TlsClient | undefined }
  | { readonly kind: 'log'; readonly access: LogTarget };

export type LogTarget = Pick<AdoptLogOptions, 'servers' | 'replicas' | 'user' | 'password' | 'tls'>;

/** Puts the objects into an empty store. Resolves with its revision, which is above all of theirs. */
export async function restoreInto(
  target: Target,
  content: StoreContent,
  { clock, ids, log }: { readonly clock: Clock; readonly ids: Ids; readonly log: Log },
): Promise<Revision> {
  if (target.kind === 'redis') {
    const { restoreRedisStore } = await import('@holdfast/store/redis');
    const { url, tls } = target;
    return restoreRedisStore({ url, clock, log, ...(tls === undefined ? {} : { tls }) }, ids.uuid(), content);
  }
  if (target.kind === 'log') {
    const { restoreLogStore } = await import('@holdfast/store/log');
    return restoreLogStore({ ...target.access, clock, ids, log }, ids.uuid(), content);
  }
  const { restoreSqliteStore } = await import('@holdfast/store/sqlite');
  return restoreSqliteStore(target.directory, ids.uuid(), content);
}

export const storeDirectory = (dataDirectory: string): string => path.join(path.resolve(dataDirectory), 'store');

export const hasStore = (dataDirectory: string): boolean =>
  existsSync(path.join(storeDirectory(dataDirectory), 'store.sqlite'));

const unreadable = (file: string, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'BackupUnreadable',
    message: `${file} cannot be read`,
    nextStep: 'Check its path and permissions.',
    exitCode: 2,
    cause,
  });
