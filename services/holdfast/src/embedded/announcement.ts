import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Service } from '@holdfast/platform';
import type { StartConfig } from '../config.ts';
import type { ApiFront } from './control-plane.ts';

/** Publishes the endpoint of the service `kubernetes` once the API has its port. */
export const createAnnouncement = (config: StartConfig, front: ApiFront): Service => ({
  name: 'announcement',
  start: async () => {
    const ip = reachableAddress(config.host);
    if (ip !== undefined) await front.apiServer.announce({ ip, port: front.https.address().port });
  },
  stop: async () => {},
});

/**
 * Returns the listen address, or the machine's own when other machines cannot use that one. Kubernetes chooses in the
 * same way.
 */
function reachableAddress(host: string): string | undefined {
  const isForOthers = isIPv4(host) && host !== '0.0.0.0' && !host.startsWith('127.');
  if (isForOthers) return host;
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}
