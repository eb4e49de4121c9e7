import { type FieldError, invalid } from '@holdfast/machinery';
import { cidrContains, parseCidr, parseIp } from './ip.ts';

interface Range {
  readonly cidrs: readonly string[];
  readonly text: string;
}

/** Addresses that mean something only to the node that uses them. */
const RANGES: readonly Range[] = [
  { cidrs: ['127.0.0.0/8', '::1/128'], text: 'may not be in the loopback range (127.0.0.0/8, ::1/128)' },
  { cidrs: ['169.254.0.0/16', 'fe80::/10'], text: 'may not be in the link-local range (169.254.0.0/16, fe80::/10)' },
  {
    cidrs: ['224.0.0.0/24', 'ff02::/16'],
    text: 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  },
];

export function validateNotSpecialIp(out: FieldError[], path: string, text: string): void {
  const ip = parseIp(text);
  if (ip === undefined) {
    out.push(invalid(path, text, 'must be a valid IP address'));
    return;
  }
  if (ip.value === 0n) out.push(invalid(path, text, `may not be unspecified (${text})`));
  const host = { ip, prefix: ip.family === 'IPv4' ? 32 : 128 };
  for (const range of RANGES) {
    const contains = range.cidrs.some((cidr) => {
      const outer = parseCidr(cidr);
      return outer !== undefined && cidrContains(outer, host);
    });
    if (contains) out.push(invalid(path, text, range.text));
  }
}
