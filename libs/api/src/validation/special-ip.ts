import { type FieldError, invalid } from '@holdfast/machinery';
import { type Cidr, cidrContains, parseCidr, parseIp } from './ip.ts';

interface Range {
  readonly networks: readonly Cidr[];
  readonly text: string;
}

/** Parsed once: a service may have thousands of addresses. */
const range = (cidrs: readonly string[], text: string): Range => ({
  networks: cidrs.flatMap((cidr) => parseCidr(cidr) ?? []),
  text,
});

/** Addresses with a meaning only on their own node. */
const RANGES: readonly Range[] = [
  range(['127.0.0.0/8', '::1/128'], 'may not be in the loopback range (127.0.0.0/8, ::1/128)'),
  range(['169.254.0.0/16', 'fe80::/10'], 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'),
  range(['224.0.0.0/24', 'ff02::/16'], 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'),
];

export function validateNotSpecialIp(out: FieldError[], path: string, text: string): void {
  const ip = parseIp(text);
  if (ip === undefined) {
    out.push(invalid(path, text, 'must be a valid IP address'));
    return;
  }
  if (ip.value === 0n) out.push(invalid(path, text, `may not be unspecified (${text})`));
  const host = { ip, prefix: ip.family === 'IPv4' ? 32 : 128 };
  for (const { networks, text: why } of RANGES) {
    if (networks.some((network) => cidrContains(network, host))) out.push(invalid(path, text, why));
  }
}
