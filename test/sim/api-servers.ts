import { AsyncLocalStorage } from 'node:async_hooks';
import { type ApiServer, createApiServer, type User } from '@holdfast/apiserver';
import { createRelay } from '@holdfast/apiserver/relay';
import type { Bus } from '@holdfast/bus';
import {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  TransportError,
} from '@holdfast/client';
import type { Log, Service } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import {
  createSimulatedTransport,
  type SimulatedMachine,
  type SimulatedNetwork,
  SimulatedProcess,
  type SimulationKernel,
} from '@holdfast/testing';
import type { Commit } from './committed.ts';
import { recordCommits } from './recording-store.ts';

const REQUEST_TIMEOUT_MS = 10_000;
const WATCH_IDLE_TIMEOUT_MS = 90_000;
const BEARER = 'Bearer ';
/** No user has it. */
const EXPIRED = { authorization: `${BEARER}expired` };

/** A party's private view of a store: its own latency and faults. */
export type StoreOf = (store: Store, machine: SimulatedMachine) => Store;

export interface ApiServersOptions {
  readonly kernel: SimulationKernel;
  readonly network: SimulatedNetwork;
  readonly parties: readonly string[];
  readonly hub: Bus;
  readonly tokens: ReadonlyMap<string, User>;
  readonly ownershipRule: 'enforced' | 'off';
  readonly defaultTolerationSeconds?: number | undefined;
  readonly storeOf?: StoreOf | undefined;
  readonly logOf?: ((party: string) => Log) | undefined;
  readonly onCommit: (commit: Commit) => void;
  readonly onWrite?: ((party: string, path: string) => void) | undefined;
  /** Called for every request that a server has answered. */
  readonly onAnswer?: ((answered: Answered) => void) | undefined;
  readonly events?: 'stored' | 'dropped' | undefined;
  /** Parties whose credential has expired. */
  readonly expired?: ReadonlySet<string> | undefined;
  /** The share of requests that a server refuses as too many. */
  readonly busy?: ReadonlyMap<string, number> | undefined;
  /** How many revisions back a watch of a server may begin, where that is less than it remembers. */
  readonly forgetful?: ReadonlyMap<string, number> | undefined;
  /** The data have the objects that every cluster has: a start does not look at each of them again. */
  readonly hasSystemObjects: boolean;
}

export interface Answered {
  readonly by: string;
  readonly method: string;
  readonly path: string;
  /** Absent: the server failed. */
  readonly status?: number;
  /** The document of the answer; absent where it is no document, and where a write was only tried. */
  readonly object?: () => unknown;
}

interface RunningServer {
  readonly store: Store;
  readonly handle: ApiHandler;
  readonly services: readonly Service[];
}

/** One or more API servers over one store, each with its own cache and relay. They crash and restart independently. */
export class ApiServers {
  readonly #options: ApiServersOptions;
  readonly #processes = new Map<string, SimulatedProcess>();
  readonly #running = new Map<string, RunningServer>();
  /** The request that makes the current write. */
  readonly #asking = new AsyncLocalStorage<{ readonly by: string; readonly askedAtMs: number }>();
  #data: Store;
  /** The revision of the last commit. */
  #revision = 0;

  constructor(options: ApiServersOptions, data: Store) {
    this.#options = options;
    this.#data = data;
    for (const party of options.parties) {
      this.#processes.set(party, new SimulatedProcess(options.kernel, party));
      options.network.join(party);
      this.#boot(party);
    }
  }

  /** A way to one server that no network disturbs; absent while it is down. */
  directTo(party: string): ApiHandler | undefined {
    return this.#running.get(party)?.handle;
  }

  /** Without the faults of anybody's way to it. */
  get data(): Store {
    return this.#data;
  }

  /** As the first of them sees it. */
  get store(): Store {
    return this.#running.values().next().value?.store ?? this.#data;
  }

  processOf(party: string): SimulatedProcess | undefined {
    return this.#processes.get(party);
  }

  services(): readonly Service[] {
    return [...this.#running.values()].flatMap(({ services }) => services);
  }

  /** Its memory is gone; what it had sent to the store may have been written. */
  crash(party: string): void {
    this.#processes.get(party)?.crash();
    this.#running.delete(party);
  }

  /** Starts a new one in place of one that crashed. */
  restart(party: string): readonly Service[] {
    return this.#running.has(party) ? [] : this.#boot(party).services;
  }

  /** All of them restart on these data. */
  startOn(data: Store): readonly Service[] {
    this.#data = data;
    this.#running.clear();
    return this.#options.parties.flatMap((party) => this.#boot(party).services);
  }

  /** A client's way to them: to one as long as it answers, then to the next. */
  transportFor(machine: SimulatedMachine, prefers?: number): ApiTransport {
    const { kernel, network, parties, onWrite, events, expired } = this.#options;
    const ways = parties.map((to) =>
      createSimulatedTransport({
        kernel,
        network,
        from: machine.name,
        clock: machine.clock,
        alive: machine.alive,
        to,
        server: () => this.#running.get(to)?.handle,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        watchIdleTimeoutMs: WATCH_IDLE_TIMEOUT_MS,
      }),
    );
    let used = ways.length === 1 ? 0 : (prefers ?? machine.random.int(ways.length));
    return {
      request: async (asked) => {
        const request =
          expired?.has(machine.name) === true ? { ...asked, headers: { ...asked.headers, ...EXPIRED } } : asked;
        if (events === 'dropped' && request.method === 'POST' && request.path.endsWith('/events'))
          return taken(request);
        const way = used;
        try {
          const answer = (ways[way] ?? never(parties)).request(request);
          if (request.method !== 'GET') onWrite?.(machine.name, request.path);
          return await answer;
        } catch (error) {
          if (used === way) used = (way + 1) % ways.length;
          throw error;
        }
      },
      close: () => Promise.resolve(),
    };
  }

  /** A watch that begins before what a busy server remembers. */
  #isForgotten(party: string, { query }: ApiRequest): boolean {
    const kept = this.#options.forgetful?.get(party);
    if (kept === undefined || query.get('watch') !== 'true') return false;
    const from = Number(query.get('resourceVersion'));
    return from > 0 && this.#revision - from > kept;
  }

  #boot(party: string): RunningServer {
    const { kernel, hub, tokens, ownershipRule, defaultTolerationSeconds, storeOf, logOf, onAnswer, hasSystemObjects } =
      this.#options;
    const process = this.#processes.get(party) ?? new SimulatedProcess(kernel, party);
    const machine = process.boot(logOf?.(party));
    const recorded = recordCommits(this.#data, kernel, (commit) => {
      this.#revision = commit.revision;
      this.#options.onCommit({ ...commit, ...(this.#asking.getStore() ?? { by: party }) });
    });
    const store = storeOf?.(recorded, machine) ?? recorded;
    const toleration = defaultTolerationSeconds === undefined ? {} : { defaultTolerationSeconds };
    const settings = { ownershipRule, hasSystemObjects, ...toleration };
    const server: ApiServer = createApiServer({ ...machine, store, tokens, ...settings });
    const relay = createRelay({ ...machine, store, bus: hub, knownState: server.knownState });
    const refusals = kernel.random(`too many for ${party}`);
    const handle: ApiHandler = (request) => {
      const share = this.#options.busy?.get(party) ?? 0;
      if (share > 0 && refusals.float() < share) return Promise.resolve(refused(429, 'TooManyRequests'));
      if (this.#isForgotten(party, request)) return Promise.resolve(refused(410, 'Expired'));
      const by = (request.headers['authorization'] ?? '').slice(BEARER.length);
      const answer = this.#asking.run({ by, askedAtMs: kernel.elapsedMs }, () => server.handle(request));
      if (onAnswer === undefined) return answer;
      const { method, path } = request;
      return answer.then(
        (response) => {
          onAnswer({ by, method, path, ...toldOf(request, response) });
          return response;
        },
        (error: unknown) => {
          onAnswer({ by, method, path });
          throw error;
        },
      );
    };
    const running = { store, handle, services: [server, relay] };
    this.#running.set(party, running);
    return running;
  }
}

function toldOf({ query }: ApiRequest, { status, body }: ApiResponse): Pick<Answered, 'status' | 'object'> {
  return body.kind === 'json' && !query.has('dryRun') ? { status, object: () => body.value() } : { status };
}

/** As if it had been stored. */
function taken({ body = '' }: ApiRequest): ApiResponse {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const bytes = (): Uint8Array => new TextEncoder().encode(text);
  return { status: 201, headers: {}, body: { kind: 'json', bytes, value: () => JSON.parse(text) as unknown } };
}

function refused(code: number, reason: string): ApiResponse {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code };
  const bytes = (): Uint8Array => new TextEncoder().encode(JSON.stringify(status));
  const headers: Record<string, string> = code === 429 ? { 'retry-after': '1' } : {};
  return { status: code, headers, body: { kind: 'json', bytes, value: () => status } };
}

function never(parties: readonly string[]): never {
  throw new TransportError(`none of ${parties.join(', ')} can be asked`);
}
