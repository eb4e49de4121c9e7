import { inNetworkOf } from '../losses/faults.ts';
import { containerOf } from './containers.ts';
import type { Begin, End } from './users.ts';

/** A table of its own for each kind, so that steps that meet do not end each other. */
const OUTWARD = '{ type filter hook output priority 0 ; }';
const NOT_LOCAL = ['ip', 'daddr', '!=', '127.0.0.0/8'];
const TEN_THOUSAND = 10_000;
/** Behind the headers of IP and TCP and into what they carry, in bits from the end of those of IP. */
const INTO_DATA = '@th,512,8';
const TO_LARGE_ONES = ['meta', 'l4proto', 'tcp', 'ip', 'length', '>', '200'];

const chance = (share: number): readonly string[] => {
  const most = Math.max(1, Math.round(share * TEN_THOUSAND));
  return ['numgen', 'random', 'mod', String(TEN_THOUSAND), '<', String(most)];
};

/** What a container sends meets this rule of nftables. */
const outward =
  (name: string, ruleOf: (value: number) => readonly string[]): Begin =>
  (cluster, { target, value = 0 }) =>
    addRule(containerOf(cluster, target), name, ruleOf(value));

async function addRule(container: string, name: string, rule: readonly string[]): Promise<End> {
  const table = ['ip', `chaos-${name}`];
  const nft = (...command: readonly string[]): Promise<string> => inNetworkOf(container, ['nft', ...command]);
  await nft('add', 'table', ...table);
  await nft('add', 'chain', ...table, 'out', OUTWARD);
  await nft('add', 'rule', ...table, 'out', ...NOT_LOCAL, ...rule);
  return () => nft('delete', 'table', ...table);
}

/** Packets of the second class wait behind each other, and those of the first overtake them. */
const [FIRST, SECOND] = ['1:1', '1:2'];
const CLASSES: readonly (readonly string[])[] = [
  ['qdisc', 'replace', 'root', 'handle', '1:', 'htb', 'default', '1', 'r2q', '1000'],
  ['class', 'replace', 'parent', '1:', 'classid', FIRST, 'htb', 'rate', '1gbit', 'quantum', '60000'],
  ['class', 'replace', 'parent', '1:', 'classid', SECOND, 'htb', 'rate', '1mbit', 'burst', '1600', 'quantum', '1600'],
  // A queue that grows without end would be a slow link.
  ['qdisc', 'replace', 'parent', SECOND, 'pfifo', 'limit', '20'],
];

const reorder: Begin = async (cluster, { target, value = 0 }) => {
  const container = containerOf(cluster, target);
  const devices = await devicesOf(container);
  const tc = (device: string, [object = '', verb = '', ...rest]: readonly string[]): Promise<string> =>
    inNetworkOf(container, ['tc', object, verb, 'dev', device, ...rest]);
  for (const device of devices) for (const command of CLASSES) await tc(device, command);
  const end = await addRule(container, 'reordered', [...chance(value), 'meta', 'priority', 'set', SECOND]);
  return async () => {
    await end();
    for (const device of devices) await tc(device, ['qdisc', 'delete', 'root']);
  };
};

/** Its links to networks. */
async function devicesOf(container: string): Promise<readonly string[]> {
  const links: readonly { readonly ifname: string }[] = JSON.parse(
    await inNetworkOf(container, ['ip', '-json', 'link', 'show', 'type', 'veth']),
  );
  return links.map(({ ifname }) => ifname);
}

/** Faults of packets. Not every kernel has netem; nftables and classes of traffic can do these. */
export const LINK_FAULTS: Readonly<Record<'doubled-link' | 'reordered-link' | 'spoiled-link' | 'narrow-link', Begin>> =
  {
    'doubled-link': outward('doubled', (share) => [...chance(share), 'dup', 'to', 'ip', 'daddr']),
    'reordered-link': reorder,
    // No device between containers looks at checksums, so the other byte arrives.
    'spoiled-link': outward('spoiled', (share) => [...TO_LARGE_ONES, ...chance(share), INTO_DATA, 'set', '0x55']),
    'narrow-link': outward('narrow', (kilobytes) => [
      'limit',
      'rate',
      'over',
      String(kilobytes),
      'kbytes/second',
      'drop',
    ]),
  };
