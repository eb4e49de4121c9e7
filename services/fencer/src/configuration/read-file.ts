import { readConfigurationFile as readFile } from '@holdfast/client/configuration-file';
import { decodeConfiguration, type FencerConfiguration } from './configuration.ts';

/** The file of `--config`, or an OperatorError that names every mistake in it. */
export const readConfigurationFile = (path: string, graceSeconds?: number): Promise<FencerConfiguration> =>
  readFile(path, {
    what: "the fencer's configuration",
    nextStep: 'Correct the file; docs/fencing.md lists what it may hold.',
    decode: (file) => decodeConfiguration(file, graceSeconds),
  });
