import { describeError } from '@holdfast/platform';
import { hasLock, isDataDirectoryInUse } from '../../../embedded/data-directory-lock.ts';
import type { Check } from '../check.ts';
import { ok, problem } from '../finding.ts';

export const DATA_DIRECTORY: Check = {
  name: 'data directory',
  look: async ({ dataDir }) => {
    if (!hasLock(dataDir)) return ok(`${dataDir} is new`);
    try {
      const isUsed = await isDataDirectoryInUse(dataDir);
      return ok(`${dataDir} has a cluster that ${isUsed ? 'runs' : 'does not run'}`);
    } catch (error) {
      return problem(`${dataDir} cannot be read: ${describeError(error)}`, 'Correct its permissions, or name another.');
    }
  },
};
