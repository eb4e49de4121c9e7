import { NODE_ROUTES_PROTOCOL as PROTOCOL } from '@holdfast/kubelet/pod-network';
import type { NodeRoute } from './decide-routes.ts';

type Way = Pick<NodeRoute, 'network' | 'via'>;

/**
 * Commands of `ip -batch`: what is new or changed, and what is there and nobody needs. An address of a pod that no node
 * has is nobody's: it must not take the default route. Pure.
 */
export function routeCommands(wanted: readonly Way[], made: readonly Way[], clusterNetwork: string): string {
  const kept = new Set(wanted.map(({ network }) => network));
  const gone = made.filter(({ network }) => !kept.has(network));
  return [
    ...gone.map(({ network }) => `route del ${network} proto ${PROTOCOL}`),
    `route replace unreachable ${clusterNetwork} proto ${PROTOCOL}`,
    ...wanted.map(({ network, via }) => `route replace ${network} via ${via} proto ${PROTOCOL}`),
  ]
    .map((command) => `${command}\n`)
    .join('');
}

/** What `ip route show proto` prints: lines such as `10.244.1.0/24 via 172.18.0.4 dev eth0`. Pure. */
export const readRoutes = (text: string): readonly Way[] =>
  text.split('\n').flatMap((line) => {
    const [, network, via] = /^(\S+\/\d+) via (\S+) /.exec(`${line} `) ?? [];
    return network === undefined || via === undefined ? [] : [{ network, via }];
  });

/** Of `/proc/net/route`: true when the kernel still has every one. Routes go with a link that goes. Pure. */
export function hasRoutes(table: string, wanted: readonly Way[]): boolean {
  const found = new Set(
    table.split('\n').map((line) => {
      const [, destination = '', gateway = '', , , , , mask = ''] = line.trim().split(/\s+/);
      return `${destination}/${mask} ${gateway}`;
    }),
  );
  return wanted.every(({ network, via }) => {
    const [address = '', prefix = ''] = network.split('/');
    return found.has(`${hexadecimal(address)}/${hexadecimal(maskOf(Number(prefix)))} ${hexadecimal(via)}`);
  });
}

/** In the byte order of that file. */
const hexadecimal = (address: string): string =>
  address
    .split('.')
    .toReversed()
    .map((part) => Number(part).toString(16).padStart(2, '0').toUpperCase())
    .join('');

const maskOf = (prefix: number): string =>
  [0, 8, 16, 24].map((from) => 256 - 2 ** (8 - Math.min(8, Math.max(0, prefix - from)))).join('.');
