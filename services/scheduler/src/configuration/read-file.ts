import { readConfigurationFile as readFile } from '@holdfast/client/configuration-file';
import { decodeConfiguration, type SchedulerConfiguration } from './configuration.ts';

/** Reads the file of `--config`. Throws an OperatorError that names every mistake. */
export const readConfigurationFile = (path: string): Promise<SchedulerConfiguration> =>
  readFile(path, {
    what: "the scheduler's configuration",
    nextStep: 'Correct the file; docs/scheduling.md lists what it may contain.',
    decode: decodeConfiguration,
  });
