import { readFeatures } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { connectComponent, logLevelOf, readSettingFile } from '@holdfast/client/component-config';
import {
  type Clock,
  createIds,
  createSystemClock,
  createSystemRandom,
  OperatorError,
  openTracing,
} from '@holdfast/platform';
import { describeSettings, readSettings, requireSettings } from '@holdfast/platform/config';
import { createPinoLog } from '@holdfast/platform/pino-log';
import { createStatusAccess } from './adapters/status-access.ts';
import { createStatusServer, type StatusServer } from './adapters/status-server.ts';
import { createScheduler, type Scheduler } from './app.ts';
import { SCHEDULER_SETTINGS, type SchedulerSettings } from './config.ts';
import { defaultConfiguration } from './configuration/configuration.ts';
import { readConfigurationFile } from './configuration/read-file.ts';

async function main(argv: readonly string[]): Promise<void> {
  if (argv.includes('--help')) {
    process.stdout.write(describeSettings(SCHEDULER_SETTINGS));
    return;
  }
  const settings = readSettings(SCHEDULER_SETTINGS, { argv, env: process.env });
  const { config: file } = settings;
  const configuration =
    file === undefined ? defaultConfiguration(settings['scheduler-name']) : await readConfigurationFile(file);
  const { podPriority } = readFeatures(settings['feature-gates']);
  const clock = createSystemClock();
  const random = createSystemRandom();
  const log = createPinoLog({ level: logLevelOf(settings), service: 'scheduler' });
  const { tracer, ...tracing } = await openTracing('scheduler', settings['tracing-endpoint']);
  const connection = await connectComponent(settings, { clock, log, userAgent: 'holdfast-scheduler', tracer });
  const scheduler = createScheduler({
    client: connection.client,
    bus: connection.bus,
    clock,
    random,
    ids: createIds(random),
    log,
    tracer,
    configuration,
    leaderElection: settings['leader-elect'] || configuration.leaderElect === true,
    podPriority,
  });
  const status = openStatus(settings, { client: connection.client, clock, scheduler });
  const stopped = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.resolve());
  await status?.start();
  await scheduler.start();
  log.info('the scheduler runs');
  await stopped.promise;
  await scheduler.stop();
  await status?.stop();
  await connection.close();
  await tracing.stop();
}

function openStatus(
  settings: SchedulerSettings,
  { client, clock, scheduler }: { readonly client: ApiClient; readonly clock: Clock; readonly scheduler: Scheduler },
): StatusServer | undefined {
  const { 'status-address': address, 'status-tls-cert-file': certFile, 'status-tls-key-file': keyFile } = settings;
  if (address === undefined) return undefined;
  const tls = certFile === undefined && keyFile === undefined ? undefined : readTls(settings);
  return createStatusServer({ address, source: scheduler, access: createStatusAccess({ client, clock }), tls });
}

/** One without the other is a mistake, and no reason to speak in the clear. */
function readTls(settings: SchedulerSettings): { readonly certificate: string; readonly key: string } {
  const needed = requireSettings(settings, ['status-tls-cert-file', 'status-tls-key-file']);
  return {
    certificate: readSettingFile('status-tls-cert-file', needed['status-tls-cert-file']),
    key: readSettingFile('status-tls-key-file', needed['status-tls-key-file']),
  };
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n${error.nextStep}\n`);
  process.exitCode = error.exitCode;
}
