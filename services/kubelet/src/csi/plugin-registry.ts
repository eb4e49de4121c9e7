import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '@holdfast/client';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import { CSI_RETRY_INITIAL_MS, CSI_RETRY_MAX_MS, PLUGIN_POLL_MS, PLUGIN_SETTLE_MS } from '../limits.ts';
import { writeCsiNode } from './csi-node.ts';
import type { Registered } from './node-driver.ts';
import type { NodeDriver } from './port.ts';

export interface PluginRegistryDeps {
  /** The state directory of the node. */
  readonly root: string;
  readonly nodeName: string;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: gRPC over the socket. */
  readonly open?: ((socket: string, clock: Clock) => Promise<Registered | undefined>) | undefined;
  /** A driver came: pods may wait for it. */
  readonly onChange: () => void;
}

/** Where plugins put their registration sockets, as in Kubernetes. */
export const registrationDirectory = (root: string): string => join(root, 'plugins_registry');

/** The gRPC library is loaded with the first plugin. */
const openSocket = async (socket: string, clock: Clock): Promise<Registered | undefined> =>
  (await import('./node-driver.ts')).openPlugin(socket, clock);

/**
 * The CSI drivers of this node: one per socket in the registration directory. They are published as the CSINode.
 * The directory is read on file system events and periodically.
 */
export class PluginRegistry {
  readonly #deps: PluginRegistryDeps;
  readonly #directory: string;
  /** By file name; `undefined` for plugins that are not CSI drivers, or whose driver another plugin serves. */
  readonly #plugins = new Map<string, NodeDriver | undefined>();
  #timer: Timer | undefined;
  #watcher: FSWatcher | undefined;
  #looking: Promise<void> | undefined;
  /** A socket that comes during a look may not be seen by it. */
  #isWanted = false;
  #stopped = false;
  #failures = 0;
  /** The CSINode may name drivers, perhaps those of an earlier kubelet. */
  #hadPlugins = false;

  constructor(deps: PluginRegistryDeps) {
    this.#deps = deps;
    this.#directory = registrationDirectory(deps.root);
  }

  start(): void {
    this.#hadPlugins = mkdirSync(this.#directory, { recursive: true }) === undefined;
    try {
      this.#watcher = watch(this.#directory, { persistent: false }, () => {
        this.#isWanted = true;
        this.#lookIn(PLUGIN_SETTLE_MS);
      });
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch (error) {
      this.#deps.log.warn('the directory of plugins cannot be watched and is only polled', {
        directory: this.#directory,
        error: describeError(error),
      });
    }
    this.#lookIn(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#watcher?.close();
    for (const driver of this.#plugins.values()) driver?.close();
    await this.#looking;
    for (const driver of this.#plugins.values()) driver?.close();
  }

  driver(name: string): NodeDriver | undefined {
    return this.drivers().find((driver) => driver.name === name);
  }

  drivers(): readonly NodeDriver[] {
    return [...this.#plugins.values()].filter((driver) => driver !== undefined);
  }

  #lookIn(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.timer(delayMs, () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    });
  }

  async #look(): Promise<void> {
    let nextMs = PLUGIN_POLL_MS;
    this.#isWanted = false;
    try {
      const failed = await this.#compare();
      await this.#publish();
      if (failed.length > 0) throw new Error(`no driver answers at ${failed.join(', ')}`);
      this.#failures = 0;
    } catch (error) {
      if (this.#stopped) return;
      nextMs = Math.min(CSI_RETRY_INITIAL_MS * 2 ** this.#failures, CSI_RETRY_MAX_MS);
      this.#failures++;
      this.#deps.log.warn('plugins are not registered, will retry', { directory: this.#directory, nextMs, error });
    }
    this.#lookIn(this.#isWanted ? PLUGIN_SETTLE_MS : nextMs);
  }

  /** Every time, because the CSINode ends with its Node. Nothing is written about a node that never had a driver. */
  async #publish(): Promise<void> {
    const { client, nodeName, onChange } = this.#deps;
    this.#hadPlugins ||= this.#plugins.size > 0;
    if (!this.#hadPlugins) return;
    await writeCsiNode(client, nodeName, this.drivers());
    this.#hadPlugins = this.#plugins.size > 0;
    onChange();
  }

  /** Returns the sockets that do not answer. */
  async #compare(): Promise<readonly string[]> {
    const entries = await readdir(this.#directory, { withFileTypes: true });
    const sockets = new Set(entries.filter((entry) => entry.isSocket()).map(({ name }) => name));
    for (const [file, driver] of this.#plugins) {
      if (sockets.has(file)) continue;
      this.#plugins.delete(file);
      driver?.close();
      this.#deps.log.info('a plugin is gone', { socket: file, driver: driver?.name });
      if (driver !== undefined) this.#askOthersAgain();
    }
    const failed: string[] = [];
    for (const file of sockets)
      if (!this.#plugins.has(file) && !this.#stopped && !(await this.#register(file))) failed.push(file);
    return failed;
  }

  /** Another plugin may wait for the name of the driver: the next version of it, beside the present one. */
  #askOthersAgain(): void {
    for (const [file, driver] of this.#plugins) if (driver === undefined) this.#plugins.delete(file);
  }

  /** The others are not kept waiting by one that does not answer. */
  async #register(file: string): Promise<boolean> {
    const { clock, log, open = openSocket } = this.#deps;
    const socket = join(this.#directory, file);
    try {
      const registered = await open(socket, clock);
      const taken = registered !== undefined && this.driver(registered.driver.name) !== undefined;
      await registered?.confirm(taken ? `a driver "${registered.driver.name}" is already registered` : undefined);
      if (taken) registered.driver.close();
      this.#plugins.set(file, taken ? undefined : registered?.driver);
      log.info('a plugin registered', { socket: file, driver: registered?.driver.name });
      return true;
    } catch (error) {
      log.warn('a plugin did not register', { socket: file, error: describeError(error) });
      return false;
    }
  }
}
