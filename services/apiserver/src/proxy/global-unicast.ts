import { BlockList, isIP } from 'node:net';

/** Addresses that a proxy must not reach even if a user configured them: this machine, its link, and multicast. */
const REFUSED_IPV4 = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'];
const REFUSED_IPV6 = ['::/128', '::1/128', 'fe80::/10', 'fec0::/10', 'ff00::/8'];

/** Forms of IPv6 that lead to an IPv4 address, and how many bytes stand before it. */
const EMBEDDING: readonly (readonly [network: string, bytesBefore: number])[] = [
  ['::ffff:0:0/96', 12],
  ['::ffff:0:0:0/96', 12],
  ['::/96', 12],
  ['64:ff9b::/96', 12],
  ['64:ff9b:1::/48', 12],
  ['2002::/16', 2],
];

const listOf = (networks: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
};

const refusedIpv4 = listOf(REFUSED_IPV4);
const refusedIpv6 = listOf(REFUSED_IPV6);
const embedding = EMBEDDING.map(([network, bytesBefore]) => [listOf([network]), bytesBefore] as const);

/** An address of one machine somewhere else, as Kubernetes asks of the places that it forwards to. */
export function isGlobalUnicast(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !refusedIpv4.check(address, 'ipv4');
  // A zone names a link of this machine.
  if (version !== 6 || address.includes('%')) return false;
  if (refusedIpv6.check(address, 'ipv6')) return false;
  const bytes = bytesOf(address);
  return embedding.every(
    ([list, at]) => !list.check(address, 'ipv6') || isGlobalUnicast(bytes.slice(at, at + 4).join('.')),
  );
}

/** The sixteen bytes of an IPv6 address, however it is written. */
function bytesOf(address: string): readonly number[] {
  // The URL parser writes every form as groups of hexadecimal digits.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')];
  const missing = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array.from({ length: missing }, () => 0), ...after].flatMap((group) => [
    group >> 8,
    group & 0xff,
  ]);
}
