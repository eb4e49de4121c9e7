import { createSilentLog, describeError, type Log, OperatorError, type Service } from '@holdfast/platform';
import { describeSettings } from '@holdfast/platform/config';
import { limitHeap } from '@holdfast/platform/heap';
import { createPinoLog } from '@holdfast/platform/pino-log';
import { APISERVER_SETTINGS, readApiServerConfig } from './config.ts';

limitHeap();
let log: Log = createSilentLog();
let running: Service | undefined;

try {
  const config = readApiServerConfig({ argv: process.argv.slice(2), env: process.env });
  if (config === undefined) process.stdout.write(describeSettings(APISERVER_SETTINGS));
  else {
    log = createPinoLog({ level: config.logLevel, service: 'apiserver' });
    const { startProcess } = await import('./process.ts');
    running = await startProcess(config, log);
  }
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n${error.nextStep}\n`);
  process.exit(error.exitCode);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(signal));

async function stop(signal: string): Promise<void> {
  log.info('stopping', { signal });
  try {
    await running?.stop();
    process.exit(0);
  } catch (error) {
    log.error('the process did not stop cleanly', { error: describeError(error) });
    process.exit(1);
  }
}
