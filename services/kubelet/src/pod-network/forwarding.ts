import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

const FORWARDS = '/proc/sys/net/ipv4/ip_forward';
const ROUTES = '/proc/net/route';

/** Why this machine does not pass packets on between its networks; '' when it does. */
export function forwardingRefusal(): string {
  try {
    return readFileSync(FORWARDS, 'utf8').trim() === '1'
      ? ''
      : 'this machine does not forward packets (net.ipv4.ip_forward)';
  } catch {
    return 'this machine does not say whether it forwards packets';
  }
}

/** The routes of IPv4 in this machine's main table. */
export const readRouteTable = (): Promise<string> => readFile(ROUTES, 'utf8');
