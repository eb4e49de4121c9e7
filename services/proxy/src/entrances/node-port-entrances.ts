import type { Service as KubeService } from '@holdfast/api';
import { keyOf } from '@holdfast/client';
import type { Clock, Log, Service, Timer } from '@holdfast/platform';
import { ENTRANCE_RETRY_MS } from '../limits.ts';
import type { Closed, Entrance, Entrances } from './entrances.ts';

const KIND = 'node port';

export interface NodePortEntrancesDeps {
  readonly entrances: Entrances;
  /** The address of this machine at which node ports are open. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens each node port at one address of this machine. */
export class NodePortEntrances implements Service {
  readonly name = 'node ports';
  readonly #deps: NodePortEntrancesDeps;
  /** Services whose entrances may have changed, in turn. */
  readonly #dirty = new Set<string>();
  /** Ports that could not be opened, by service. Each reason is logged once. */
  readonly #closed = new Map<string, string>();
  #retry: Timer | undefined;
  #running: Promise<void> | undefined;
  #unsubscribe = (): void => {};
  #isStopped = false;

  constructor(deps: NodePortEntrancesDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { services } = await this.#deps.entrances.views();
    this.#unsubscribe = services.onChange(({ key }) => this.#touch(key));
    for (const service of services.list()) this.#touch(keyOf(service));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#retry?.cancel();
    await this.#running;
  }

  #touch(key: string): void {
    this.#dirty.add(key);
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    const { entrances } = this.#deps;
    for (const key of this.#dirty) {
      this.#dirty.delete(key);
      if (this.#isStopped) break;
      const views = await entrances.views();
      await this.#sync(key, views.view(key)?.service);
    }
    this.#running = undefined;
  }

  async #sync(key: string, service: KubeService | undefined): Promise<void> {
    const { entrances, host } = this.#deps;
    const wanted = service === undefined ? [] : entrancesOf(service, host);
    await entrances.close({ service: key, kind: KIND }, wanted);
    const closed: Closed[] = [];
    for (const entrance of wanted) {
      const refused = await entrances.open(entrance);
      if (refused !== undefined) closed.push(refused);
    }
    this.#report(key, closed);
  }

  /** Another program may have a port now and give it back later. */
  #report(key: string, closed: readonly Closed[]): void {
    const text = JSON.stringify(closed);
    const isNew = closed.length > 0 && this.#closed.get(key) !== text;
    if (closed.length === 0) this.#closed.delete(key);
    else this.#closed.set(key, text);
    if (isNew)
      for (const each of closed) this.#deps.log.warn('a node port cannot be opened', { service: key, ...each });
    if (this.#closed.size > 0 && !this.#isStopped)
      this.#retry ??= this.#deps.clock.timer(ENTRANCE_RETRY_MS, () => this.#retryAll());
  }

  #retryAll(): void {
    this.#retry = undefined;
    for (const key of this.#closed.keys()) this.#touch(key);
  }
}

function entrancesOf(service: KubeService, host: string): readonly Entrance[] {
  const { type, ports = [] } = service.spec;
  if (type !== 'NodePort' && type !== 'LoadBalancer') return [];
  return ports.flatMap((port) => {
    const { protocol = 'TCP', nodePort } = port;
    if (protocol !== 'TCP' || nodePort === undefined || nodePort === 0) return [];
    return [{ service: keyOf(service), port, at: { host, port: nodePort }, kind: KIND }];
  });
}
