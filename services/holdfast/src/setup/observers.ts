import path from 'node:path';
import type { SetupConfig } from './config.ts';
import { StateFolder } from './state-folder.ts';

/** Ports of the containers. */
const API_PORT = 6443;
const SCHEDULER_STATUS_PORT = 10_259;
const KUBELET_PORT = 10_250;

/** Writes what Prometheus scrapes, and with which token; it is optional. Each zone has a scheduler. */
export function writeObservers(
  { apiServers, storeServers, nodes, stateDirectory, componentUid }: SetupConfig,
  { caCertificate, token }: { readonly caCertificate: string; readonly token: string },
): void {
  const folder = new StateFolder(path.join(stateDirectory, 'observe'), componentUid);
  const schedulers = storeServers.map((_, i) => (i === 0 ? 'scheduler' : `scheduler-${i + 1}`));
  folder.write('ca.crt', caCertificate);
  folder.write('token', token);
  folder.write('apiservers.json', targets(apiServers, API_PORT));
  folder.write('schedulers.json', targets(schedulers.length === 0 ? ['scheduler'] : schedulers, SCHEDULER_STATUS_PORT));
  folder.write('nodes.json', targets(nodes, KUBELET_PORT));
}

const targets = (names: readonly string[], port: number): string =>
  `${JSON.stringify([{ targets: names.map((name) => `${name}:${port}`) }])}\n`;
