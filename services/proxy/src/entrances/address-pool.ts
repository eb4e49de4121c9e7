import { type Cidr, canonicalIp, cidrContains, parseCidr, parseIp } from '@holdfast/api';
import { invariant } from '@holdfast/platform/invariant';
import { ADDRESS_ATTEMPTS_MAX } from '../limits.ts';

/** The addresses of one IPv4 network without its first, for load balancers. A network of one address is shared. */
export class AddressPool {
  readonly #network: Cidr;
  readonly #used = new Map<string, string>();
  #next = 0;

  constructor(text: string) {
    const network = parseCidr(text);
    invariant(network?.ip.family === 'IPv4', 'load balancers have IPv4 addresses', { text });
    this.#network = network;
  }

  /** Addresses to try for `owner`: first those that it has or asks for, then free ones in turn. */
  *candidates(owner: string, wanted: readonly (string | undefined)[]): Generator<string> {
    const [held] = [...this.#used].find(([, user]) => user === owner) ?? [];
    for (const text of [held, ...wanted])
      if (text !== undefined && this.#isOwn(text) && this.#isFree(text, owner)) yield text;
    for (let tried = 0; tried < Math.min(this.#size, ADDRESS_ATTEMPTS_MAX); tried++) {
      const address = this.#address(this.#next);
      this.#next = (this.#next + 1) % this.#size;
      if (this.#isFree(address, owner)) yield address;
    }
  }

  take(address: string, owner: string): void {
    this.#used.set(address, owner);
  }

  release(owner: string): void {
    for (const [address, each] of this.#used) if (each === owner) this.#used.delete(address);
  }

  get #size(): number {
    return Math.max(1, 2 ** (32 - this.#network.prefix) - 2);
  }

  #address(index: number): string {
    const value = this.#network.ip.value + BigInt(this.#size === 1 ? 0 : index + 1);
    return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  }

  #isOwn(text: string): boolean {
    const ip = parseIp(text);
    return ip !== undefined && canonicalIp(text) === text && cidrContains(this.#network, { ip, prefix: 32 });
  }

  #isFree(address: string, owner: string): boolean {
    const user = this.#used.get(address);
    return user === undefined || user === owner || this.#size === 1;
  }
}
