/** The answers of the Engine API, as far as they are used. Podman's compatible socket gives the same ones. */

export interface EngineVersion {
  readonly Version: string;
  readonly ApiVersion: string;
  readonly MinAPIVersion?: string;
  readonly Arch?: string;
  readonly Components?: readonly { readonly Name: string; readonly Version: string }[];
}

export interface EngineInfo {
  readonly DockerRootDir?: string;
  readonly SecurityOptions?: readonly string[] | null;
}

type Texts = Readonly<Record<string, string>>;

export interface ListedContainer {
  readonly Id: string;
  readonly Image: string;
  readonly ImageID: string;
  readonly State: string;
  readonly Created: number;
  readonly Labels: Texts | null;
}

export interface InspectedContainer {
  readonly Id: string;
  readonly Created: string;
  readonly Image: string;
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly Error: string;
    readonly OOMKilled: boolean;
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  readonly Config: {
    readonly Labels: Texts | null;
    readonly Tty: boolean;
    readonly OpenStdin: boolean;
    readonly StopSignal?: string;
  };
  readonly HostConfig: { readonly PidMode: string; readonly NetworkMode: string };
  readonly NetworkSettings: {
    readonly Networks?: Readonly<
      Record<string, { readonly IPAddress?: string; readonly GlobalIPv6Address?: string }>
    > | null;
  };
}

export interface InspectedExec {
  readonly Running: boolean;
  readonly ContainerID: string;
  readonly ExitCode: number | null;
  readonly Pid: number;
}

export interface ListedImage {
  readonly Id: string;
  readonly RepoTags?: readonly string[] | null;
  readonly RepoDigests?: readonly string[] | null;
  readonly Size: number;
}

export interface InspectedImage extends ListedImage {
  readonly Config?: { readonly User?: string } | null;
}

export interface EngineEvent {
  readonly Action?: string;
  readonly Actor?: { readonly Attributes?: Texts };
}

/** One line of a pull. */
export interface PullLine {
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
}

export interface EngineStats {
  readonly read: string;
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: { readonly usage?: number; readonly stats?: Readonly<Record<string, number>> };
  readonly pids_stats?: { readonly current?: number };
}
