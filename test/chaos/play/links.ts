import { inNetworkOf } from '../losses/faults.ts';
import { containerOf } from './containers.ts';
import type { Begin } from './users.ts';

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
  async (cluster, { target, value = 0 }) => {
    const container = containerOf(cluster, target);
    const table = ['ip', `chaos-${name}`];
    const nft = (...command: readonly string[]): Promise<void> => inNetworkOf(container, ['nft', ...command]);
    await nft('add', 'table', ...table);
    await nft('add', 'chain', ...table, 'out', OUTWARD);
    await nft('add', 'rule', ...table, 'out', ...NOT_LOCAL, ...ruleOf(value));
    return () => nft('delete', 'table', ...table);
  };

/** Faults of packets. Not every kernel has netem; nftables can do these. */
export const LINK_FAULTS: Readonly<Record<'doubled-link' | 'spoiled-link' | 'narrow-link', Begin>> = {
  'doubled-link': outward('doubled', (share) => [...chance(share), 'dup', 'to', 'ip', 'daddr']),
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
