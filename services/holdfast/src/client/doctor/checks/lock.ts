import { existsSync } from 'node:fs';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform';
import { lockDataDirectory } from '../../../embedded/data-directory-lock.ts';
import type { Check } from '../check.ts';
import { type Judgement, ok, problem } from '../finding.ts';

export const DATA_DIRECTORY: Check = {
  name: 'data directory',
  look: async ({ dataDir }) => {
    if (!existsSync(path.join(dataDir, 'lock'))) return ok(`${dataDir} is new`);
    try {
      (await lockDataDirectory(dataDir)).release();
      return ok(`${dataDir} has a cluster that does not run`);
    } catch (error) {
      return judgeLock(dataDir, error);
    }
  },
};

export function judgeLock(directory: string, error: unknown): Judgement {
  if (!(error instanceof OperatorError)) throw error;
  if (error.code === 'DataDirectoryInUse') return ok(`${directory} has a cluster that runs`);
  return problem(error.message, error.nextStep);
}
