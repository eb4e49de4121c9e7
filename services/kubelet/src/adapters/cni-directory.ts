import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODES } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, describeError, type Log, OperatorError, type Service, type Timer } from '@holdfast/platform';
import {
  CNI_ADDRESSES,
  CNI_BRIDGE,
  CNI_FILE,
  CNI_PLUGINS_NEEDED,
  cniConfiguration,
  isCniFile,
} from '../domain/cni-configuration.ts';
import { CNI_NETWORK_RETRY_MS } from '../limits.ts';
import { run } from '../pod-network/agent/run.ts';
import { hasHelper, helper } from '../runtime/helpers.ts';

/** Where distributions have the plugins. The runtime has a setting of its own for it. */
const PLUGIN_DIRECTORIES = ['/opt/cni/bin', '/usr/lib/cni'] as const;

export interface CniDirectoryDeps {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The nodes whose containers the runtime runs. */
  readonly nodes: readonly { readonly name: string; readonly client: Pick<ApiClient, 'get'> }[];
  /** The network ends with this service, as all pods do. */
  readonly isRemovedAtStop: boolean;
  readonly pluginDirectories?: readonly string[];
  /** Default: with the programs of this machine. */
  readonly removeBridge?: () => Promise<void>;
}

/** Writes the configuration of the network of containers, once the nodes have networks. One that is there is left alone. */
export function createCniDirectory(deps: CniDirectoryDeps): Service {
  return new CniDirectory(deps);
}

class CniDirectory implements Service {
  readonly name = 'network of containers';
  readonly #deps: CniDirectoryDeps;
  readonly #file: string;
  #retry: Timer | undefined;
  #writing: Promise<void> | undefined;
  #isStopped = false;
  #told = '';

  constructor(deps: CniDirectoryDeps) {
    this.#deps = deps;
    this.#file = join(deps.directory, CNI_FILE);
  }

  async start(): Promise<void> {
    const { directory, log, pluginDirectories = PLUGIN_DIRECTORIES } = this.#deps;
    const missing = CNI_PLUGINS_NEEDED.filter(
      (name) => !pluginDirectories.some((each) => existsSync(join(each, name))),
    );
    if (missing.length > 0) throw withoutPlugins(missing);
    mkdirSync(directory, { recursive: true });
    const other = readdirSync(directory).find((name) => isCniFile(name) && name !== CNI_FILE);
    if (other === undefined) this.#writing = this.#write();
    else log.info('the network of containers is configured already and left alone', { file: join(directory, other) });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await this.#writing;
    if (this.#writing === undefined || !this.#deps.isRemovedAtStop) return;
    rmSync(this.#file, { force: true });
    await (this.#deps.removeBridge ?? removeBridge)();
  }

  async #write(): Promise<void> {
    try {
      const networks = await this.#networks();
      if (this.#isStopped) return;
      // The runtime reads the directory at each change, and never a half of the file.
      writeFileSync(`${this.#file}.new`, cniConfiguration(networks), { mode: 0o644 });
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      this.#tell(error);
      if (this.#isStopped) return;
      this.#retry = this.#deps.clock.timer(CNI_NETWORK_RETRY_MS, () => {
        this.#writing = this.#write();
      });
    }
  }

  async #networks(): Promise<readonly string[]> {
    const all = await Promise.all(this.#deps.nodes.map(({ name, client }) => client.get(NODES, { name })));
    return all.flatMap(({ metadata, spec }) => {
      const networks = spec.podCIDRs ?? [];
      if (networks.length === 0) throw new Error(`node ${metadata.name} has no network for pods (spec.podCIDRs) yet`);
      return networks;
    });
  }

  /** A reason is told once. Nodes are registered and get their networks in the first moments of a start. */
  #tell(error: unknown): void {
    const reason = describeError(error);
    if (reason !== this.#told) this.#deps.log.info('the network of containers is not configured yet', { reason });
    this.#told = reason;
  }
}

/** One that has containers is used by another cluster of this machine. */
async function removeBridge(): Promise<void> {
  if (!hasHelper('ip')) return;
  const ip = helper('ip');
  const used = await run([ip, '-o', 'link', 'show', 'master', CNI_BRIDGE]).catch(() => undefined);
  if (used?.trim() !== '') return;
  await run([ip, 'link', 'delete', CNI_BRIDGE]).catch(() => undefined);
  rmSync(CNI_ADDRESSES, { recursive: true, force: true });
}

const withoutPlugins = (missing: readonly string[]): OperatorError =>
  new OperatorError({
    code: 'NoNetworkPlugins',
    message: `containers cannot get a network: the CNI plugins ${missing.join(', ')} are not installed`,
    nextStep: 'Install containernetworking-plugins, or leave --cni-conf-dir out.',
  });
