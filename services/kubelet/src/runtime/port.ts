import type { Duplex, Readable, Writable } from 'node:stream';
import type { UserRange } from '../domain/user-ranges.ts';
import type { FencingClass } from './fencing-deadline.ts';
import type { ExclusiveGuard } from './port-guard.ts';
import type { RuntimeImages } from './port-images.ts';
import type { ContainerIsolation, SandboxIsolation } from './port-isolation.ts';

/**
 * The container runtime, in the shape of CRI. Backends (`process`, `hollow`, `cri`) pass the same contract tests.
 * Everything here is idempotent: stopping what is stopped and removing what is gone succeed.
 * Every method rejects with `RuntimeError`.
 */
export interface ContainerRuntime {
  /** The settings that containers really get. Absent: the runtime is simulated and claims everything. */
  readonly abilities?: RuntimeAbilities;
  /** Absent: this runtime cannot carry streams. */
  readonly streams?: RuntimeStreams;
  /** Absent: there are no images to fetch, every one counts as present. */
  readonly images?: RuntimeImages;
  /** Human-readable `name://version`, for `status.nodeInfo.containerRuntimeVersion`. */
  version(): Promise<string>;
  /** Absent: it can run pods whenever it responds. Rejects when it does not respond. */
  health?(): Promise<RuntimeHealth>;
  /** Absent: the runtime has no files. */
  readonly volumes?: RuntimeVolumes;
  /** Absent: every pod runs in the users of the machine. */
  readonly userNamespaces?: RuntimeUserNamespaces;
  /** Absent: nothing ends these pods when the kubelet cannot. */
  readonly guard?: ExclusiveGuard;
  /** Resource usage of running containers. Absent: not measured. */
  usage?(): Promise<readonly ContainerUsage[]>;
  /** The pod's isolation unit. Created before any container; its id never changes. */
  runSandbox(config: SandboxConfig): Promise<SandboxId>;
  /** Stops every container in it, then the sandbox itself. */
  stopSandbox(id: SandboxId, graceMs: number): Promise<void>;
  /** Removes the sandbox, its containers and their files. Only legal when everything in it has stopped. */
  removeSandbox(id: SandboxId): Promise<void>;
  createContainer(sandbox: SandboxId, config: ContainerConfig): Promise<ContainerId>;
  /**
   * Resolves when the process runs, and also when it could not be started: the container is then `exited` with reason
   * `StartError`, exit code 128 and a message that says why. Rejects with `Fenced`, and starts nothing, when the guard's clock has
   * reached `startBeforeMs`, or a promise covers the container that this number does not belong to.
   */
  startContainer(id: ContainerId, startBeforeMs?: number): Promise<void>;
  /**
   * Sends the stop signal, waits at most `graceMs`, then kills. Resolves only when every process of the container is
   * confirmed gone; rejects when that cannot be confirmed. A second call can only shorten the time that is left. When the
   * caller goes away (`close`, a crash) before the end, the kill is called off: the next caller starts over.
   */
  stopContainer(id: ContainerId, graceMs: number): Promise<void>;
  removeContainer(id: ContainerId): Promise<void>;
  /**
   * Runs a command inside a running container (probes and hooks). A timeout kills it and rejects with `Timeout`. It ends with
   * its container. After `signal` nobody waits for it, and a runtime that can gives it up.
   */
  exec(id: ContainerId, command: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<ExecResult>;
  /**
   * Lists the sandboxes of this node, also after a restart of the kubelet: the runtime, not the kubelet, is the memory.
   */
  list(filter?: { readonly podUid?: string }): Promise<readonly SandboxStatus[]>;
  /** Calls back after any container or sandbox changed state (a hint to list again, possibly late or doubled). */
  onChange(listener: (podUid: string) => void): () => void;
  /** Lets go of the runtime. Containers run on. */
  close(): Promise<void>;
}

export interface RuntimeAbilities {
  /** Containers see volumes at their mount paths. */
  readonly mounts: boolean;
  /** Containers see block volumes as devices. */
  readonly devices?: true;
  /** Volumes in memory, which all containers of a pod share. */
  readonly memoryVolumes?: true;
  /** The user of every process, or `any`: then each container may choose, and defaults to root. */
  readonly user: 'any' | { readonly uid: number; readonly gid: number };
  /** The ids in use on the machine. Absent: only root. */
  readonly ids?: { readonly users: ReadonlyMap<number, string>; readonly groups: ReadonlyMap<number, string> };
  /** Commands cannot gain rights, and those of users other than root have none beyond their user's. */
  readonly confines?: true;
  /** Pods that do not ask for the network of the machine have one of their own, and none of their ports is mapped. */
  readonly ownNetworks?: true;
  /** Limits, security contexts, namespaces and networks of pods are carried out. Absent: pods are processes of the machine. */
  readonly isolation?: true;
}

/** The volumes of pods: they exist from before the first sandbox of a pod until its last is removed. */
export interface RuntimeVolumes {
  readonly path: (podUid: string) => string;
  /** For pods that never had a sandbox. */
  readonly remove: (podUid: string) => void;
  /** The node goes down and no container runs: unmounts what the kubelet mounted for pods. What was only in memory ends. */
  readonly release?: () => void;
}

export interface RuntimeUserNamespaces {
  /** Volumes show the machine's ids as inner ids. Otherwise their creator gives them the outer ids. */
  readonly mapsVolumes: boolean;
  /** Why a sandbox of this handler ('': the runtime's own) cannot have users of its own; `undefined`: it can. */
  refusal(handler: string): Promise<string | undefined>;
}

/** One sentence each, with Kubernetes' wording; absent means healthy. */
export interface RuntimeHealth {
  readonly runtimeFault?: string;
  readonly networkFault?: string;
}

export interface ContainerUsage {
  readonly podUid: string;
  readonly container: string;
  readonly at: number;
  /** All cores together, since the start of the container. */
  readonly cpuNanoseconds: number;
  /** Memory that cannot be reclaimed without harm. */
  readonly memoryBytes: number;
  /** Absent when not counted. */
  readonly processes?: number;
}

/**
 * Streams to and from what runs, without a transport: CRI's `Exec`, `Attach` and `PortForward`. Streams are Node's, so that
 * whoever writes faster than the other end reads is made to wait. Rejects with `RuntimeError`: `NotFound`, `IllegalState`
 * when the container or sandbox does not run, `Unsupported` when a terminal was asked for and none can be given.
 */
export interface RuntimeStreams {
  /** A command beside a running container: its namespaces, environment, working directory and user. */
  exec(id: ContainerId, request: ExecStreamRequest): Promise<ProcessStreams>;
  /** The container's own streams from now on. What it wrote before belongs to its log. */
  attach(id: ContainerId, request: AttachRequest): Promise<ProcessStreams>;
  /** A TCP connection to this port inside the sandbox's network. Either side may end its half first. */
  portForward(sandbox: SandboxId, port: number): Promise<Duplex>;
}

export interface AttachRequest {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Never together with a terminal: that has one output. */
  readonly stderr: boolean;
  /** Exec: give it a terminal. Attach: must be what the container was created with. */
  readonly tty: boolean;
}

export interface ExecStreamRequest extends AttachRequest {
  readonly command: readonly string[];
}

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

export interface ProcessStreams {
  /**
   * Present when requested. Its end closes the process's input. A process that no longer reads discards what is
   * written. Attach: also absent when the container was created without `stdin`.
   */
  readonly stdin?: Writable;
  /**
   * Present when requested. They end when everything was delivered. Attach: a runtime that keeps both in one file
   * delivers both as `stdout`.
   */
  readonly stdout?: Readable;
  readonly stderr?: Readable;
  /** Sets the terminal size. Without a terminal it does nothing. */
  resize(size: TerminalSize): void;
  /**
   * Settles after the process ended; what it wrote is still delivered. Exec: rejects when the command could not be started,
   * unless the call itself did.
   * Attach: when the container ended, or was left. Nobody needs to listen.
   */
  readonly ended: Promise<{ readonly exitCode: number }>;
  /** The caller is gone. Exec: its processes are killed. Attach: the container runs on; `stdinOnce` ends its input. */
  close(): void;
}

export type SandboxId = string;
export type ContainerId = string;

export interface SandboxConfig {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly hostname: string;
  /** Counts sandboxes of this pod on this node. */
  readonly attempt: number;
  /** The pod shares the network of the machine, whatever the runtime gives to others. */
  readonly hostNetwork?: true;
  /** How a guard treats it at the deadline. Absent: as exclusive. */
  readonly fencing?: FencingClass;
  /** The control group above those of the pod. Only given to a runtime that is wrapped with a guard of its containers. */
  readonly cgroupParent?: string;
  /** The pod has a user namespace: ids of its processes are ids inside. Only given to a runtime with `userNamespaces`. */
  readonly userRange?: UserRange;
  /** Only given to a runtime with `abilities.isolation`. */
  readonly isolation?: SandboxIsolation;
}

/** The part of a sandbox that a runtime remembers. */
export type SandboxIdentity = Omit<SandboxConfig, 'isolation'>;

export interface ContainerConfig {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  /** Absent: as the runtime runs. Only given to a runtime whose `abilities.user` is `any`. */
  readonly user?: ProcessUser;
  /** It may do everything on the machine. Only given to a runtime without `abilities.isolation`. */
  readonly privileged?: true;
  /** Only given to a runtime with `abilities.mounts`. */
  readonly mounts?: readonly Mount[];
  /** Only given to a runtime with `abilities.isolation`. */
  readonly devices?: readonly DeviceUse[];
  /** Its input stays open for `attach`; otherwise it is empty. */
  readonly stdin?: boolean;
  /** The input ends when the first client that was attached to it leaves. */
  readonly stdinOnce?: boolean;
  /** Its streams are a terminal. */
  readonly tty?: boolean;
  /** Id of the image, where the runtime has images. */
  readonly imageId?: string;
  /** Only given to a runtime with `abilities.isolation`. */
  readonly isolation?: ContainerIsolation;
  /** What a simulated machine plays in place of the command; see `readPodScript`. Other runtimes do not read it. */
  readonly script?: string;
  /** Counts starts of this container in this pod; 0 for the first. */
  readonly restartCount: number;
}

export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  /** Beside `gid`. */
  readonly groups?: readonly number[];
}

/** A block device that the container sees. */
export interface DeviceUse {
  /** Its file on this machine. */
  readonly source: string;
  /** Absolute, in the container. */
  readonly target: string;
  readonly readOnly: boolean;
}

export interface Mount {
  /** A directory or file of this machine that exists. */
  readonly source: string;
  /** Absolute, in the container. */
  readonly target: string;
  readonly readOnly: boolean;
  /**
   * The directory of a volume that pods write, when `source` lies deeper in it: no link leads from there to `source`, and a runtime
   * that takes this field mounts nothing else if one is put there meanwhile.
   */
  readonly within?: string;
  /** What the source is, where the kubelet knows it: a runtime need not look at a file system whose server may be silent. */
  readonly isDirectory?: boolean;
  /** Propagation of later mounts. Default: none. */
  readonly propagation?: 'HostToContainer' | 'Bidirectional';
}

export interface SandboxStatus {
  readonly id: SandboxId;
  readonly config: SandboxIdentity;
  readonly state: 'ready' | 'notReady';
  readonly createdAt: number;
  readonly ip: string;
  /** Addresses of the other address family. */
  readonly moreIps?: readonly string[];
  /** The directory of the pod's volumes, shared by all its sandboxes. Absent: the runtime has no files. */
  readonly volumesPath?: string;
  /** In order of creation. */
  readonly containers: readonly ContainerStatus[];
}

export interface ContainerStatus {
  readonly id: ContainerId;
  readonly config: Pick<ContainerConfig, 'name' | 'image' | 'restartCount' | 'user'>;
  /** Digest or id of the image it was made of. */
  readonly imageId?: string;
  /** `exited` is reported only when every process of the container is confirmed gone. */
  readonly state: 'created' | 'running' | 'exited';
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** It runs, and is not ready to work: only a simulated machine says so. */
  readonly unready?: true;
  /** 128 + signal when a signal ended it. */
  readonly exitCode?: number;
  readonly signal?: number;
  /** `Completed`, `Error`, `StartError`, ... and a sentence, as far as the runtime knows. */
  readonly reason?: string;
  readonly message?: string;
  /** The file with stdout and stderr, when the runtime keeps one. */
  readonly logPath?: string;
  /** `cri`: each line begins with its time and stream. Absent: nothing but what was written. */
  readonly logFormat?: 'cri';
}

export interface ExecResult {
  readonly exitCode: number;
  /** Both streams, cut after a limit of the runtime. */
  readonly output: string;
}

export type RuntimeErrorCode =
  /** The runtime does not respond, or not in time. The effect of the request is unknown. */
  | 'Unavailable'
  | 'NotFound'
  /** The request is not legal in the present state. */
  | 'IllegalState'
  /** The runtime cannot do what the spec asks; trying again will not help. */
  | 'Unsupported'
  /** Processes were killed and still exist. */
  | 'Unconfirmed'
  | 'Timeout'
  /** Too late: the deadline has passed before which it had to start. The API has to confirm it again. */
  | 'Fenced'
  | 'Internal';

export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  readonly code: RuntimeErrorCode;
  constructor(code: RuntimeErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
