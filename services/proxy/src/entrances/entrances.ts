import type { ServicePort } from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import { ENTRANCES_MAX, ENTRANCES_PER_SERVICE_MAX } from '../limits.ts';
import type { ProxyDeps } from '../proxy-deps.ts';
import { ServiceViews } from '../service-views.ts';
import { EndpointChoice, isAllowedSource } from './choice.ts';
import { Connections } from './connections.ts';
import type { Dial, OpenPort, OpenTcpPort, Place } from './port.ts';
import { mayTake } from './shares.ts';

export interface EntrancesDeps extends Pick<ProxyDeps, 'client' | 'bus' | 'clock' | 'random' | 'log'> {
  readonly dial: Dial;
  readonly openTcpPort: OpenTcpPort;
}

/** One port of this machine that leads to a port of a service. */
export interface Entrance {
  readonly service: string;
  readonly port: ServicePort;
  readonly at: Place;
  readonly kind: EntranceKind;
}

/** The address of a load balancer may be closed to most sources. */
export type EntranceKind = 'load balancer' | 'node port';

/** Why a port of this machine is not open. `code` is the error code of the system. */
export interface Closed {
  readonly at: Place;
  readonly code: string;
  readonly reason: string;
}

const idOf = ({ host, port }: Place): string => `${host} ${port}`;

/**
 * Open ports of this machine that lead to services, for clients outside the network of pods. Each connection is carried
 * to an endpoint by this process.
 */
export class Entrances {
  readonly #deps: EntrancesDeps;
  readonly #views: ServiceViews;
  readonly #choice: EndpointChoice;
  readonly #connections: Connections;
  readonly #open = new Map<string, { readonly entrance: Entrance; readonly opened: OpenPort }>();
  #reading: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: EntrancesDeps) {
    this.#deps = deps;
    this.#views = new ServiceViews(deps);
    // Its pods are reached from here on whatever node they run.
    this.#choice = new EndpointChoice({ ...deps, place: { nodeName: undefined } });
    this.#connections = new Connections(deps.dial);
  }

  /** Resolves when the services and their endpoints are read, which begins with the first call. */
  async views(): Promise<ServiceViews> {
    this.#reading ??= this.#views.start().then(() => this.#views.synced());
    await this.#reading;
    return this.#views;
  }

  /** Opens a port. Resolves with why that was not possible. Rejects after the stop: nobody would close the port. */
  async open(entrance: Entrance): Promise<Closed | undefined> {
    const { at } = entrance;
    const known = this.#open.get(idOf(at));
    if (known !== undefined) return this.#reuse(known.entrance, entrance);
    const tooMany = this.#tooMany(entrance.service);
    if (tooMany !== undefined) return { at, code: 'EMFILE', reason: tooMany };
    try {
      await this.views();
      const opened = await this.#deps.openTcpPort(at, (socket) => {
        const current = this.#open.get(idOf(at))?.entrance ?? entrance;
        const to = this.#target(current, socket.remoteAddress ?? '');
        if (to === undefined) socket.resetAndDestroy();
        else void this.#connections.carry(socket, { entrance: idOf(at), namespace: namespaceOf(current.service), to });
      });
      if (!this.#isStopped) {
        this.#open.set(idOf(at), { entrance, opened });
        return undefined;
      }
      await opened.close();
    } catch (error) {
      if (!this.#isStopped) return { at, code: codeOf(error), reason: describeError(error) };
    }
    throw new Error('the ways to services are closed');
  }

  /** Closes the ports of a kind that a service has, but those in `kept`. */
  async close(
    { service, kind }: Pick<Entrance, 'service' | 'kind'>,
    kept: readonly Pick<Entrance, 'at'>[] = [],
  ): Promise<void> {
    const ids = new Set(kept.map(({ at }) => idOf(at)));
    const ended = [...this.#open].filter(
      ([id, { entrance }]) => entrance.service === service && entrance.kind === kind && !ids.has(id),
    );
    for (const [id] of ended) this.#open.delete(id);
    await Promise.all(ended.map(([, { opened }]) => opened.close()));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all([...all.map(({ opened }) => opened.close()), this.#views.stop()]);
  }

  #tooMany(service: string): string | undefined {
    if (this.#open.size >= ENTRANCES_MAX) return `${ENTRANCES_MAX} ports are open`;
    const services = [...this.#open.values()].map(({ entrance }) => entrance.service);
    const own = services.filter((each) => each === service).length;
    if (own >= ENTRANCES_PER_SERVICE_MAX) return `${own} ports of this service are open`;
    const ofNamespace = services.filter((each) => namespaceOf(each) === namespaceOf(service)).length;
    const hasShare = mayTake({ own: ofNamespace, all: this.#open.size, most: ENTRANCES_MAX });
    return hasShare ? undefined : `${ofNamespace} ports of this namespace are open`;
  }

  #reuse(known: Entrance, entrance: Entrance): Closed | undefined {
    const { at } = entrance;
    if (known.service !== entrance.service)
      return { at, code: 'EADDRINUSE', reason: `it leads to the service ${known.service}` };
    const opened = this.#open.get(idOf(at));
    if (opened !== undefined) this.#open.set(idOf(at), { ...opened, entrance });
    return undefined;
  }

  #target({ service, port, kind }: Entrance, client: string): Place | undefined {
    const view = this.#views.view(service);
    if (view === undefined || (kind === 'load balancer' && !isAllowedSource(view.service, client))) return undefined;
    return this.#choice.choose({ view, port, client });
  }
}

const namespaceOf = (service: string): string => service.split('/')[0] ?? '';

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'EUNKNOWN';
