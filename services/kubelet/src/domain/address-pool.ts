/** IPv4 addresses for the pods of one node, from the node's network. Pure. */
export interface NodeNetwork {
  /** The first number of the network: its own address. */
  readonly base: number;
  readonly size: number;
}

/** `10.244.1.0/24`; `undefined`: not an IPv4 network with room for pods. */
export function readNetwork(text: string): NodeNetwork | undefined {
  const [, address = '', bits = ''] = /^(\d+\.\d+\.\d+\.\d+)\/(\d{1,2})$/.exec(text) ?? [];
  const prefix = Number(bits);
  const parts = address.split('.').map(Number);
  if (parts.some((part) => part > 255) || address === '' || prefix < 8 || prefix > 30) return undefined;
  const value = parts.reduce((sum, part) => sum * 256 + part, 0);
  const size = 2 ** (32 - prefix);
  return { base: value - (value % size), size };
}

export const addressText = (value: number): string =>
  [value / 2 ** 24, value / 2 ** 16, value / 2 ** 8, value].map((part) => Math.floor(part) % 256).join('.');

/** The node's own end of the network, through which its pods reach all others. */
export const gatewayOf = ({ base }: NodeNetwork): string => addressText(base + 1);

/**
 * The next free address after `last`, in turn, so that an address that was freed rests as long as possible. Never the
 * network's own, the gateway's, or the broadcast address. `undefined`: all are in use.
 */
export function nextAddress(
  { base, size }: NodeNetwork,
  isUsed: (address: string) => boolean,
  last: string | undefined,
): string | undefined {
  const first = base + 2;
  const count = size - 3;
  const from = last === undefined ? 0 : (numberOf(last) + 1 - first + count) % count;
  for (let i = 0; i < count; i++) {
    const address = addressText(first + ((from + i) % count));
    if (!isUsed(address)) return address;
  }
  return undefined;
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
