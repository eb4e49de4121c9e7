import { volumeKey } from '@holdfast/client/storage-server';
import { OperatorError } from '@holdfast/platform';
import { describeSettings, readSettings, requireSettings } from '@holdfast/platform/config';
import { readMasterKey } from './master-key.ts';

/** Prints the key of one volume, for the Secret that its PersistentVolume names. */
const SETTINGS = {
  'key-file': { kind: 'file', help: 'master key of the storage server' },
  volume: { kind: 'string', help: 'name of the PersistentVolume' },
  help: { kind: 'boolean', help: 'print this list' },
} as const;

try {
  const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: process.env });
  if (settings.help) process.stdout.write(describeSettings(SETTINGS));
  else {
    const { 'key-file': file, volume } = requireSettings(settings, ['key-file', 'volume']);
    process.stdout.write(`${volumeKey(await readMasterKey(file), volume)}\n`);
  }
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n${error.nextStep}\n`);
  process.exitCode = error.exitCode;
}
