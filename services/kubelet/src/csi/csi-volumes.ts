import { createHash } from 'node:crypto';
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  CSI_DRIVERS,
  type CSIDriver,
  isAttached,
  isAttachRequired,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  VOLUME_ATTACHMENTS,
  volumeAttachmentName,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, describeError } from '@holdfast/platform';
import { localVolumeWork, type VolumeWork } from '../adapters/volume-work.ts';
import {
  type CsiRequest,
  expandedClaim,
  expansionDue,
  podContext,
  type SecretPlace,
  takesGroup,
} from '../domain/csi-request.ts';
import { NFS_DRIVER } from '../domain/nfs-request.ts';
import { VolumeError } from '../domain/volume-files.ts';
import { RuntimeError } from '../runtime/port.ts';
import { readTexts } from '../volumes/referenced-data.ts';
import { AttachWait } from '../volumes/volume-attachments.ts';
import { DriverTokens } from './driver-tokens.ts';
import type { NodeDriver, PodVolumeUsage, StagedVolume, StageRequest } from './port.ts';
import { type VolumeRecord, VolumeRecords } from './volume-records.ts';

export interface CsiVolumesDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly nodeName: string;
  /** The state directory of the node. */
  readonly root: string;
  readonly driver: (name: string) => NodeDriver | undefined;
  /** Default: in this process. */
  readonly volumeWork?: VolumeWork | undefined;
}

/** The group of a pod's files (`fsGroup`). */
export interface PodGroup {
  readonly asked: number;
  /** As an id of the machine. Absent: this node cannot change owners. */
  readonly gid: number | undefined;
  /** `fsGroupChangePolicy`. */
  readonly policy: string | undefined;
}

/** A volume of a claim that is published on this node. */
export interface ClaimedCsiVolume {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

/**
 * The volumes of CSI drivers on one node. The records on the disk say what a driver may have published; calls to
 * drivers are repeated until they succeed, and one volume has one call at a time.
 */
export class CsiVolumes {
  readonly #deps: CsiVolumesDeps;
  readonly #records: VolumeRecords;
  readonly #tokens: DriverTokens;
  /** Targets that this kubelet process has published: drivers keep them without further calls. */
  readonly #published = new Set<string>();
  /** The last call of each volume. */
  readonly #busy = new Map<string, Promise<unknown>>();

  constructor(deps: CsiVolumesDeps) {
    this.#deps = deps;
    this.#records = new VolumeRecords(deps.root);
    this.#tokens = new DriverTokens(deps);
  }

  /** Returns the path of the volume for the pod. The caller has checked that the volume is attached for the pod. */
  async publish(pod: Pod, request: CsiRequest, group?: PodGroup): Promise<string> {
    const { uid = '' } = pod.metadata;
    const targetPath = this.#records.targetPath(uid, request.name);
    this.#refuseNamesake(uid, request);
    const info =
      request.isBuiltIn === true ? undefined : await this.#deps.client.find(CSI_DRIVERS, { name: request.driver });
    if (this.#published.has(targetPath) && info?.spec.requiresRepublish !== true) return targetPath;
    const driver = this.#driver(request.driver);
    if (request.isBuiltIn !== true) refuseLifecycle(request, info);
    const publishContext = await this.#publishContext(request, info);
    const tokens = await this.#tokens.contextOf(pod, info);
    const common = {
      volumeId: request.volumeId,
      form: { ...request, group: group === undefined ? undefined : String(group.asked) },
      context: { ...request.context, ...podContext(pod, info, request.source === undefined), ...tokens },
      publishContext,
    };
    const [stageSecrets, secrets] = await Promise.all([
      this.#secrets(request.stageSecret),
      this.#secrets(request.publishSecret),
    ]);
    const stagingPath = driver.can.stages && request.source !== undefined ? this.#stagingPath(request) : '';
    await this.#alone(request, async () => {
      const record = { podUid: uid, name: request.name, driver: request.driver, volumeId: request.volumeId };
      const { podVolume, claim, isExclusive = false } = request;
      this.#records.save({ ...record, stagingPath, targetPath, podVolume, claim, isExclusive });
      if (stagingPath !== '')
        await stage(driver, { ...common, stagingPath, context: request.context, secrets: stageSecrets });
      await driver.publish({ ...common, stagingPath, targetPath, readOnly: request.readOnly, secrets });
      const isOurs = !driver.can.setsGroup && request.isBuiltIn !== true && takesGroup(request, info);
      // Once: what the pod makes of its files later stays.
      if (isOurs && group?.gid !== undefined && !this.#published.has(targetPath))
        await (this.#deps.volumeWork ?? localVolumeWork).giveGroup(targetPath, {
          gid: group.gid,
          policy: group.policy,
        });
    }).catch(toVolumeError);
    this.#published.add(targetPath);
    return targetPath;
  }

  /** Rejects when the server of a share does not answer in time. */
  async look(targetPath: string): Promise<void> {
    await this.#driver(NFS_DRIVER).look?.(targetPath);
  }

  /** Expands the file system when the volume was expanded. Returns the new claim when it did. */
  async expand(pod: Pod, request: CsiRequest, { volume, claim }: ClaimedCsiVolume): Promise<boolean> {
    const bytes = expansionDue(volume, claim);
    if (bytes === undefined) return false;
    const driver = this.#driver(request.driver);
    if (driver.can.expands) {
      const targetPath = this.#records.targetPath(pod.metadata.uid ?? '', request.name);
      const stagingPath = driver.can.stages ? this.#stagingPath(request) : '';
      const secrets = await this.#secrets(request.expandSecret);
      const { volumeId } = request;
      const expansion = { volumeId, form: request, stagingPath, targetPath, bytes, secrets };
      await this.#alone(request, () => driver.expand(expansion)).catch(toVolumeError);
    }
    await this.#deps.client.updateStatus(PERSISTENT_VOLUME_CLAIMS, expandedClaim(volume, claim));
    return true;
  }

  /** True while a driver may have published a volume for the pod. */
  holds(podUid: string): boolean {
    return this.#records.has(podUid);
  }

  /** Pods with volumes on the disk. */
  pods(): readonly string[] {
    return this.#records.pods();
  }

  /** Ends every volume of the pod. Rejects while one is left; the caller repeats it. */
  async tearDown(podUid: string): Promise<void> {
    for (const record of this.#records.ofPod(podUid)) {
      try {
        await this.#alone(record, () => this.#unpublish(record));
      } catch (error) {
        const message = `volume "${record.name}" of driver ${record.driver} is not unmounted: ${describeError(error)}`;
        throw new RuntimeError('Unavailable', message, error);
      }
    }
    this.#records.removeUnused(podUid);
    this.#tokens.forget(podUid);
  }

  /** A pod may call an inline volume as a PersistentVolume that it uses: both would have one target and one record. */
  #refuseNamesake(podUid: string, { name, driver, volumeId }: CsiRequest): void {
    const found = this.#records.ofPod(podUid).find((record) => record.name === name);
    if (found === undefined || (found.driver === driver && found.volumeId === volumeId)) return;
    throw new VolumeError(`another volume of the pod has the name "${name}" on this node`);
  }

  async #unpublish(record: VolumeRecord): Promise<void> {
    const driver = this.#driver(record.driver);
    this.#published.delete(record.targetPath);
    const { volumeId, targetPath, stagingPath, isExclusive } = record;
    await driver.unpublish({ volumeId, targetPath, isExclusive });
    const isLast = !this.#records.all().some((other) => other.stagingPath === stagingPath && !isSame(other, record));
    // The record goes last: a crash in between repeats both calls.
    if (stagingPath !== '' && isLast) await unstage(driver, { volumeId, stagingPath });
    this.#records.remove(record);
  }

  /** The usage of all volumes, by pod. A driver that does not answer is left out. */
  async usage(): Promise<ReadonlyMap<string, readonly PodVolumeUsage[]>> {
    const found = new Map<string, PodVolumeUsage[]>();
    const read = async ({ podUid, name, driver: driverName, podVolume = name, claim, ...paths }: VolumeRecord) => {
      const driver = this.#deps.driver(driverName);
      if (driver?.can.reportsUsage !== true) return;
      const usage = await driver.usage(paths).catch(() => undefined);
      if (usage !== undefined) found.set(podUid, [...(found.get(podUid) ?? []), { name: podVolume, claim, usage }]);
    };
    await Promise.all(this.#records.all().map(read));
    return found;
  }

  #driver(name: string): NodeDriver {
    const driver = this.#deps.driver(name);
    if (driver !== undefined) return driver;
    throw new VolumeError(`driver name ${name} not found in the list of registered CSI drivers`);
  }

  /** The current attachment: an older answer would name a detached volume. */
  async #publishContext(
    { source }: CsiRequest,
    info: CSIDriver | undefined,
  ): Promise<Readonly<Record<string, string>>> {
    if (source === undefined || !isAttachRequired(info)) return {};
    const { client, nodeName } = this.#deps;
    const name = volumeAttachmentName(source, nodeName);
    const attachment = await client.find(VOLUME_ATTACHMENTS, { name });
    if (attachment !== undefined && isAttached(attachment)) return attachment.status.attachmentMetadata ?? {};
    const why = attachment?.status.attachError?.message;
    throw new AttachWait(
      `waiting for driver ${source.driver} to attach volume ${source.volumeHandle} to this node${why === undefined ? '' : `: ${why}`}`,
    );
  }

  async #secrets(place: SecretPlace | undefined): Promise<Readonly<Record<string, string>>> {
    if (place === undefined) return {};
    const found = await readTexts(this.#deps.client, place.namespace, `Secret/${place.name}`);
    if (found !== undefined) return found;
    throw new VolumeError(`secret "${place.namespace}/${place.name}" for the CSI driver not found`);
  }

  #stagingPath({ driver, volumeId }: { readonly driver: string; readonly volumeId: string }): string {
    const digest = createHash('sha256').update(volumeId).digest('hex');
    return join(this.#deps.root, 'plugins', 'kubernetes.io', 'csi', driver, digest, 'globalmount');
  }

  async #alone<T>({ driver, volumeId }: { driver: string; volumeId: string }, work: () => Promise<T>): Promise<T> {
    const key = `${driver}^${volumeId}`;
    const before = this.#busy.get(key) ?? Promise.resolve();
    const now = before.catch(() => {}).then(work);
    this.#busy.set(key, now);
    try {
      return await now;
    } finally {
      if (this.#busy.get(key) === now) this.#busy.delete(key);
    }
  }
}

async function stage(driver: NodeDriver, request: StageRequest): Promise<void> {
  mkdirSync(request.stagingPath, { recursive: true, mode: 0o750 });
  await driver.stage(request);
}

async function unstage(driver: NodeDriver, volume: StagedVolume): Promise<void> {
  await driver.unstage(volume);
  try {
    rmdirSync(volume.stagingPath);
  } catch {
    // The driver removed it, or something is in it, which is not the node's to remove.
  }
}

const isSame = (a: VolumeRecord, b: VolumeRecord): boolean => a.podUid === b.podUid && a.name === b.name;

function toVolumeError(error: unknown): never {
  if (error instanceof VolumeError) throw error;
  // The words of the driver, as Kubernetes shows them: the causes repeat them.
  const isOfDriver = error instanceof Error && error.name === 'CsiError';
  throw new VolumeError(isOfDriver ? error.message : describeError(error));
}

/** A driver says which volumes it serves: those of claims (Persistent), inline ones (Ephemeral), or both. */
function refuseLifecycle({ driver, source }: CsiRequest, info: CSIDriver | undefined): void {
  const wanted = source === undefined ? 'Ephemeral' : 'Persistent';
  const modes = info?.spec.volumeLifecycleModes ?? ['Persistent'];
  if (modes.includes(wanted)) return;
  throw new VolumeError(
    `volume mode "${wanted}" not supported by driver ${driver} (only supports ${JSON.stringify(modes)})`,
  );
}
