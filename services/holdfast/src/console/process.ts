import { createSystemClock, type Log, opened, type Service, startAll } from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { healthServers } from '@holdfast/platform/health-server';
import { watchPair } from '@holdfast/platform/pair-watch';
import { readAuthority, readPair } from '@holdfast/platform/setting-files';
import type { ConsoleConfig } from './config.ts';
import { createConsoleServer } from './server.ts';

/** The console as a process of its own: it has a certificate and no credential, so it may do what its users may do. */
export async function startProcess({ settings }: ConsoleConfig, log: Log): Promise<Service> {
  const needed = requireSettings(settings, ['api-servers', 'ca-file', 'tls-cert-file', 'tls-key-file']);
  const clock = createSystemClock();
  const [certFile, keyFile] = [needed['tls-cert-file'], needed['tls-key-file']];
  const [caPem, tls] = await Promise.all([readAuthority(needed['ca-file']), readPair(certFile, keyFile)]);
  const { host, port, 'scheduler-status': schedulerStatus } = settings;
  const servers = needed['api-servers'];
  const console = await createConsoleServer({ servers, schedulerStatus, caPem, tls, host, port, clock, log });
  const services = [
    opened('upstream', () => console.closeUpstream()),
    console.https,
    watchPair({ certFile, keyFile, pair: tls, renew: console.https.renew, clock, log }),
    ...healthServers('console', settings['health-address'], () => []),
  ];
  const running = await startAll('console-process', services, { clock, log });
  log.info('the console is served', console.https.address());
  return running;
}
