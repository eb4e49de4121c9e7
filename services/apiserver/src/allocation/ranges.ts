import { OperatorError } from '@holdfast/platform';

/** Numbers that services may hold, first and last included. */
export interface Range {
  readonly first: number;
  readonly last: number;
  /** The lower end is left to people who name a value themselves, for as long as the rest is not used up. */
  readonly reserved: number;
  /** In the operator's notation. */
  readonly text: string;
}

export const NODE_PORTS: Range = { first: 30_000, last: 32_767, reserved: 86, text: '30000-32767' };

export const DEFAULT_SERVICE_NETWORK = '10.96.0.0/12';

/** The addresses of an IPv4 network without its own and the broadcast address. */
export function addressRange(network: string): Range {
  const [address = '', bits = ''] = network.split('/');
  const base = addressNumber(address);
  const prefix = /^\d+$/.test(bits) ? Number(bits) : -1;
  if (base === undefined || prefix < 8 || prefix > 30) throw badNetwork(network);
  const size = 2 ** (32 - prefix);
  const start = base - (base % size);
  const reserved = Math.min(Math.max(16, Math.floor(size / 16)), 256);
  const text = `${addressText(start)}/${prefix}`;
  return { first: start + 1, last: start + size - 2, reserved: reserved < size / 2 ? reserved : 0, text };
}

export const isWithin = (range: Range, value: number): boolean => value >= range.first && value <= range.last;

/** All values, from a place in the unreserved part on; then the reserved part. */
export function* valuesFrom(range: Range, place: number): Generator<number> {
  const open = range.first + range.reserved;
  const count = range.last - open + 1;
  for (let i = 0; i < count; i++) yield open + ((place + i) % count);
  for (let value = range.first; value < open; value++) yield value;
}

export function addressNumber(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255))
    return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

export const addressText = (value: number): string =>
  [value / 2 ** 24, value / 2 ** 16, value / 2 ** 8, value].map((part) => Math.floor(part) % 256).join('.');

const badNetwork = (network: string): OperatorError =>
  new OperatorError({
    code: 'BadServiceNetwork',
    message: `The network of services is an IPv4 network between /8 and /30, not "${network}".`,
    nextStep: `Give one such as ${DEFAULT_SERVICE_NETWORK}.`,
    exitCode: 2,
  });
