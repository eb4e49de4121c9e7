import { readConfigurationFile as readFile } from '@holdfast/client/configuration-file';
import { decodeConfiguration, type FencerConfiguration } from './configuration.ts';

/** Reads the file of `--config`. Throws an OperatorError that names every mistake. */
export const readConfigurationFile = (path: string, graceSeconds?: number): Promise<FencerConfiguration> =>
  readFile(path, {
    what: "the fencer's configuration",
    nextStep: 'Correct the file; docs/fencing.md lists what it may contain.',
    decode: (file) => decodeConfiguration(file, graceSeconds),
  });
