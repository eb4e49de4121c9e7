import { type Costs, constantCost, traverses } from '../estimates.ts';
import { STRING_TRAVERSAL_FACTOR } from '../limits.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { add, fixed, scale, UNKNOWN_SIZE } from '../size.ts';
import { BOOL, INT, opaque, STRING } from '../types.ts';
import { EvaluationError, OpaqueValue, sizeOf } from '../values.ts';
import { formatIp, type IpBytes, isMapped, maskIp, parseIp, sameIp } from './ip-address.ts';

export const IP = opaque('net.IP');
export const CIDR = opaque('net.CIDR');

class IpValue extends OpaqueValue {
  readonly opaqueName = 'net.IP';
  readonly bytes: IpBytes;
  constructor(bytes: IpBytes) {
    super();
    this.bytes = bytes;
  }
  override equals(other: OpaqueValue): boolean {
    return other instanceof IpValue && sameIp(this.bytes, other.bytes);
  }
  override get size(): number {
    return this.bytes.length;
  }
}

class CidrValue extends OpaqueValue {
  readonly opaqueName = 'net.CIDR';
  readonly bytes: IpBytes;
  readonly prefix: number;
  constructor(bytes: IpBytes, prefix: number) {
    super();
    this.bytes = bytes;
    this.prefix = prefix;
  }
  override equals(other: OpaqueValue): boolean {
    return other instanceof CidrValue && this.prefix === other.prefix && sameIp(this.bytes, other.bytes);
  }
  override get size(): number {
    return Math.ceil(this.prefix / 8);
  }
  contains(ip: IpBytes): boolean {
    return ip.length === this.bytes.length && sameIp(maskIp(ip, this.prefix), maskIp(this.bytes, this.prefix));
  }
}

const PREFIX = /^(?:0|[1-9]\d{0,2})$/;

function readIp(text: string): IpBytes | undefined {
  const bytes = parseIp(text);
  return bytes === undefined || isMapped(bytes) ? undefined : bytes;
}

function readCidr(text: string): CidrValue | undefined {
  const slash = text.lastIndexOf('/');
  const bytes = slash === -1 ? undefined : readIp(text.slice(0, slash));
  const digits = text.slice(slash + 1);
  if (bytes === undefined || !PREFIX.test(digits) || Number(digits) > bytes.length * 8) return undefined;
  return new CidrValue(bytes, Number(digits));
}

function ipOf(text: string): IpValue {
  const bytes = readIp(text);
  if (bytes !== undefined) return new IpValue(bytes);
  const mapped = parseIp(text) === undefined ? 'unable to parse IP' : 'IPv4-mapped IPv6 address is not allowed';
  throw new EvaluationError(`IP Address ${JSON.stringify(text)} parse error during conversion from string: ${mapped}`);
}

function cidrOf(text: string): CidrValue {
  const cidr = readCidr(text);
  if (cidr !== undefined) return cidr;
  throw new EvaluationError(`network address parse error during conversion from string: ${JSON.stringify(text)}`);
}

function isLoopback({ bytes }: IpValue): boolean {
  return bytes.length === 4 ? bytes[0] === 127 : bytes.slice(0, 15).every((byte) => byte === 0) && bytes[15] === 1;
}
function isLinkLocalMulticast({ bytes }: IpValue): boolean {
  if (bytes.length === 4) return bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0;
  return bytes[0] === 0xff && ((bytes[1] ?? 0) & 0x0f) === 0x02;
}
function isLinkLocalUnicast({ bytes }: IpValue): boolean {
  if (bytes.length === 4) return bytes[0] === 169 && bytes[1] === 254;
  return bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;
}
function isUnspecified({ bytes }: IpValue): boolean {
  return bytes.every((byte) => byte === 0);
}
function isGlobalUnicast(ip: IpValue): boolean {
  const { bytes } = ip;
  const multicast = bytes.length === 4 ? ((bytes[0] ?? 0) & 0xf0) === 0xe0 : bytes[0] === 0xff;
  const broadcast = bytes.length === 4 && bytes.every((byte) => byte === 255);
  return !(multicast || broadcast || isUnspecified(ip) || isLoopback(ip) || isLinkLocalUnicast(ip));
}

const ONE = constantCost(1);
const READS = traverses(0);
const table = new FunctionTable();

table
  .global('ip', 'string_to_ip', signature([STRING], IP), ([text]) => ipOf(text as string), READS)
  .global('isIP', 'is_ip', signature([STRING], BOOL), ([text]) => readIp(text as string) !== undefined, READS)
  .global(
    'ip.isCanonical',
    'ip_is_canonical',
    signature([STRING], BOOL),
    ([text]) => formatIp(ipOf(text as string).bytes) === text,
    traverses(0, 2),
  )
  .global('string', 'ip_to_string', signature([IP], STRING), ([ip]) => formatIp((ip as IpValue).bytes))
  .member('family', 'ip_family', signature([IP], INT), ([ip]) => ((ip as IpValue).bytes.length === 4 ? 4n : 6n), ONE);

const TESTS: readonly (readonly [string, (ip: IpValue) => boolean])[] = [
  ['isUnspecified', isUnspecified],
  ['isLoopback', isLoopback],
  ['isLinkLocalMulticast', isLinkLocalMulticast],
  ['isLinkLocalUnicast', isLinkLocalUnicast],
  ['isGlobalUnicast', isGlobalUnicast],
];
for (const [name, holds] of TESTS) {
  table.member(name, `ip_${name}`, signature([IP], BOOL), ([ip]) => holds(ip as IpValue), ONE);
}

table
  .global('cidr', 'string_to_cidr', signature([STRING], CIDR), ([text]) => cidrOf(text as string), READS)
  .global('isCIDR', 'is_cidr', signature([STRING], BOOL), ([text]) => readCidr(text as string) !== undefined, READS)
  .global('string', 'cidr_to_string', signature([CIDR], STRING), ([cidr]) => cidrText(cidr as CidrValue))
  .member('ip', 'cidr_ip', signature([CIDR], IP), ([cidr]) => new IpValue((cidr as CidrValue).bytes), ONE)
  .member(
    'prefixLength',
    'cidr_prefix_length',
    signature([CIDR], INT),
    ([cidr]) => BigInt((cidr as CidrValue).prefix),
    ONE,
  )
  .member('masked', 'cidr_masked', signature([CIDR], CIDR), ([cidr]) => masked(cidr as CidrValue), ONE)
  .member(
    'containsIP',
    'cidr_contains_ip_ip',
    signature([CIDR, IP], BOOL),
    ([cidr, ip]) => (cidr as CidrValue).contains((ip as IpValue).bytes),
    containment(false, false),
  )
  .member(
    'containsIP',
    'cidr_contains_ip_string',
    signature([CIDR, STRING], BOOL),
    ([cidr, text]) => (cidr as CidrValue).contains(ipOf(text as string).bytes),
    containment(true, false),
  )
  .member(
    'containsCIDR',
    'cidr_contains_cidr',
    signature([CIDR, CIDR], BOOL),
    ([cidr, other]) => containsCidr(cidr as CidrValue, other as CidrValue),
    containment(false, true),
  )
  .member(
    'containsCIDR',
    'cidr_contains_cidr_string',
    signature([CIDR, STRING], BOOL),
    ([cidr, text]) => containsCidr(cidr as CidrValue, cidrOf(text as string)),
    containment(true, true),
  );

function cidrText({ bytes, prefix }: CidrValue): string {
  return `${formatIp(bytes)}/${prefix}`;
}

function masked({ bytes, prefix }: CidrValue): CidrValue {
  return new CidrValue(maskIp(bytes, prefix), prefix);
}

function containsCidr(outer: CidrValue, inner: CidrValue): boolean {
  return outer.prefix <= inner.prefix && outer.contains(maskIp(inner.bytes, inner.prefix));
}

/** Charges the bytes of both operands. Strings are parsed first, networks are masked. */
function containment(parses: boolean, masks: boolean): Costs {
  const addressSize = { min: 4, max: 16 };
  return {
    cost: (args) => {
      const size = sizeOf(args[0] ?? null);
      const parsed = parses ? Math.ceil(sizeOf(args[1] ?? null) * STRING_TRAVERSAL_FACTOR) : 0;
      const mask = masks ? Math.ceil(size * STRING_TRAVERSAL_FACTOR) + 1 : 0;
      return Math.ceil(2 * size * STRING_TRAVERSAL_FACTOR) + parsed + mask;
    },
    estimate: (args) => ({
      cost: add(
        scale(add(addressSize, addressSize), STRING_TRAVERSAL_FACTOR),
        masks ? add(scale(addressSize, STRING_TRAVERSAL_FACTOR), fixed(1)) : fixed(0),
        parses ? scale(args[1]?.size ?? UNKNOWN_SIZE, STRING_TRAVERSAL_FACTOR) : fixed(0),
      ),
    }),
  };
}

export const NETWORK: Functions = table.build();
