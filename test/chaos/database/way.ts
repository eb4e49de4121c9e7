import { connect, type NatsConnection } from 'nats';
import { addressesOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { nodesOf } from '../support/compose-form.ts';
import { CLIENT_PORTS } from './members.ts';

const CONNECT_MS = 1_000;

/** A connection to some member that answers. */
export class Way implements AsyncDisposable {
  readonly #cluster: ComposeCluster;
  #connection: NatsConnection | undefined;
  /** The next attempt begins behind this address. */
  #last = '';

  constructor(cluster: ComposeCluster) {
    this.#cluster = cluster;
  }

  /** Asks one member; `undefined` when it did not work, and then the next question goes to another one. */
  async once<T>(ask: (connection: NatsConnection) => Promise<T>): Promise<T | undefined> {
    try {
      this.#connection ??= await this.#connect();
      return await ask(this.#connection);
    } catch {
      await this[Symbol.asyncDispose]();
      this.#connection = undefined;
      return undefined;
    }
  }

  async #connect(): Promise<NatsConnection> {
    const addresses = await this.#addresses();
    if (addresses.length === 0) throw new Error('no node has an address');
    const first = addresses.indexOf(this.#last) + 1;
    const connection = await connect({
      servers: [...addresses.slice(first), ...addresses.slice(0, first)],
      timeout: CONNECT_MS,
      noRandomize: true,
      reconnect: false,
      ignoreClusterUpdates: true,
    });
    this.#last = connection.getServer();
    return connection;
  }

  /** Where members may be: on each node, under the port of each. A node without a network has no address. */
  async #addresses(): Promise<readonly string[]> {
    const { form } = this.#cluster;
    const nodes = await Promise.all(
      nodesOf(form).map((node) => addressesOf(this.#cluster.containerOf(node)).catch((): readonly string[] => [])),
    );
    return nodes.flat().flatMap((address) => CLIENT_PORTS.map((port) => `${address}:${port}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection?.close().catch(() => {});
  }
}
