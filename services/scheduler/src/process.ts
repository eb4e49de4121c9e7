import { hostname } from 'node:os';
import { readFeatures } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { connectComponent, readSettingFile } from '@holdfast/client/component-config';
import {
  type Clock,
  createIds,
  createSystemClock,
  createSystemRandom,
  type Log,
  openTracing,
  type Service,
} from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { createStatusAccess } from './adapters/status-access.ts';
import { createStatusServer, type StatusServer } from './adapters/status-server.ts';
import { createScheduler, type Scheduler } from './app.ts';
import type { SchedulerConfig, SchedulerSettings } from './config.ts';
import { defaultConfiguration } from './configuration/configuration.ts';
import { readConfigurationFile } from './configuration/read-file.ts';

/** The scheduler of one process, with its identity, its bus and its status address. */
export async function startProcess({ settings }: SchedulerConfig, log: Log): Promise<Service> {
  const { config: file } = settings;
  const configuration =
    file === undefined ? defaultConfiguration(settings['scheduler-name']) : await readConfigurationFile(file);
  const { podPriority } = readFeatures(settings['feature-gates']);
  const clock = createSystemClock();
  const random = createSystemRandom();
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
    host: hostname(),
    configuration,
    leaderElection: settings['leader-elect'] || configuration.leaderElect === true,
    podPriority,
  });
  const status = openStatus(settings, { client: connection.client, clock, scheduler });
  await status?.start();
  await scheduler.start();
  return {
    name: scheduler.name,
    start: async () => {},
    stop: async () => {
      await scheduler.stop();
      await status?.stop();
      await connection.close();
      await tracing.stop();
    },
  };
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
