import { type Container, type Pod, RUNTIME_CLASSES, type Service } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, describeError, type Log, type Tracer } from '@holdfast/platform';
import { ContainerConfigError } from '../domain/environment.ts';
import { type ClusterDns, kernelHostName, missesClusterDns, podNames } from '../domain/network-identity.ts';
import type { NodeFacts, PodAction, PodMemory } from '../domain/pod-worker-types.ts';
import { notEnforced, sandboxRefusal } from '../domain/refusals.ts';
import { sandboxIsolation } from '../domain/sandbox-isolation.ts';
import { VolumeError } from '../domain/volume-files.ts';
import { ownerOf, tokenUser } from '../domain/volume-owner.ts';
import {
  ATTACH_RETRY_INITIAL_MS,
  ATTACH_RETRY_MAX_MS,
  ATTACH_WAITS_UNTOLD,
  POST_START_TIMEOUT_MS,
  START_RETRY_MS,
  VOLUME_RETRY_INITIAL_MS,
} from '../limits.ts';
import type { NodeAdmission } from '../node/node-admission.ts';
import type { UserRanges } from '../node/user-ranges.ts';
import { RuntimeError, type SandboxConfig, type SandboxStatus } from '../runtime/port.ts';
import { type ExclusiveStarts, fencingClassOf } from '../self-fencing/exclusive-starts.ts';
import { START_RETRY_MS as FENCED_RETRY_MS } from '../self-fencing/limits.ts';
import { PromiseWait } from '../self-fencing/promise-keeper.ts';
import { type ContainerVolumes, PodVolumes, type VolumePlace } from '../volumes/pod-volumes.ts';
import { AttachWait, type VolumeAttachments } from '../volumes/volume-attachments.ts';
import { type ContainerConfigDeps, containerConfig } from './container-config.ts';
import { containerFiles } from './container-files.ts';
import { type HandlerDeps, runHook } from './hooks.ts';
import type { TellPod } from './pod-events.ts';
import { ImageWait, PodImages } from './pod-images.ts';

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
  /** All Services of the cluster that pods get variables for. */
  readonly services: () => Promise<readonly Service[]>;
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
  #volumeFailures = 0;
  #attachWaits = 0;
  /** Its volumes may have been begun, its first sandbox has not been seen. */
  #withoutSandbox: string | undefined;

  constructor(deps: ContainerStarterDeps) {
    this.#deps = deps;
    const { client, clock, allocatable, node, tell, admission } = deps;
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
      if (failure === undefined) this.#clearFailure(container.name);
      else this.#imageMissing(pod, container, failure);
      wake();
    };
    return new PodImages({ images, client, clock, tell, onPulled });
  }

  /** A newer view of the pod. */
  offer(pod: Pod): void {
    this.#volumes?.offer(pod);
  }

  async stop(): Promise<void> {
    this.#images?.stop();
    await this.#volumes?.stop();
    this.#discardVolumes();
  }

  async runSandbox(attempt: number, pod: Pod): Promise<void> {
    const { runtime, node, dns, tell } = this.#deps;
    const { uid: podUid = '', namespace: podNamespace = '', name: podName = '' } = pod.metadata;
    try {
      const refusal = runtime.abilities === undefined ? undefined : sandboxRefusal(pod, runtime.abilities);
      if (refusal !== undefined) throw new RuntimeError('Unsupported', refusal);
      const isolation = await this.#isolation(pod);
      const users = await this.#users(pod, isolation);
      await this.#deps.exclusives?.confirm(pod, attempt > 0);
      await this.#ensureAttached(pod);
      if (attempt === 0) this.#withoutSandbox = podUid;
      await this.#setUpVolumes(pod, this.#owners(pod, users));
      const hostname = kernelHostName(pod, podNames(pod, node.hostname, dns));
      const fencing = fencingClassOf(pod);
      await runtime.runSandbox({ podUid, podName, podNamespace, hostname, attempt, fencing, ...users, ...isolation });
      this.#withoutSandbox = undefined;
      this.#clearFailure('');
      if (missesClusterDns(pod, dns)) tell(pod, missingDns(pod));
    } catch (error) {
      if (error instanceof AttachWait) {
        this.#waitForAttach(pod, '', error);
        return;
      }
      if (isFenced(error)) {
        this.#remember('', creating(pod), describeError(error), FENCED_RETRY_MS);
        return;
      }
      if (error instanceof VolumeError) {
        this.#volumesFailed(pod, '', error);
        return;
      }
      this.#startFailed(pod, '', { reason: 'FailedCreatePodSandBox', error });
      const message = `Failed to create pod sandbox: ${describeError(error)}`;
      tell(pod, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    }
  }

  /** Before the sandbox: nothing of the pod's network exists while something that it needs is missing. */
  async #setUpVolumes(pod: Pod, owners: VolumeOwners): Promise<void> {
    const { uid = '' } = pod.metadata;
    const path = this.#deps.runtime.volumes?.path(uid);
    if (path === undefined) return;
    await this.#volumes?.setUp({ pod, path, podIp: '', ...owners });
    this.#volumeFailures = 0;
  }

  /** Without a sandbox nothing else removes the volumes. */
  #discardVolumes(): void {
    const { runtime, log } = this.#deps;
    const uid = this.#withoutSandbox;
    this.#withoutSandbox = undefined;
    if (uid === undefined) return;
    try {
      runtime.volumes?.remove(uid);
    } catch (error) {
      log.warn('volumes of a pod that never ran not removed: the next start of the node tries again', { uid, error });
    }
  }

  #volumesFailed(pod: Pod, name: string, error: VolumeError): void {
    const retryMs = Math.min(VOLUME_RETRY_INITIAL_MS * 2 ** this.#volumeFailures, START_RETRY_MS);
    this.#volumeFailures++;
    this.#startFailed(pod, name, { reason: creating(pod), error }, retryMs);
    this.#deps.tell(pod, { type: 'Warning', reason: 'FailedMount', message: describeError(error) });
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
    const { runtime, tell } = this.#deps;
    const { container, restartCount, sandboxId } = action;
    const { name } = container;
    try {
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
      const id = await runtime.createContainer(sandboxId, config);
      if (image === undefined) tell(pod, alreadyPresent(container));
      tell(pod, { type: 'Normal', reason: 'Created', message: `Created container: ${name}`, container: name });
      await runtime.startContainer(id, startBeforeMs);
      this.#clearFailure(name);
      this.#volumeFailures = 0;
      if (container.lifecycle?.postStart !== undefined) this.#runPostStart(id, { pod, container, podIp });
      tell(pod, { type: 'Normal', reason: 'Started', message: `Started container ${name}`, container: name });
      this.#tellNotEnforced(pod, container);
    } catch (error) {
      this.#containerFailed(pod, container, error);
    }
  }

  #configDeps(place: StartPlace): ContainerConfigDeps {
    const { runtime, client, allocatable, node, services } = this.#deps;
    const { path } = place;
    const deps = { client, allocatable, hostIp: node.address, abilities: runtime.abilities, services };
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

  #containerFailed(pod: Pod, container: Container, error: unknown): void {
    const { tell } = this.#deps;
    const { name } = container;
    const message = describeError(error);
    if (error instanceof ImageWait) {
      this.#imageMissing(pod, container, error);
      return;
    }
    if (error instanceof AttachWait) {
      this.#waitForAttach(pod, name, error);
      return;
    }
    if (isFenced(error)) {
      this.#remember(name, creating(pod), message, FENCED_RETRY_MS);
      return;
    }
    if (error instanceof VolumeError) {
      this.#volumesFailed(pod, name, error);
      return;
    }
    this.#startFailed(pod, name, { reason: reasonOf(error), error });
    tell(pod, { type: 'Warning', reason: 'Failed', message: `Error: ${message}`, container: name });
  }

  #imageMissing(pod: Pod, { name }: Container, { reason = creating(pod), message, retryMs }: ImageWait): void {
    this.#remember(name, reason, message, retryMs);
  }

  /** On every start, not only the first: an attachment may be removed while the pod runs. */
  async #ensureAttached(pod: Pod): Promise<void> {
    await this.#deps.attachments?.ensure(pod);
    this.#attachWaits = 0;
  }

  /**
   * The attach controller reports what the volume waits for. After a while this reports it, too, in case there is no
   * such controller.
   */
  #waitForAttach(pod: Pod, name: string, { message }: AttachWait): void {
    const retryMs = Math.min(ATTACH_RETRY_INITIAL_MS * 2 ** this.#attachWaits, ATTACH_RETRY_MAX_MS);
    this.#attachWaits++;
    this.#remember(name, creating(pod), message, retryMs);
    if (this.#attachWaits % ATTACH_WAITS_UNTOLD !== 0) return;
    this.#deps.tell(pod, { type: 'Warning', reason: 'FailedMount', message: `Unable to attach volumes: ${message}` });
  }

  #remember(name: string, reason: string, message: string, retryMs: number): void {
    const { clock, remember } = this.#deps;
    const failure = { reason, message, retryAt: clock.now() + retryMs };
    remember((memory) => ({ ...memory, failures: { ...memory.failures, [name]: failure } }));
  }

  /** Reports limits and restrictions that are not enforced here. */
  #tellNotEnforced(pod: Pod, container: Container): void {
    const { abilities } = this.#deps.runtime;
    if (abilities === undefined) return;
    const { watchesFiles = false } = this.#deps.node;
    const fields = notEnforced(pod, container, { ...abilities, watchesFiles });
    if (fields.length === 0) return;
    const message = `Not enforced for processes of this node: ${fields.join(', ')}`;
    this.#deps.tell(pod, { type: 'Warning', reason: 'NotEnforced', message, container: container.name });
  }

  /** In the background: a deletion must not wait for a hanging hook. */
  #runPostStart(id: string, of: { readonly pod: Pod; readonly container: Container; readonly podIp: string }): void {
    const { pod, container, podIp } = of;
    const { remember, tell, wake } = this.#deps;
    const hook = container.lifecycle?.postStart;
    if (hook === undefined) return;
    remember((memory) => ({ ...memory, postStart: { ...memory.postStart, [id]: 'running' } }));
    const target = { id, podIp, ports: container.ports ?? [], timeoutMs: POST_START_TIMEOUT_MS };
    void runHook(this.#deps, hook, target)
      .then(
        () =>
          remember((memory) => {
            const { [id]: _done, ...postStart } = memory.postStart;
            return { ...memory, postStart };
          }),
        (error: unknown) => {
          remember((memory) => ({ ...memory, postStart: { ...memory.postStart, [id]: 'failed' } }));
          const message = `PostStartHook failed: ${describeError(error)}`;
          tell(pod, { type: 'Warning', reason: 'FailedPostStartHook', message, container: container.name });
        },
      )
      .finally(wake);
  }

  #startFailed(
    { metadata }: Pod,
    name: string,
    { reason, error }: { readonly reason: string; readonly error: unknown },
    retryMs = START_RETRY_MS,
  ): void {
    const { clock, log, remember } = this.#deps;
    const failure = { reason, message: describeError(error), retryAt: clock.now() + retryMs };
    remember((memory) => ({ ...memory, failures: { ...memory.failures, [name]: failure } }));
    const { uid, namespace } = metadata;
    log.warn('container not started', { pod: { uid, namespace, name: metadata.name }, container: name, error });
  }

  #clearFailure(name: string): void {
    this.#deps.remember((memory) => {
      const { [name]: _cleared, ...failures } = memory.failures;
      return { ...memory, failures };
    });
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

/** Not an error: the pod must be confirmed again. */
const isFenced = (error: unknown): boolean =>
  error instanceof PromiseWait || (error instanceof RuntimeError && error.code === 'Fenced');

const creating = ({ spec }: Pod): string =>
  (spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';

const alreadyPresent = ({ name, image = '' }: Container) =>
  ({
    type: 'Normal',
    reason: 'Pulled',
    message: `Container image "${image}" already present on machine`,
    container: name,
  }) as const;

/** EPH: the running container whose processes this one is to see. */
function targetOf(container: Container, sandboxes: readonly SandboxStatus[]): string | undefined {
  const name = 'targetContainerName' in container ? container.targetContainerName : undefined;
  if (name === undefined || name === '') return undefined;
  const all = sandboxes.flatMap(({ containers }) => containers);
  return all.find(({ config, state }) => config.name === name && state === 'running')?.id;
}

const missingDns = ({ spec }: Pod) =>
  ({
    type: 'Warning',
    reason: 'MissingClusterDNS',
    message: `kubelet does not have ClusterDNS IP configured and cannot create Pod using "${spec.dnsPolicy ?? ''}" policy. Falling back to "Default" policy.`,
  }) as const;

function reasonOf(error: unknown): string {
  return error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'CreateContainerError';
}
