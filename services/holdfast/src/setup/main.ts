import { OperatorError } from '@holdfast/platform';
import { describeSettings } from '@holdfast/platform/config';
import { readSetupConfig, SETUP_SETTINGS } from './config.ts';
import { prepareState } from './prepare-state.ts';

try {
  const config = readSetupConfig({ argv: process.argv.slice(2), env: process.env });
  if (config === undefined) process.stdout.write(describeSettings(SETUP_SETTINGS));
  else {
    await prepareState(config, Date.now());
    process.stdout.write(`credentials and configurations are in ${config.stateDirectory}\n`);
  }
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n${error.nextStep}\n`);
  process.exit(error.exitCode);
}
