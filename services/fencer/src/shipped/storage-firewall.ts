import { isIPv6 } from 'node:net';
import { isJsonObject, type JsonObject, parseJson } from '@holdfast/machinery';
import type { FenceState } from '../agents/port.ts';

/** Runs a program and resolves with its standard output. Rejects unless the exit code is 0. */
export type RunProgram = (command: readonly string[]) => Promise<string>;

const NFT = ['nft'];
const TABLE = 'inet holdfast';
/** A set contains addresses of one family. */
const SETS = { 4: 'fenced', 6: 'fenced6' } as const;
const ADDRESS = /^[0-9a-fA-F.:]+$/;
const ADDRESS_TYPES = new Set(['InternalIP', 'ExternalIP']);

/**
 * Blocks a node at a storage server by address sets in the server's packet filter (nftables). The sets are the agent's
 * memory. `parameters.nft` is the command that reaches the filter: `[ssh, root@storage, nft]`.
 */
export async function answerFor(question: string, run: RunProgram): Promise<string> {
  const asked = parseJson(question).value;
  if (!isJsonObject(asked)) throw new Error('the request is not a JSON object');
  const { action, requestId = '' } = asked;
  const filter = new Filter(isJsonObject(asked['parameters']) ? asked['parameters'] : {}, run);
  const addresses = addressesOf(asked['node']);
  if (action === 'fence') await filter.change('add', addresses);
  if (action === 'unfence') await filter.change('delete', await filter.holds(addresses));
  const held = await filter.holds(addresses);
  const state = stateOf(held.length, addresses.length, action);
  return JSON.stringify({ state, requestId, message: `${held.length} of ${addresses.length} addresses are kept out` });
}

/** A fence is confirmed only when all addresses are blocked, and lifted only when none is. */
function stateOf(held: number, all: number, action: unknown): FenceState {
  if (held === all) return 'fenced';
  return held === 0 || action !== 'unfence' ? 'unfenced' : 'pending';
}

function addressesOf(node: unknown): readonly string[] {
  const listed: unknown = typeof node === 'object' && node !== null ? Reflect.get(node, 'addresses') : undefined;
  const entries: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const found = entries.filter(isJsonObjectLike).flatMap(({ type, address }) => {
    return typeof type === 'string' && ADDRESS_TYPES.has(type) && typeof address === 'string' ? [address] : [];
  });
  const addresses = [...new Set(found.map(canonical))];
  if (addresses.length === 0) throw new Error('the node has no address to block');
  // The addresses become arguments of a command, possibly of a remote shell: accept nothing else.
  const odd = addresses.find((address) => !ADDRESS.test(address));
  if (odd !== undefined) throw new Error(`"${odd}" is not an IP address`);
  return addresses;
}

/** In the notation of the packet filter. */
const canonical = (address: string): string =>
  isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;

const isJsonObjectLike = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

class Filter {
  readonly #nft: readonly string[];
  readonly #table: readonly string[];
  readonly #persist: readonly string[];
  readonly #run: RunProgram;

  constructor(parameters: JsonObject, run: RunProgram) {
    const { table } = parameters;
    this.#nft = wordsOf(parameters['nft'], NFT);
    this.#table = (typeof table === 'string' ? table : TABLE).split(' ');
    this.#persist = wordsOf(parameters['persist'], []);
    this.#run = run;
  }

  async change(verb: 'add' | 'delete', addresses: readonly string[]): Promise<void> {
    for (const [set, members] of bySet(addresses))
      await this.#run([...this.#nft, verb, 'element', ...this.#table, set, '{', members.join(', '), '}']);
    if (addresses.length > 0 && this.#persist.length > 0) await this.#run(this.#persist);
  }

  /** Returns the addresses that the filter reports as blocked. */
  async holds(addresses: readonly string[]): Promise<readonly string[]> {
    const held: string[] = [];
    for (const [set, members] of bySet(addresses)) {
      const text = await this.#run([...this.#nft, '-j', 'list', 'set', ...this.#table, set]);
      const elements = new Set(elementsIn(parseJson(text).value));
      held.push(...members.filter((address) => elements.has(address)));
    }
    return held;
  }
}

function bySet(addresses: readonly string[]): readonly (readonly [set: string, addresses: readonly string[]])[] {
  const six = addresses.filter(isIPv6);
  const four = addresses.filter((address) => !isIPv6(address));
  const all = [
    [SETS[4], four],
    [SETS[6], six],
  ] as const;
  return all.filter(([, members]) => members.length > 0);
}

/** `{"nftables": [{"metainfo": ...}, {"set": {"elem": ["10.0.0.2"]}}]}` */
function elementsIn(listed: unknown): readonly unknown[] {
  const objects: unknown = typeof listed === 'object' && listed !== null ? Reflect.get(listed, 'nftables') : undefined;
  const entries: readonly unknown[] = Array.isArray(objects) ? objects : [];
  const sets = entries
    .filter(isJsonObjectLike)
    .flatMap((entry) => (isJsonObjectLike(entry['set']) ? [entry['set']] : []));
  if (sets.length === 0) throw new Error('the packet filter did not list the set');
  return sets.flatMap(({ elem }) => (Array.isArray(elem) ? (elem as readonly unknown[]) : []));
}

const wordsOf = (value: unknown, fallback: readonly string[]): readonly string[] =>
  Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : fallback;
