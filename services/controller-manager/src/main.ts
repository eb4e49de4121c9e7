import { createSilentLog, describeError, type Log, OperatorError, type Service } from '@holdfast/platform';
import { describeSettings } from '@holdfast/platform/config';
import { createPinoLog } from '@holdfast/platform/pino-log';
import { CONTROLLER_MANAGER_SETTINGS, readControllerManagerConfig } from './config.ts';
import { startProcess } from './process.ts';

let log: Log = createSilentLog();
let starting: Promise<Service> | undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(signal));

try {
  const config = readControllerManagerConfig({ argv: process.argv.slice(2), env: process.env });
  if (config === undefined) process.stdout.write(describeSettings(CONTROLLER_MANAGER_SETTINGS));
  else {
    log = createPinoLog({ level: config.logLevel, service: 'controller-manager' });
    starting = startProcess(config, log);
    await starting;
    log.info('the controllers are at work');
  }
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n${error.nextStep}\n`);
  process.exit(error.exitCode);
}

/** A signal that comes while the API is not there yet ends the process all the same. */
async function stop(signal: string): Promise<void> {
  log.info('stopping', { signal });
  const exit = setTimeout(() => process.exit(1), 10_000);
  try {
    await (await starting)?.stop();
    clearTimeout(exit);
    process.exit(0);
  } catch (error) {
    log.error('the process did not stop cleanly', { error: describeError(error) });
    process.exit(1);
  }
}
