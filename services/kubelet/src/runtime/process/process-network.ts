import type { Duplex } from 'node:stream';
import type { Clock, Log } from '@holdfast/platform';
import type { SandboxConfig, SandboxStatus } from '../port.ts';
import type { SandboxNetwork } from './sandbox-network.ts';

export type AttachedPod = Pick<SandboxConfig, 'podNamespace' | 'podName' | 'podUid'>;

/** The network of pods, as the runtime of one node uses it. */
export interface ProcessNetwork {
  /** A namespace with an address, in which the pod may run. The same key gets the same one again. */
  attach(key: string, pod: AttachedPod): Promise<SandboxNetwork & { readonly address: string }>;
  /** Nothing runs in it any more. */
  detach(key: string): Promise<void>;
  /** The namespaces of this node that exist. */
  attached(): Promise<readonly SandboxNetwork[]>;
  dial(place: { readonly host: string; readonly port: number; readonly key: string }): Promise<Duplex>;
  /** Calls back when namespaces were lost. */
  onLost(listener: () => void): () => void;
}

/** As the supervisor lists it. */
export type NetworkedSandbox = SandboxStatus & { readonly network?: SandboxNetwork | undefined };

export const networkKey = ({ podUid, attempt }: Pick<SandboxConfig, 'podUid' | 'attempt'>): string =>
  `${podUid}/${attempt}`;

export interface NetworkKeeperDeps {
  readonly network: ProcessNetwork;
  readonly clock: Clock;
  readonly log: Log;
  readonly list: () => Promise<readonly NetworkedSandbox[]>;
  readonly stop: (sandbox: string, graceMs: number) => Promise<void>;
}

/** Grace period of pods that lost their network. */
const LOST_NETWORK_GRACE_MS = 5_000;
/** Retry interval for those that did not end. */
const LOST_NETWORK_RETRY_MS = 1_000;

/**
 * Ends sandboxes whose namespace is lost, so that their pods get new ones; frees namespaces whose sandbox is gone.
 * Before the first look nothing is attached, so no namespace of a new sandbox is taken for a forgotten one.
 */
export class NetworkKeeper {
  readonly #deps: NetworkKeeperDeps;
  readonly #unsubscribe: () => void;
  #swept: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: NetworkKeeperDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.network.onLost(() => void this.#untilEnded());
  }

  async attach(config: SandboxConfig): Promise<SandboxNetwork & { readonly address: string }> {
    this.#swept ??= this.#sweep();
    await this.#swept.catch(() => {
      this.#swept = undefined;
    });
    const key = networkKey(config);
    try {
      return await this.#deps.network.attach(key, config);
    } catch (error) {
      await this.#free(key);
      throw error;
    }
  }

  /** Nobody else would: the pod may be gone before its next try. */
  async #free(key: string): Promise<void> {
    const { list, network, log } = this.#deps;
    try {
      const isUsed = (await list()).some((sandbox) => sandbox.network?.key === key);
      if (!isUsed) await network.detach(key);
    } catch (error) {
      log.warn('the network of a pod that did not start is not freed', { key, error });
    }
  }

  /** After a start: sandboxes of an earlier kubelet may have lost their network meanwhile. */
  begin(): void {
    void this.#untilEnded();
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
  }

  async #sweep(): Promise<void> {
    const used = new Set((await this.#deps.list()).map(({ network }) => network?.key));
    const forgotten = (await this.#deps.network.attached()).filter(({ key }) => !used.has(key));
    for (const { key } of forgotten) await this.#deps.network.detach(key);
  }

  async #untilEnded(): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.#isClosed) {
      try {
        return await this.#endLost();
      } catch (error) {
        log.warn('pods that lost their network were not ended, will retry', { error });
      }
      await clock.sleep(LOST_NETWORK_RETRY_MS);
    }
  }

  async #endLost(): Promise<void> {
    const sandboxes = (await this.#deps.list()).filter(({ network, state }) => network && state === 'ready');
    if (sandboxes.length === 0) return;
    const paths = new Set((await this.#deps.network.attached()).map(({ path }) => path));
    const lost = sandboxes.filter(({ network }) => network !== undefined && !paths.has(network.path));
    for (const { config } of lost) this.#deps.log.warn('a pod lost its network and gets a new one', { pod: config });
    await Promise.all(lost.map(({ id }) => this.#deps.stop(id, LOST_NETWORK_GRACE_MS)));
  }
}
