import { LOCAL_PATH_FINALIZER, localPathSelector, PERSISTENT_VOLUMES, type PersistentVolume } from '@holdfast/api';
import {
  type ApiClient,
  type Controller,
  createController,
  createInformer,
  createWorkQueue,
  type Informer,
  type WorkQueue,
} from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock, Log, Random, Service } from '@holdfast/platform';
import type { NodeVolumeDirectories } from '../adapters/node-volume-directories.ts';
import { decideReclaim } from '../domain/decide-reclaim.ts';
import { VOLUME_IN_USE_RECHECK_MS } from '../limits.ts';

/** A local-path volume by the uid of its object, and the claim that it was made for. */
export interface VolumeUse {
  readonly uid: string;
  readonly namespace: string;
  readonly claim: string;
}

export interface VolumeReclaimerDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeName: string;
  readonly directories: NodeVolumeDirectories;
  /** True unless it is certain that nothing on this node uses the volume. */
  readonly mayUse: (volume: VolumeUse) => boolean;
}

/**
 * Removes the directories of local-path volumes that are being deleted, then returns their finalizer. The node watches
 * its own volumes, not over the bus: there its permissions cover only its pods.
 */
export class VolumeReclaimer implements Service {
  readonly name = 'volume reclaimer';
  readonly #deps: VolumeReclaimerDeps;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  #unsubscribe: () => void = () => {};

  constructor(deps: VolumeReclaimerDeps) {
    this.#deps = deps;
    const { client, clock, random, log, nodeName } = deps;
    this.#volumes = createInformer<PersistentVolume>({
      client,
      bus: undefined,
      resource: PERSISTENT_VOLUMES,
      selection: { labelSelector: localPathSelector(nodeName) },
      subjects: [],
      clock,
      random,
      log,
    });
    this.#queue = createWorkQueue({ clock });
    this.#controller = createController({
      name: this.name,
      queue: this.#queue,
      workers: 1,
      reconcile: (key, signal) => this.reconcile(key, signal),
      clock,
      log,
    });
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#volumes.onChange(({ key, object }) => {
      if (object !== undefined && this.#decide(object) !== 'nothing') this.#queue.add(key);
    });
    await this.#controller.start();
    await this.#volumes.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#volumes.stop();
    await this.#controller.stop();
  }

  /**
   * Reads the volume first: data that a user has just decided to keep are not removed because of an old view. `signal`
   * ends a long removal; the next pass continues it.
   */
  async reconcile(name: string, signal: AbortSignal): Promise<{ readonly requeueAfterMs?: number }> {
    const { client, directories, log } = this.#deps;
    const volume = await client.find(PERSISTENT_VOLUMES, { name });
    const decision = volume === undefined ? 'nothing' : this.#decide(volume);
    if (volume === undefined || decision === 'nothing') return {};
    if (decision === 'wait') return { requeueAfterMs: VOLUME_IN_USE_RECHECK_MS };
    await directories.remove(volume.metadata.uid ?? '', signal);
    log.info('the directory of a volume was removed', { volume: name, uid: volume.metadata.uid });
    await this.#release(volume);
    return {};
  }

  #decide(volume: PersistentVolume): ReturnType<typeof decideReclaim> {
    const { nodeName, mayUse } = this.#deps;
    const { namespace = '', name: claim = '' } = volume.spec.claimRef ?? {};
    const { uid = '' } = volume.metadata;
    return decideReclaim(volume, { nodeName, isInUse: mayUse({ uid, namespace, claim }) });
  }

  async #release(volume: PersistentVolume): Promise<void> {
    const finalizers = (volume.metadata.finalizers ?? []).filter((each) => each !== LOCAL_PATH_FINALIZER);
    try {
      await this.#deps.client.update(PERSISTENT_VOLUMES, { ...volume, metadata: { ...volume.metadata, finalizers } });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
  }
}
