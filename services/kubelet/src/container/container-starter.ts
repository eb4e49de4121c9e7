import { type Container, type Pod, RUNTIME_CLASSES, type Service } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, describeError, type Log, type Tracer } from '@holdfast/platform';
import type { NodeVolumeDirectories } from '../adapters/node-volume-directories.ts';
import type { VolumeWork } from '../adapters/volume-work.ts';
import type { CsiVolumes } from '../csi/csi-volumes.ts';
import { type ClusterDns, kernelHostName, missesClusterDns, podNames } from '../domain/network-identity.ts';
import type { NodeFacts, PodAction, PodMemory } from '../domain/pod-worker-types.ts';
import { sandboxRefusal } from '../domain/refusals.ts';
import { sandboxIsolation } from '../domain/sandbox-isolation.ts';
import { ownerOf, tokenUser } from '../domain/volume-owner.ts';
import type { NodeAdmission } from '../node/node-admission.ts';
import type { UserRanges } from '../node/user-ranges.ts';
import { RuntimeError, type SandboxConfig, type SandboxStatus } from '../runtime/port.ts';
import { type ExclusiveStarts, fencingClassOf } from '../self-fencing/exclusive-starts.ts';
import { type ContainerVolumes, PodVolumes, type VolumePlace } from '../volumes/pod-volumes.ts';
import type { VolumeAttachments } from '../volumes/volume-attachments.ts';
import { type ContainerConfigDeps, containerConfig } from './container-config.ts';
import { containerFiles } from './container-files.ts';
import type { HandlerDeps } from './hooks.ts';
import type { TellPod } from './pod-events.ts';
import { type ImageWait, PodImages } from './pod-images.ts';
import { runPostStart } from './post-start.ts';
import { ReferencedTexts } from './referenced-texts.ts';
import { alreadyPresent, created, missingDns, notEnforcedEvent, notStarted, started } from './start-events.ts';
import { StartFailures } from './start-failures.ts';

export interface ContainerStarterDeps extends HandlerDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  readonly node: NodeFacts;
  readonly dns: ClusterDns;
  readonly admission: NodeAdmission;
  readonly ranges: UserRanges;
  /** Absent: no volume of this node has to be attached. */
  readonly attachments?: VolumeAttachments | undefined;
  /** Absent: no check precedes the start of an exclusive pod. */
  readonly exclusives?: ExclusiveStarts | undefined;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Absent: this node has no CSI drivers. */
  readonly csi?: CsiVolumes | undefined;
  /** Absent: this node keeps no directories of volumes. */
  readonly directories?: NodeVolumeDirectories | undefined;
  /** Default: in this process. */
  readonly volumeWork?: VolumeWork | undefined;
  /** All Services of the cluster that pods get variables for. */
  /** The services as this pod reaches them. */
  readonly services: (pod: Pod) => Promise<readonly Service[]>;
  /** Absent: containers do what their commands say. */
  readonly scriptOf?: ((pod: Pod, container: string) => string | undefined) | undefined;
  readonly tell: TellPod;
  readonly remember: (change: (memory: PodMemory) => PodMemory) => void;
  /** Something ended in the background. */
  readonly wake: () => void;
}

type StartContainer = Extract<PodAction, { kind: 'startContainer' }>;

/** Starts sandboxes and containers of one pod with all that they need, and remembers why one could not be started. */
export class ContainerStarter {
  readonly #deps: ContainerStarterDeps;
  /** Absent where the runtime only pretends. */
  readonly #volumes: PodVolumes | undefined;
  /** Absent where the runtime has no images. */
  readonly #images: PodImages | undefined;
  readonly #failures: StartFailures;
  readonly #texts: ReferencedTexts;
  /** Its volumes may have been begun, its first sandbox has not been seen. */
  #withoutSandbox: string | undefined;
  /** Nothing of the pod ran before this kubelet process: all its volumes are known. */
  #isFirstHere = false;
  readonly #stopped = new AbortController();

  constructor(deps: ContainerStarterDeps) {
    this.#deps = deps;
    this.#failures = new StartFailures(deps);
    this.#texts = new ReferencedTexts(deps.client);
    const { client, clock, allocatable, node, tell, admission, directories, volumeWork, csi } = deps;
    const { abilities } = deps.runtime;
    const onFailure = (pod: Pod, message: string): void =>
      tell(pod, { type: 'Warning', reason: 'FailedMount', message });
    this.#volumes =
      abilities === undefined
        ? undefined
        : new PodVolumes({
            client,
            clock,
            abilities,
            allocatable,
            hostIp: () => node.address,
            node: () => admission.node(),
            directories,
            volumeWork,
            csi,
            onExpanded: (pod, message) => tell(pod, { type: 'Normal', reason: 'FileSystemResizeSuccessful', message }),
            onFailure,
            onForeign: (pod, message) => tell(pod, { type: 'Warning', reason: 'VolumeNotWritable', message }),
          });
    this.#images = this.#createImages();
  }

  #createImages(): PodImages | undefined {
    const { client, clock, tell, wake, runtime } = this.#deps;
    const { images } = runtime;
    if (images === undefined) return undefined;
    const onPulled = (pod: Pod, container: Container, failure: ImageWait | undefined): void => {
      if (failure === undefined) this.#failures.clear(container.name);
      else this.#failures.imageMissing(pod, container, failure);
      wake();
    };
    return new PodImages({ images, client, clock, tell, onPulled });
  }

  /** A newer view of the pod. */
  offer(pod: Pod): void {
    this.#volumes?.offer(pod);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#images?.stop();
    await this.#volumes?.stop();
    this.#discardVolumes();
  }

  /** `undefined`: an earlier kubelet process may have given the pod directories. */
  usesDirectory(uid: string): boolean | undefined {
    if (this.#volumes?.usesDirectory(uid) === true) return true;
    return this.#isFirstHere ? false : undefined;
  }

  async runSandbox(attempt: number, pod: Pod): Promise<void> {
    try {
      await this.#makeSandbox(attempt, pod);
    } catch (error) {
      this.#failures.sandboxFailed(pod, error);
    }
  }

  async #makeSandbox(attempt: number, pod: Pod): Promise<void> {
    const { runtime, node, dns, tell } = this.#deps;
    const { uid: podUid = '', namespace: podNamespace = '', name: podName = '' } = pod.metadata;
    const refusal = runtime.abilities === undefined ? undefined : sandboxRefusal(pod, runtime.abilities);
    if (refusal !== undefined) throw new RuntimeError('Unsupported', refusal);
    const isolation = await this.#isolation(pod);
    const users = await this.#users(pod, isolation);
    await this.#deps.exclusives?.confirm(pod, attempt > 0);
    await this.#ensureAttached(pod);
    if (attempt === 0) this.#withoutSandbox = podUid;
    await this.#setUpVolumes(pod, this.#owners(pod, users));
    this.#isFirstHere ||= this.#volumes !== undefined && attempt === 0;
    const hostname = kernelHostName(pod, podNames(pod, node.hostname, dns));
    const fencing = fencingClassOf(pod);
    const network = pod.spec.hostNetwork === true ? ({ hostNetwork: true } as const) : {};
    const identity = { podUid, podName, podNamespace, hostname, attempt, ...network };
    await runtime.runSandbox({ ...identity, fencing, ...users, ...isolation });
    this.#withoutSandbox = undefined;
    this.#failures.clear('');
    if (missesClusterDns(pod, dns)) tell(pod, missingDns(pod));
  }

  /** Before the sandbox: nothing of the pod's network exists while something that it needs is missing. */
  async #setUpVolumes(pod: Pod, owners: VolumeOwners): Promise<void> {
    const { uid = '' } = pod.metadata;
    const path = this.#deps.runtime.volumes?.path(uid);
    if (path === undefined) return;
    await this.#volumes?.setUp({ pod, path, podIp: '', ...owners });
    this.#failures.volumesReady();
  }

  /** Nothing of the pod runs, or will run: its CSI volumes are unmounted. Rejects while one is left. */
  async unmount(pod: Pod | undefined, uid: string): Promise<void> {
    const { csi, tell } = this.#deps;
    if (csi?.holds(uid) !== true) return;
    try {
      await this.#volumes?.rest();
      await csi.tearDown(uid);
    } catch (error) {
      if (pod !== undefined) tell(pod, { type: 'Warning', reason: 'FailedUnmount', message: describeError(error) });
      throw error;
    }
  }

  /** Without a sandbox nothing else removes the volumes. */
  #discardVolumes(): void {
    const { runtime, log } = this.#deps;
    const uid = this.#withoutSandbox;
    this.#withoutSandbox = undefined;
    // What a CSI driver has mounted is unmounted before, or by the next start of the node.
    if (uid === undefined || this.#deps.csi?.holds(uid) === true) return;
    try {
      runtime.volumes?.remove(uid);
    } catch (error) {
      log.warn('the volumes of a pod that never ran could not be removed: the next start of the node tries again', {
        uid,
        error,
      });
    }
  }

  async #isolation(pod: Pod): Promise<Pick<SandboxConfig, 'isolation'>> {
    const { runtime, client } = this.#deps;
    if (runtime.abilities?.isolation !== true) return {};
    const { runtimeClassName: name = '' } = pod.spec;
    if (name === '') return { isolation: sandboxIsolation(pod, undefined) };
    const runtimeClass = await client.find(RUNTIME_CLASSES, { name });
    if (runtimeClass === undefined)
      throw new RuntimeError('Unsupported', `RuntimeClass ${JSON.stringify(name)} not found`);
    return { isolation: sandboxIsolation(pod, runtimeClass.handler) };
  }

  async #users(pod: Pod, { isolation }: Pick<SandboxConfig, 'isolation'>): Promise<Pick<SandboxConfig, 'userRange'>> {
    const { ranges, runtime } = this.#deps;
    if (runtime.abilities === undefined) return {};
    const userRange = await ranges.of(pod, runtime, isolation?.handler ?? '');
    return userRange === undefined ? {} : { userRange };
  }

  #owners(pod: Pod, { userRange }: Pick<SandboxConfig, 'userRange'>): VolumeOwners {
    const { abilities, userNamespaces } = this.#deps.runtime;
    const range = userNamespaces?.mapsVolumes === true ? undefined : userRange;
    if (abilities === undefined) return {};
    return { owner: ownerOf(pod, abilities, range), tokenUser: tokenUser(pod, abilities, range) };
  }

  async startContainer(action: StartContainer, pod: Pod, sandboxes: readonly SandboxStatus[]): Promise<void> {
    try {
      await this.#makeContainer(action, pod, sandboxes);
    } catch (error) {
      this.#failures.containerFailed(pod, action.container, error);
    }
  }

  async #makeContainer(action: StartContainer, pod: Pod, sandboxes: readonly SandboxStatus[]): Promise<void> {
    const { runtime, tell } = this.#deps;
    const { container, restartCount, sandboxId } = action;
    const { ip: podIp = '', moreIps: morePodIps = [] } = sandboxes.find(({ id }) => id === sandboxId) ?? {};
    // The path of the first sandbox: a later one of the same pod finds its files.
    const path = sandboxes[0]?.volumesPath;
    const owners = this.#owners(pod, sandboxes[0]?.config ?? {});
    const place = { pod, container, restartCount, podIp, path, ...owners };
    const startBeforeMs = await this.#deps.exclusives?.confirm(pod, restartCount > 0);
    await this.#ensureAttached(pod);
    const image = await this.#images?.ensure(pod, container);
    const hasOwnUsers = sandboxes[0]?.config.userRange !== undefined;
    if (!hasOwnUsers) this.#deps.ranges.name(pod, container, runtime.abilities);
    const life = { restartCount, podIp, morePodIps, image, target: targetOf(container, sandboxes), hasOwnUsers };
    const config = await containerConfig(this.#configDeps(place), pod, container, life);
    const script = this.#deps.scriptOf?.(pod, container.name);
    const id = await runtime.createContainer(sandboxId, script === undefined ? config : { ...config, script });
    if (image === undefined) tell(pod, alreadyPresent(container));
    tell(pod, created(container));
    await runtime.startContainer(id, startBeforeMs);
    this.#failures.clear(container.name);
    this.#failures.volumesReady();
    const startError = await this.#startError(id, pod);
    if (startError === undefined) this.#started(id, place);
    else tell(pod, notStarted(container, startError));
  }

  /** Runtimes report a command that could not be started as the end of its container, not as a failure of the start. */
  async #startError(id: string, { metadata }: Pod): Promise<string | undefined> {
    try {
      const sandboxes = await this.#deps.runtime.list({ podUid: metadata.uid ?? '' });
      return startErrorOf(sandboxes, id);
    } catch {
      // It may run: its hook would be missing for good, while an event too many does no harm.
      return undefined;
    }
  }

  #started(id: string, { pod, container, podIp }: StartPlace): void {
    const { tell, node, runtime } = this.#deps;
    runPostStart({ ...this.#deps, stopped: this.#stopped.signal }, id, { pod, container, podIp });
    tell(pod, started(container));
    if (runtime.abilities === undefined) return;
    const { watchesFiles = false } = node;
    const caution = notEnforcedEvent(pod, container, { ...runtime.abilities, watchesFiles });
    if (caution !== undefined) tell(pod, caution);
  }

  #configDeps(place: StartPlace): ContainerConfigDeps {
    const { runtime, allocatable, node, services } = this.#deps;
    const { path } = place;
    const deps = { texts: this.#texts, allocatable, hostIp: node.address, abilities: runtime.abilities, services };
    const volumes = this.#volumes;
    if (volumes === undefined || path === undefined) return deps;
    return { ...deps, volumes: (environment) => this.#prepare(volumes, { ...place, path }, environment) };
  }

  async #prepare(
    volumes: PodVolumes,
    place: StartPlace & { readonly path: string },
    environment: Readonly<Record<string, string>>,
  ): Promise<ContainerVolumes> {
    const { runtime, node, dns } = this.#deps;
    const made = await volumes.prepare(place, place.container, environment);
    if (runtime.abilities?.mounts !== true) return made;
    const files = await containerFiles({ ...place, nodeHostname: node.hostname, dns });
    return { ...made, mounts: [...made.mounts, ...files] };
  }

  /** On every start, not only the first: an attachment may be removed while the pod runs. */
  async #ensureAttached(pod: Pod): Promise<void> {
    await this.#deps.attachments?.ensure(pod);
    this.#failures.attached();
  }
}

type VolumeOwners = Pick<VolumePlace, 'owner' | 'tokenUser'>;

interface StartPlace extends VolumeOwners {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly podIp: string;
  readonly path: string | undefined;
}

function startErrorOf(sandboxes: readonly SandboxStatus[], id: string): string | undefined {
  const found = sandboxes.flatMap(({ containers }) => containers).find((each) => each.id === id);
  if (found?.state !== 'exited' || found.reason !== 'StartError') return undefined;
  return found.message ?? 'the container could not be started';
}

/** EPH: the running container whose processes this one is to see. */
function targetOf(container: Container, sandboxes: readonly SandboxStatus[]): string | undefined {
  const name = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (name === undefined || name === '') return undefined;
  const all = sandboxes.flatMap(({ containers }) => containers);
  return all.find(({ config, state }) => config.name === name && state === 'running')?.id;
}
