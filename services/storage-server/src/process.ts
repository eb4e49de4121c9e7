import { createSystemClock, type Log, type Service, stopInReverse } from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { watchPair } from '@holdfast/platform/pair-watch';
import { readPair } from '@holdfast/platform/setting-files';
import { createHealthServer } from '@holdfast/platform/status-server';
import { createStorageServer } from './app.ts';
import { openDirectoryBackend } from './backends/directory/directory-backend.ts';
import type { StorageServerConfig, StorageServerSettings } from './config.ts';
import { readMasterKey } from './master-key.ts';

const MIB = 1_048_576;

/** The storage server of one process, with its directory and status address. */
export async function startProcess({ settings }: StorageServerConfig, log: Log): Promise<Service> {
  const { 'key-file': keyFile, 'data-dir': directory } = requireSettings(settings, ['data-dir', 'key-file']);
  const masterKey = await readMasterKey(keyFile);
  const tls = await readTls(settings);
  const { host, port } = settings;
  const clock = createSystemClock();
  const server = createStorageServer({
    host,
    port,
    tls: tls?.pair,
    masterKey,
    connectionsMax: settings['max-connections'],
    volumesMax: settings['max-volumes'],
    volumeBytesMax: settings['volume-size-mib'] * MIB,
    backend: openDirectoryBackend(directory),
    clock,
    log,
  });
  await server.start();
  log.info('volumes are served', { host, port: server.port() });
  const address = settings['status-address'];
  const status =
    address === undefined
      ? []
      : [
          createHealthServer({
            component: 'storage server',
            address,
            source: server,
            unready: 'the server does not listen yet',
          }),
        ];
  const files = tls === undefined ? [] : [watchPair({ ...tls, renew: server.renew, clock, log })];
  for (const each of [...files, ...status]) await each.start();
  return { name: server.name, start: async () => {}, stop: () => stopInReverse([server, ...files, ...status]) };
}

async function readTls(settings: StorageServerSettings) {
  const [certFile, keyFile] = [settings['tls-cert-file'], settings['tls-key-file']];
  if (certFile === undefined || keyFile === undefined) return undefined;
  return { certFile, keyFile, pair: await readPair(certFile, keyFile) };
}
