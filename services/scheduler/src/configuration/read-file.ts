import { readConfigurationFile as readFile } from '@holdfast/client/configuration-file';
import { decodeConfiguration, type SchedulerConfiguration } from './configuration.ts';

/** The file of `--config`, or an OperatorError that names every mistake in it. */
export const readConfigurationFile = (path: string): Promise<SchedulerConfiguration> =>
  readFile(path, {
    what: "the scheduler's configuration",
    nextStep: 'Correct the file; docs/scheduling.md lists what it may hold.',
    decode: decodeConfiguration,
  });
