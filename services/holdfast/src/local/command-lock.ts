import { existsSync, mkdirSync } from 'node:fs';
import { OperatorError } from '@holdfast/platform';
import { lockDataDirectory } from '../embedded/data-directory-lock.ts';
import type { ClusterHome } from './cluster-home.ts';

/** One command at a time changes a cluster. The system releases the lock when this process ends. */
export async function withClusterLock<T>(home: ClusterHome, run: () => Promise<T>): Promise<T> {
  if (!existsSync(home.folder)) mkdirSync(home.folder, { recursive: true, mode: 0o700 });
  const lock = await lockDataDirectory(home.folder).catch((error: unknown) => {
    throw isBusy(error) ? busy(home, error) : error;
  });
  try {
    return await run();
  } finally {
    lock.release();
  }
}

const isBusy = (error: unknown): boolean => error instanceof OperatorError && error.code === 'DataDirectoryInUse';

const busy = (home: ClusterHome, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'ClusterBusy',
    message: `another command starts or ends the cluster "${home.name}"`,
    nextStep: 'Wait until it is done, then try again.',
    cause,
  });
