import type { ApiClient } from '@holdfast/client';
import type { Clock, Log, Timer } from '@holdfast/platform';
import type { VolumeWork } from '../adapters/volume-work.ts';
import { NFS_DRIVER } from '../domain/nfs-request.ts';
import { CSI_RETRY_INITIAL_MS, CSI_SWEEP_MS, UNMOUNT_ALL_MS, UNMOUNT_RETRY_MS } from '../limits.ts';
import { CsiVolumes } from './csi-volumes.ts';
import { createNfsDriver } from './nfs-driver.ts';
import { PluginRegistry, type PluginRegistryDeps } from './plugin-registry.ts';
import type { NodeDriver } from './port.ts';
import { VolumeStats } from './volume-stats.ts';

export interface CsiSettings {
  /** The state directory of the node: plugins register in `plugins_registry` below it. */
  readonly root: string;
  /** Default: gRPC over the socket. */
  readonly open?: PluginRegistryDeps['open'];
  /** Default: the programs of the machine. */
  readonly nfs?: NodeDriver;
}

export interface CsiSupportDeps {
  readonly settings: CsiSettings;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly volumeWork?: VolumeWork | undefined;
  readonly onDriver: () => void;
  /** True when all pods of the node are known. */
  readonly isSettled: () => boolean;
  /** True when something of the pod is, or may be, on the node. */
  readonly isHere: (podUid: string) => boolean;
  /** Nothing of a pod that was not here is left. */
  readonly onGone: (podUid: string) => void;
}

/** The CSI drivers of a node and their volumes. Volumes of pods that ended while no kubelet ran are unmounted later. */
export class CsiSupport {
  readonly volumes: CsiVolumes;
  readonly stats: VolumeStats;
  readonly #deps: CsiSupportDeps;
  #registry: PluginRegistry;
  #timer: Timer | undefined;
  #sweeping: Promise<void> | undefined;
  /** A driver that comes during a sweep may be one that it needed. */
  #isWanted = false;
  #stopped = false;

  constructor(deps: CsiSupportDeps) {
    this.#deps = deps;
    const { settings, onDriver } = deps;
    const onChange = (): void => {
      onDriver();
      this.#isWanted = true;
      this.#sweepIn(0);
    };
    this.#registry = new PluginRegistry({ ...deps, ...settings, onChange });
    const nfs = settings.nfs ?? createNfsDriver(deps.clock);
    const driver = (name: string): NodeDriver | undefined => (name === NFS_DRIVER ? nfs : this.#registry.driver(name));
    this.volumes = new CsiVolumes({ ...deps, root: settings.root, driver });
    this.stats = new VolumeStats(deps.clock, () => this.volumes.usage());
  }

  start(): void {
    this.#registry.start();
    if (this.volumes.pods().length > 0) this.#sweepIn(CSI_SWEEP_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#registry.stop();
    await this.#sweeping;
  }

  /**
   * After `stop`, and after the end of all processes of the node: unmounts what is left. What cannot be unmounted in time
   * is left to the next start.
   */
  async unmountAll(): Promise<void> {
    if (this.volumes.pods().length === 0) return;
    const { settings, clock, log } = this.#deps;
    this.#registry = new PluginRegistry({ ...this.#deps, ...settings, onChange: () => {} });
    this.#registry.start();
    const ending = new AbortController();
    const timer = clock.timer(UNMOUNT_ALL_MS, () => ending.abort(new Error('the node does not wait longer')));
    const late = Promise.withResolvers<void>();
    ending.signal.addEventListener('abort', () => late.resolve());
    try {
      await Promise.race([this.#unmountUntil(ending.signal), late.promise]);
    } finally {
      timer.cancel();
      ending.abort();
      await this.#registry.stop();
    }
    const left = this.volumes.pods();
    if (left.length > 0) log.warn('volumes are left mounted until the next start of the node', { pods: left });
  }

  async #unmountUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.volumes.pods().length > 0) {
      await Promise.all(this.volumes.pods().map((uid) => this.volumes.tearDown(uid).catch(() => {})));
      if (this.volumes.pods().length > 0) await this.#deps.clock.sleep(UNMOUNT_RETRY_MS, signal).catch(() => {});
    }
  }

  #sweepIn(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.timer(delayMs, () => {
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    });
  }

  async #sweep(): Promise<void> {
    const { isSettled, isHere, onGone, log } = this.#deps;
    this.#isWanted = false;
    // A restarted kubelet may meet its drivers before its pods.
    if (!isSettled()) return this.#sweepIn(CSI_RETRY_INITIAL_MS);
    for (const uid of this.volumes.pods()) {
      if (isHere(uid) || this.#stopped) continue;
      try {
        await this.volumes.tearDown(uid);
        onGone(uid);
        log.info('the CSI volumes of a pod that is gone were unmounted', { uid });
      } catch (error) {
        log.warn('the CSI volumes of a pod that is gone are not unmounted, will retry', { uid, error });
      }
    }
    if (this.volumes.pods().length > 0) this.#sweepIn(this.#isWanted ? 0 : CSI_SWEEP_MS);
  }
}
