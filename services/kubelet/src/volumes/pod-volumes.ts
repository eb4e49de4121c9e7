import { join } from 'node:path';
import type { Container, Pod, Volume, VolumeMount } from '@holdfast/api';
import { type Clock, describeError, type Timer } from '@holdfast/platform';
import { copyDevice } from '../adapters/block-device.ts';
import type { NodeVolumeDirectories } from '../adapters/node-volume-directories.ts';
import { makeEmptyDirectory, makeMemoryDirectory, writeVolume } from '../adapters/volume-directory.ts';
import { type FoundSubPath, localVolumeWork, type SubPathRequest, type VolumeWork } from '../adapters/volume-work.ts';
import type { CsiVolumes } from '../csi/csi-volumes.ts';
import { isApiAway } from '../domain/api-away.ts';
import { usesOf } from '../domain/block-volumes.ts';
import { type CsiRequest, requestOfInline, requestOfVolume } from '../domain/csi-request.ts';
import { ContainerConfigError, expandSubPath } from '../domain/environment.ts';
import { requestOfNfs } from '../domain/nfs-request.ts';
import { refuseMounts, TOKEN_MOUNT_PATH } from '../domain/refusals.ts';
import {
  buildFiles,
  type FilePart,
  memoryBytes,
  readVolume,
  VolumeError,
  type VolumeSource,
  volumeReferences,
} from '../domain/volume-files.ts';
import { claimOwner, type Owner } from '../domain/volume-owner.ts';
import { TOKEN_RENEW_SHARE, VOLUME_FRESH_MS, VOLUME_REFRESH_MS } from '../limits.ts';
import { nodeFilesOf, subPathTarget } from '../runtime/pod-directories.ts';
import type { DeviceUse, Mount, RuntimeAbilities } from '../runtime/port.ts';
import { type ClaimDeps, type CsiVolume, findClaimed, type NfsVolume } from './claimed-volume.ts';
import { readBytes } from './referenced-data.ts';
import { requestToken } from './token-request.ts';

export interface PodVolumesDeps extends ClaimDeps {
  readonly clock: Clock;
  readonly abilities: RuntimeAbilities;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly hostIp: () => string;
  /** Absent: this node has no CSI drivers. */
  readonly csi?: CsiVolumes | undefined;
  /** A file system was expanded. */
  readonly onExpanded?: (pod: Pod, message: string) => void;
  /** Absent: this node keeps no directories of volumes. */
  readonly directories?: NodeVolumeDirectories | undefined;
  /** Default: in this process. */
  readonly volumeWork?: VolumeWork | undefined;
  /** Files of a running pod could not be brought up to date; they stay as they were. */
  readonly onFailure: (pod: Pod, message: string) => void;
  /** The pod cannot write a volume, because its files belong to root. */
  readonly onForeign?: (pod: Pod, message: string) => void;
}

/** The directory of the pod's volumes and what the pod is now. */
export interface VolumePlace {
  readonly pod: Pod;
  readonly path: string;
  readonly podIp: string;
  /** The owner of the pod's files. Absent: the node's user. */
  readonly owner?: Owner | undefined;
  /** The machine's id of the pod's single user, the only reader of its tokens. */
  readonly tokenUser?: number | undefined;
}

export interface ContainerVolumes {
  readonly mounts: readonly Mount[];
  /** Absent: none, or they are mounts. */
  readonly devices?: readonly DeviceUse[];
  /** Variables that stand in for mounts that are not possible here. */
  readonly environment: Readonly<Record<string, string>>;
}

/** These name directories for a container when nothing can be mounted: documented in docs/internals/kubelet.md. */
const TOKEN_DIRECTORY_VARIABLE = 'HOLDFAST_SERVICE_ACCOUNT_DIR';
const ticketDirectoryVariable = (volume: string): string =>
  `HOLDFAST_VOLUME_DIR_${volume.toUpperCase().replaceAll('-', '_')}`;

/** The volumes of one pod: made before its sandbox, then kept up to date while it runs. */
export class PodVolumes {
  readonly #deps: PodVolumesDeps;
  readonly #work: VolumeWork;
  readonly #tokens = new Map<string, { readonly token: string; readonly renewAt: number }>();
  /** The targets of the pod's claims, by volume. */
  readonly #claimed = new Map<string, string>();
  /** Volumes whose server may not answer. */
  readonly #shares = new Set<string>();
  /** Volumes of the storage server: their directories hold files that say how to reach them. */
  readonly #tickets = new Set<string>();
  /** Uids of the local-path volumes that it has got: a claim of the same name may have another volume later. */
  readonly #own = new Set<string>();
  /** Directories of claims that the pod cannot write: each is reported once. */
  readonly #told = new Set<string>();
  /** One writer at a time. */
  #last: Promise<void> = Promise.resolve();
  #place: VolumePlace | undefined;
  #timer: Timer | undefined;
  #freshUntil = 0;
  #stopped = false;

  constructor(deps: PodVolumesDeps) {
    this.#deps = deps;
    this.#work = deps.volumeWork ?? localVolumeWork;
  }

  /** Makes what the pod's containers mount. Rejects while something is missing. */
  async setUp(place: VolumePlace): Promise<void> {
    await this.#write(place);
    this.#place = place;
    this.#freshUntil = this.#deps.clock.monotonic() + VOLUME_FRESH_MS;
    this.#refreshLater();
  }

  /** Says where this container sees the volumes, and makes what is missing. */
  async prepare(
    place: VolumePlace,
    container: Container,
    env: Readonly<Record<string, string>>,
  ): Promise<ContainerVolumes> {
    if (!this.#isFresh(place)) await this.#setUpAgain(place);
    refuseMounts(container, this.#deps.abilities, this.#tickets);
    const mounts: Mount[] = [];
    for (const [index, mount] of (container.volumeMounts ?? []).entries())
      mounts.push(await this.#mount({ ...place, container: container.name, index }, mount, env));
    const { seen, shown } = await this.#devices(place, container);
    if (this.#deps.abilities.mounts) return { mounts: [...mounts, ...shown], devices: seen, environment: {} };
    return { mounts: [], environment: this.#standIns(container, mounts) };
  }

  /** What this process has set up once does not wait for an API that is away: the files stay as they were. */
  async #setUpAgain(place: VolumePlace): Promise<void> {
    const isThere = this.#place?.path === place.path;
    try {
      await this.setUp(place);
    } catch (error) {
      if (!isThere || !isApiAway(error)) throw error;
    }
  }

  /** A container runtime makes device files; for processes of the machine the node makes one that is the pod's, and shows it. */
  async #devices(
    place: VolumePlace,
    { volumeDevices = [] }: Container,
  ): Promise<{ readonly seen: readonly DeviceUse[]; readonly shown: readonly Mount[] }> {
    const seen: DeviceUse[] = [];
    const shown: Mount[] = [];
    for (const { name, devicePath: target } of volumeDevices) {
      const device = await this.#work
        .findDevice(this.#claimed.get(name) ?? join(place.path, name))
        .catch(toConfigError);
      const readOnly = isReadOnly(place.pod, name);
      if (this.#deps.abilities.isolation === true) seen.push({ source: device.path, target, readOnly });
      else {
        const source = join(nodeFilesOf(place.path), 'devices', name);
        const owner = claimOwner(this.#deps.abilities, place);
        await copyDevice(device, source, { owner, readOnly }).catch(toConfigError);
        shown.push({ source, target, readOnly: false, isDirectory: false });
      }
    }
    return { seen, shown };
  }

  /** `mounts` are those of the container, in the same order. */
  #standIns(container: Container, mounts: readonly Mount[]): Readonly<Record<string, string>> {
    const variables = (container.volumeMounts ?? []).flatMap(({ name, mountPath }, index) => {
      const variable = mountPath === TOKEN_MOUNT_PATH ? TOKEN_DIRECTORY_VARIABLE : ticketDirectoryVariable(name);
      return mounts.slice(index, index + 1).map(({ source }) => [variable, source] as const);
    });
    return Object.fromEntries(variables);
  }

  /** True when the pod has got the directory of this local-path volume. */
  usesDirectory(uid: string): boolean {
    return this.#own.has(uid);
  }

  /** A newer view of the pod: its labels and annotations may be files. */
  offer(pod: Pod): void {
    if (this.#place === undefined || this.#place.pod === pod) return;
    const before = this.#place.pod.metadata;
    this.#place = { ...this.#place, pod };
    const { labels, annotations } = pod.metadata;
    const isSame = JSON.stringify([before.labels, before.annotations]) === JSON.stringify([labels, annotations]);
    if (!isSame) void this.#refresh();
  }

  /** Nothing of the pod runs: nothing is brought up to date until the next start of a sandbox or container. */
  async rest(): Promise<void> {
    this.#timer?.cancel();
    this.#place = undefined;
    await this.#last;
  }

  /** Keeps files for running containers. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#last;
  }

  /** Made a moment ago for the very same pod: all containers of a start share one round of reading. */
  #isFresh({ pod, path }: VolumePlace): boolean {
    const isSame = this.#place?.pod === pod && this.#place.path === path;
    return isSame && this.#deps.clock.monotonic() < this.#freshUntil;
  }

  #refreshLater(): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.#deps.clock.timer(VOLUME_REFRESH_MS, () => void this.#refresh());
  }

  async #refresh(): Promise<void> {
    const place = this.#place;
    if (place === undefined || this.#stopped) return;
    try {
      await this.#write(place);
    } catch (error) {
      this.#deps.onFailure(place.pod, describeError(error));
    }
    this.#refreshLater();
  }

  #write(place: VolumePlace): Promise<void> {
    const write = this.#last.then(() => this.#writeAll(place));
    // The caller gets the error; the next write ignores it.
    this.#last = write.catch(() => {});
    return write;
  }

  async #writeAll(place: VolumePlace): Promise<void> {
    for (const volume of mountedVolumes(place.pod)) {
      try {
        await this.#writeOne(place, volume.name, readVolume(volume, place.pod));
      } catch (error) {
        if (!(error instanceof VolumeError)) throw error;
        throw new VolumeError(`MountVolume.SetUp failed for volume "${volume.name}" : ${error.message}`);
      }
    }
  }

  async #writeOne(place: VolumePlace, name: string, source: VolumeSource): Promise<void> {
    const directory = join(place.path, name);
    switch (source.kind) {
      case 'emptyDir':
        return this.#makeEmpty(directory, source, place.owner);
      case 'hostPath':
        refuseForeign(place, 'hostPath');
        return this.#work.useHostPath(source.path, source.type);
      case 'claim':
        refuseForeign(place, 'persistentVolumeClaim');
        return this.#useClaim(place, name, source);
      case 'csi':
        refuseForeign(place, 'csi');
        return this.#publish(place, name, requestOfInline(place.pod, name, source.source));
      case 'nfs':
        refuseForeign(place, 'nfs');
        return this.#publish(place, name, requestOfNfs(name, source.source));
      case 'unsupported':
        throw new VolumeError(`this node has no support for ${source.type} volumes`);
      case 'files':
        return this.#writeFiles(place, name, source);
    }
  }

  async #useClaim(place: VolumePlace, name: string, source: Extract<VolumeSource, { kind: 'claim' }>): Promise<void> {
    const claimed = await findClaimed(this.#deps, place.pod, { ...source, volume: name });
    this.#tickets.delete(name);
    if (claimed.kind === 'ticket') {
      this.#claimed.delete(name);
      this.#tickets.add(name);
      return writeVolume(join(place.path, name), claimed.files, place);
    }
    if (claimed.kind === 'csi') return this.#useCsi(place, name, { ...claimed, readOnly: source.readOnly });
    if (claimed.kind === 'nfs') return this.#useNfs(place, name, { ...claimed, readOnly: source.readOnly });
    const owner = claimOwner(this.#deps.abilities, place);
    if (claimed.kind === 'own') {
      this.#claimed.set(name, await this.#makeOwn(claimed.uid, owner));
      return;
    }
    this.#claimed.set(name, claimed.path);
    await this.#work.useHostPath(claimed.path, claimed.type, owner);
    if (!source.readOnly && owner !== undefined && claimed.type !== DEVICE)
      await this.#adopt(place.pod, claimed.path, owner);
  }

  async #useCsi(place: VolumePlace, name: string, used: CsiVolume & { readonly readOnly: boolean }): Promise<void> {
    const found = requestOfVolume(used.volume, used.readOnly);
    if (found === undefined) return;
    const request = { ...found, podVolume: name, claim: used.claim.metadata.name ?? '' };
    await this.#publish(place, name, request);
    if ((await this.#deps.csi?.expand(place.pod, request, used)) !== true) return;
    this.#deps.onExpanded?.(place.pod, `MountVolume.NodeExpandVolume succeeded for volume "${request.name}"`);
  }

  #useNfs(place: VolumePlace, name: string, used: NfsVolume & { readonly readOnly: boolean }): Promise<void> {
    const { volume, source, readOnly } = used;
    const nfs = { ...source, readOnly: readOnly || source.readOnly === true };
    return this.#publish(place, name, requestOfNfs(volume.metadata.name ?? '', nfs, volume));
  }

  async #publish(place: VolumePlace, name: string, request: CsiRequest): Promise<void> {
    const { csi, abilities } = this.#deps;
    if (csi === undefined)
      throw new VolumeError(
        request.isBuiltIn === true ? 'this node has no support for nfs volumes' : 'this node runs no CSI drivers',
      );
    const owner = claimOwner(abilities, place);
    const { fsGroup: asked, fsGroupChangePolicy: policy } = place.pod.spec.securityContext ?? {};
    const gid = owner?.group === true ? owner.gid : undefined;
    const path = await csi.publish(place.pod, request, asked === undefined ? undefined : { asked, gid, policy });
    this.#claimed.set(name, path);
    // The owners of files are the server's, and a look at them may not return.
    if (request.isBuiltIn === true) return void this.#shares.add(name);
    if (!request.readOnly && owner !== undefined && request.volumeMode !== 'Block')
      await this.#adopt(place.pod, path, owner);
  }

  #makeOwn(uid: string, owner: Owner | undefined): Promise<string> {
    const { directories } = this.#deps;
    this.#own.add(uid);
    if (directories === undefined) throw new VolumeError('this node keeps no directories of volumes');
    return directories.make(uid, owner);
  }

  /** Only where pods are processes: a container's root may write what is root's. */
  async #adopt(pod: Pod, path: string, owner: Owner): Promise<void> {
    if (this.#deps.abilities.isolation === true || (await this.#work.adoptDirectory(path, owner))) return;
    if (this.#told.has(path)) return;
    this.#told.add(path);
    this.#deps.onForeign?.(
      pod,
      `The pod runs as user ${owner.uid} and cannot write ${path}, which belongs to root: run "chown -R ${owner.uid}:${owner.gid} ${path}" on the node`,
    );
  }

  async #makeEmpty(directory: string, { inMemory, sizeLimit }: EmptyDir, owner: Owner | undefined): Promise<void> {
    if (!inMemory || this.#deps.abilities.memoryVolumes !== true) return makeEmptyDirectory(directory, owner);
    await makeMemoryDirectory(directory, memoryBytes(sizeLimit, this.#deps.allocatable['memory']), owner);
  }

  async #writeFiles(place: VolumePlace, name: string, source: Extract<VolumeSource, { kind: 'files' }>): Promise<void> {
    const { client, allocatable, hostIp } = this.#deps;
    const { pod, podIp } = place;
    const data = new Map<string, Readonly<Record<string, Uint8Array>>>();
    for (const reference of volumeReferences(source)) {
      const found = await readBytes(client, pod.metadata.namespace ?? '', reference);
      if (found !== undefined) data.set(reference, found);
    }
    const tokens = new Map<FilePart, string>();
    for (const part of source.parts) if (part.kind === 'token') tokens.set(part, await this.#token(pod, name, part));
    const files = buildFiles(source, {
      pod,
      podIp,
      hostIp: hostIp(),
      allocatable,
      data,
      token: (part) => tokens.get(part) ?? '',
    });
    await writeVolume(join(place.path, name), files, place);
  }

  async #token(pod: Pod, volume: string, part: Extract<FilePart, { kind: 'token' }>): Promise<string> {
    const key = `${volume}/${part.path}`;
    const known = this.#tokens.get(key);
    if (known !== undefined && this.#deps.clock.now() < known.renewAt) return known.token;
    const { token, lifetimeMs } = await requestToken(this.#deps, pod, part);
    this.#tokens.set(key, { token, renewAt: this.#deps.clock.now() + lifetimeMs * TOKEN_RENEW_SHARE });
    return token;
  }

  /** Pods may swap names in volumes that they write: what was found is bound to a place of the node's, or found again by the runtime. */
  async #subPath(
    { path, container, index }: MountPlace,
    { volume, subPath, isMade }: { readonly volume: string; readonly subPath: string; readonly isMade: boolean },
  ): Promise<Pick<Mount, 'source' | 'within' | 'isDirectory'>> {
    // Files that the kubelet makes are on its own disk.
    if (isMade) return { source: (await find(localVolumeWork, { volume, subPath, make: false })).path };
    const isBound = this.#deps.abilities.isolation === true;
    const target = isBound ? subPathTarget(path, container, index) : undefined;
    const found = await find(this.#work, { volume, subPath, make: true, target });
    const { isDirectory } = found;
    if (target !== undefined && found.isBound) return { source: target };
    return { source: found.path, within: found.volume, isDirectory };
  }

  #directoryOf(source: VolumeSource, place: VolumePlace, name: string): string {
    if (source.kind === 'hostPath') return source.path;
    const isClaimed = source.kind === 'claim' || source.kind === 'csi' || source.kind === 'nfs';
    return (isClaimed ? this.#claimed.get(name) : undefined) ?? join(place.path, name);
  }

  async #mount(place: MountPlace, mount: VolumeMount, env: Readonly<Record<string, string>>): Promise<Mount> {
    const volume = (place.pod.spec.volumes ?? []).find(({ name }) => name === mount.name);
    if (volume === undefined) throw new VolumeError(`volume "${mount.name}" is not a volume of the pod`);
    const source = readVolume(volume, place.pod);
    const whole = this.#directoryOf(source, place, volume.name);
    const { subPath = '', subPathExpr = '' } = mount;
    const within = subPathExpr === '' ? subPath : expandSubPath(subPathExpr, env);
    // What the kubelet itself asks a server that hangs does not return.
    if (within !== '' && this.#shares.has(volume.name)) await this.#deps.csi?.look(whole);
    // The directory of a ticket is the kubelet's, too.
    const isMade = source.kind === 'files' || (source.kind === 'claim' && !this.#claimed.has(volume.name));
    return {
      ...(within === ''
        ? { source: whole, ...(this.#shares.has(volume.name) ? { isDirectory: true } : {}) }
        : await this.#subPath(place, { volume: whole, subPath: within, isMade })),
      target: mount.mountPath,
      readOnly: isMade || mount.readOnly === true || (source.kind === 'claim' && source.readOnly),
      ...propagationOf(mount),
    };
  }
}

/** Mounts that are made later, on the machine or in the container. By default neither sees those of the other. */
function propagationOf({ mountPropagation: asked }: VolumeMount): Pick<Mount, 'propagation'> {
  return asked === 'HostToContainer' || asked === 'Bidirectional' ? { propagation: asked } : {};
}

/** Other than a volume, a sub path that cannot be had is a fault of the container alone. */
function find(work: VolumeWork, request: SubPathRequest): Promise<FoundSubPath> {
  return work.findSubPath(request).catch(toConfigError);
}

function toConfigError(error: unknown): never {
  if (error instanceof VolumeError) throw new ContainerConfigError(error.message);
  throw error;
}

/** The type of a claim's place that is a device, in the words of `hostPath.type`. */
const DEVICE = 'BlockDevice';

interface MountPlace extends VolumePlace {
  readonly container: string;
  readonly index: number;
}

/** Their files belong to users of the machine, and this node cannot show them as users of the pod. */
function refuseForeign({ owner }: VolumePlace, type: string): void {
  if (owner?.isShifted !== true) return;
  throw new VolumeError(
    `${type} volumes are not supported in pods with users of their own (hostUsers: false) on this node: ` +
      'its runtime cannot map their owners (id-mapped mounts)',
  );
}

type EmptyDir = Extract<VolumeSource, { kind: 'emptyDir' }>;

function mountedVolumes(pod: Pod): readonly Volume[] {
  const { mounted, asDevice } = usesOf(pod);
  return (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name) || asDevice.has(name));
}

const isReadOnly = ({ spec }: Pod, name: string): boolean =>
  spec.volumes?.find((volume) => volume.name === name)?.persistentVolumeClaim?.readOnly === true;
