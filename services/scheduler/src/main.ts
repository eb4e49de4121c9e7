import { connectComponent, logLevelOf } from '@holdfast/client/component-config';
import { createIds, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import { describeSettings, readSettings } from '@holdfast/platform/config';
import { createPinoLog } from '@holdfast/platform/pino-log';
import { createScheduler } from './app.ts';
import { SCHEDULER_SETTINGS } from './config.ts';

async function main(argv: readonly string[]): Promise<void> {
  if (argv.includes('--help')) {
    process.stdout.write(describeSettings(SCHEDULER_SETTINGS));
    return;
  }
  const settings = readSettings(SCHEDULER_SETTINGS, { argv, env: process.env });
  const clock = createSystemClock();
  const random = createSystemRandom();
  const log = createPinoLog({ level: logLevelOf(settings), service: 'scheduler' });
  const connection = await connectComponent(settings, { clock, log, userAgent: 'holdfast-scheduler' });
  const scheduler = createScheduler({
    client: connection.client,
    bus: connection.bus,
    clock,
    random,
    ids: createIds(random),
    log,
    schedulerName: settings['scheduler-name'],
    leaderElection: settings['leader-elect'],
  });
  const stopped = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.resolve());
  await scheduler.start();
  log.info('the scheduler runs');
  await stopped.promise;
  await scheduler.stop();
  await connection.close();
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n${error.nextStep}\n`);
  process.exitCode = error.exitCode;
}
