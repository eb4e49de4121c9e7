import {
  createIds,
  createSilentLog,
  createSystemClock,
  createSystemRandom,
  invariant,
  type Random,
} from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import type { DurableStore } from '@holdfast/store';
import { createLogStore } from '@holdfast/store/log';
import { connect } from 'nats';
import { streamInfo } from '../../../libs/store/src/log/jetstream.ts';
import { logNames } from '../../../libs/store/src/log/layout.ts';
import { readJson } from '../../../libs/store/src/log/monitor.ts';
import { readCurrent } from '../../../libs/store/src/log/open-log.ts';
import { type ForgetfulDisk, startForgetfulDisk } from '../../support/forgetful-disk.ts';
import { LOG_PATIENCE_MS, type LogServers, startLogServers } from '../../support/log-servers.ts';
import { HeldProxy } from './held-proxy.ts';

export const ZONES = [0, 1, 2] as const;
export const anyZone = (random: Random): number => random.int(ZONES.length);

export interface ZonesOptions {
  /** 1 is the negative control: what one server has is lost with it. */
  readonly replicas?: 1 | 3;
  /** The data of each server are on a disk that can be full, slow or protected, and that forgets when it loses its power. */
  readonly forgetful?: boolean;
}

/** What a NATS server says of itself, as far as it is read here. */
interface ServerStanding {
  readonly disabled?: boolean;
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly consumer_detail?: readonly { readonly push_bound?: boolean }[];
    }[];
  }[];
}

/** Three zones on this machine: each has a NATS server and a store, and every way between zones can fall silent. */
export class Zones implements AsyncDisposable {
  readonly servers: LogServers;
  /** That of each zone, where they were asked for. */
  readonly disks: readonly ForgetfulDisk[];
  readonly #routes: readonly HeldProxy[];
  /** By the zone of the store, then by that of the server. */
  readonly #ways: readonly (readonly HeldProxy[])[];
  readonly #replicas: number;
  readonly #ids = createIds(createSystemRandom());
  #name = '';
  #stores: DurableStore[] = [];

  private constructor(parts: {
    readonly servers: LogServers;
    readonly disks: readonly ForgetfulDisk[];
    readonly routes: readonly HeldProxy[];
    readonly ways: readonly (readonly HeldProxy[])[];
    readonly replicas: number;
  }) {
    this.servers = parts.servers;
    this.disks = parts.disks;
    this.#routes = parts.routes;
    this.#ways = parts.ways;
    this.#replicas = parts.replicas;
  }

  static async start({ replicas = 3, forgetful = false }: ZonesOptions = {}): Promise<Zones> {
    const disks: ForgetfulDisk[] = [];
    if (forgetful) for (const _ of ZONES) disks.push(await startForgetfulDisk());
    const routes: HeldProxy[] = [];
    const throughProxy = async (port: number): Promise<number> => {
      const proxy = await HeldProxy.start(port);
      routes.push(proxy);
      return proxy.port;
    };
    const dataIn = forgetful ? (index: number): string => disks[index]?.folder ?? '' : undefined;
    const servers = await startLogServers({ count: 3, routePort: throughProxy, ...(dataIn && { dataIn }) });
    const ports = servers.urls.map((url) => Number(new URL(url).port));
    const ways = await Promise.all(ZONES.map(() => Promise.all(ports.map((port) => HeldProxy.start(port)))));
    return new Zones({ servers, disks, routes, ways, replicas });
  }

  get stores(): readonly DurableStore[] {
    return this.#stores;
  }

  /** Begins an empty log, with a store in each zone. */
  async begin(): Promise<void> {
    this.#name = `Z${this.#ids.suffix(8)}`;
    this.#stores = [];
    for (const zone of ZONES) this.#stores.push(await this.open(zone));
  }

  async end(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    this.#stores = [];
  }

  /** Opens a store of this zone, which asks its own server first. */
  open(zone: number): Promise<DurableStore> {
    const ports = (this.#ways[zone] ?? []).map(({ port }) => `nats://127.0.0.1:${port}`);
    const { monitors, acceptOldServers } = this.servers;
    return createLogStore({
      servers: [...ports.slice(zone), ...ports.slice(0, zone)],
      monitors,
      replicas: this.#replicas,
      allowUnsafe: this.#replicas === 1,
      acceptOldServers,
      name: this.#name,
      clock: createSystemClock(),
      ids: this.#ids,
      log: createSilentLog(),
      startTimeoutMs: LOG_PATIENCE_MS,
    });
  }

  async replaceStore(zone: number): Promise<void> {
    await this.#stores[zone]?.close();
    this.#stores = this.#stores.with(zone, await this.open(zone));
  }

  /** Nothing passes between this zone and the others. */
  cut(zone: number): void {
    for (const [to, proxy] of this.#routes.entries())
      proxy.hold((from) => (to === zone ? from !== `n${zone}` : from === `n${zone}`));
    for (const [from, ways] of this.#ways.entries())
      for (const [to, way] of ways.entries()) way.hold(() => (from === zone) !== (to === zone));
  }

  heal(): void {
    for (const proxy of [...this.#routes, ...this.#ways.flat()]) proxy.hold(() => false);
  }

  /** The leader of the log hands over to another server, in order. */
  async moveLeader(): Promise<void> {
    const connection = await connect({ servers: [...this.servers.urls], timeout: CONNECT_TIMEOUT_MS });
    try {
      const current = await readCurrent(connection, logNames(this.#name));
      invariant(current !== undefined, 'the log has a stream');
      const subject = `$JS.API.STREAM.LEADER.STEPDOWN.${current.stream}`;
      const { error } = (await connection.request(subject, '', { timeout: CONNECT_TIMEOUT_MS })).json<{
        readonly error?: { readonly description: string };
      }>();
      invariant(error === undefined, 'the leader hands over', { error });
    } finally {
      await connection.close();
    }
  }

  /** A zone whose server delivers the log to a store of any zone. */
  async feedingZone(): Promise<number> {
    for (const zone of ZONES) {
      const { account_details: accounts = [] } = await this.#jetStreamOf(zone);
      const streams = accounts.flatMap(({ stream_detail: all = [] }) => all);
      const own = streams.filter(({ name }) => name.startsWith(`${this.#name}_`));
      if (own.some(({ consumer_detail: all = [] }) => all.some((consumer) => consumer.push_bound === true)))
        return zone;
    }
    throw new Error('no server delivers the log');
  }

  /** A server whose disk is full ends its part in the log, and runs on. */
  async isJetStreamOff(zone: number): Promise<boolean> {
    return (await this.#jetStreamOf(zone)).disabled === true;
  }

  /** Resolves with the zone of the log's leader when every replica is current. */
  async whole(): Promise<number> {
    let leader = -1;
    await eventually(
      async () => {
        const standing = await this.#standing();
        leader = standing.leader;
        return standing.isWhole && leader >= 0;
      },
      'the log has a leader and all replicas are current',
      { deadlineMs: WHOLE_WITHIN_MS, pollMs: WHOLE_POLL_MS },
    );
    return leader;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.heal();
    await this.end();
    await this.servers[Symbol.asyncDispose]();
    for (const disk of this.disks) await disk[Symbol.asyncDispose]();
    for (const proxy of [...this.#routes, ...this.#ways.flat()]) await proxy[Symbol.asyncDispose]();
  }

  async #jetStreamOf(zone: number): Promise<ServerStanding> {
    const url = `${this.servers.monitors[zone]}/jsz?accounts=1&streams=1&consumers=1`;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the monitoring address of a NATS server says this
    return (await readJson(createSystemClock(), url)) as ServerStanding;
  }

  async #standing(): Promise<{ readonly leader: number; readonly isWhole: boolean }> {
    const connection = await connect({ servers: [...this.servers.urls], timeout: CONNECT_TIMEOUT_MS });
    try {
      const current = await readCurrent(connection, logNames(this.#name));
      const cluster = (await streamInfo(connection, current?.stream ?? ''))?.cluster ?? {};
      const replicas = Array.isArray(cluster['replicas']) ? cluster['replicas'] : [];
      const isWhole = replicas.every((replica) => replica.current === true && replica.offline !== true);
      const leader = typeof cluster['leader'] === 'string' ? Number(cluster['leader'].slice(1)) : -1;
      return { leader, isWhole: isWhole && replicas.length === this.#replicas - 1 };
    } finally {
      await connection.close();
    }
  }
}

const WHOLE_WITHIN_MS = 120_000;
const WHOLE_POLL_MS = 50;
const CONNECT_TIMEOUT_MS = 2_000;
