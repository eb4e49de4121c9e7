import { hostname } from 'node:os';
import { readFeatures } from '@holdfast/api';
import { openComponent } from '@holdfast/client/component-config';
import { type Log, type Service, startAll } from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { healthServers } from '@holdfast/platform/health-server';
import { watchPair } from '@holdfast/platform/pair-watch';
import { readPair } from '@holdfast/platform/setting-files';
import { createStatusAccess, type StatusAccessDeps } from './adapters/status-access.ts';
import { createStatusServer } from './adapters/status-server.ts';
import { createScheduler, type Scheduler } from './app.ts';
import type { SchedulerConfig, SchedulerSettings } from './config.ts';
import { defaultConfiguration } from './configuration/configuration.ts';
import { readConfigurationFile } from './configuration/read-file.ts';

/** The scheduler of one process, with its identity, bus and status address. */
export async function startProcess({ settings }: SchedulerConfig, log: Log): Promise<Service> {
  const { config: file } = settings;
  const configuration =
    file === undefined ? defaultConfiguration(settings['scheduler-name']) : await readConfigurationFile(file);
  const { podPriority } = readFeatures(settings['feature-gates']);
  const { connection, ...tools } = await openComponent(settings, { name: 'scheduler', log });
  const leaderElection = settings['leader-elect'] || configuration.leaderElection.leaderElect === true;
  const scheduler = createScheduler({ ...tools, host: hostname(), configuration, leaderElection, podPriority });
  const servers = await statusServers(settings, { ...tools, scheduler });
  const health = healthServers('scheduler', settings['health-address'], () => scheduler.health());
  return startAll(scheduler.name, [connection, ...servers, scheduler, ...health], tools);
}

async function statusServers(
  settings: SchedulerSettings,
  { scheduler, ...tools }: StatusAccessDeps & { readonly scheduler: Scheduler; readonly log: Log },
): Promise<readonly Service[]> {
  const { 'status-address': address, 'status-tls-cert-file': certFile, 'status-tls-key-file': keyFile } = settings;
  if (address === undefined) return [];
  const tls = certFile === undefined && keyFile === undefined ? undefined : await readTls(settings);
  const server = createStatusServer({ address, source: scheduler, access: createStatusAccess(tools), tls: tls?.pair });
  return tls === undefined ? [server] : [server, watchPair({ ...tls, renew: server.renew, ...tools })];
}

/** One file without the other is a mistake and must not disable TLS. */
async function readTls(settings: SchedulerSettings) {
  const needed = requireSettings(settings, ['status-tls-cert-file', 'status-tls-key-file']);
  const [certFile, keyFile] = [needed['status-tls-cert-file'], needed['status-tls-key-file']];
  return { certFile, keyFile, pair: await readPair(certFile, keyFile) };
}
