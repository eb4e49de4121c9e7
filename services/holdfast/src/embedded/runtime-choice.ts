import { type ContainerKind, CONTAINER_ENDPOINTS as ENDPOINTS } from '@holdfast/kubelet/container-runtimes';
import { badSetting } from '@holdfast/platform/config';
import type { StartConfig } from '../config.ts';
import type { DataDirectory } from './data-directory.ts';

/** What runs the pods of this machine's nodes. */
export type NodeRuntime =
  | { readonly kind: 'process' }
  | { readonly kind: ContainerKind; readonly endpoint: string; readonly sandboxImage?: string | undefined };

export interface RuntimeChoice {
  readonly runtime: NodeRuntime;
  /** The choice and its reason. Absent: the operator made it. */
  readonly line?: string;
}

export interface RuntimeProbes {
  readonly isRoot: boolean;
  /** The name and version of what answers at this socket. Rejects when nothing does. */
  readonly version: (kind: ContainerKind, endpoint: string) => Promise<string>;
}

const PROCESS: NodeRuntime = { kind: 'process' };

type RuntimeConfig = Pick<StartConfig, 'runtime' | 'runtimeEndpoint' | 'sandboxImage' | 'nodes'>;

/** `auto` decides once for each data directory: containers that exist are not left behind by a later start. */
export async function chooseRuntime(
  config: RuntimeConfig,
  directory: Pick<DataDirectory, 'runtime' | 'keepRuntime'>,
  probes: RuntimeProbes,
): Promise<RuntimeChoice> {
  const { runtime: wanted, runtimeEndpoint: endpoint, sandboxImage } = config;
  if (wanted === undefined) return { runtime: endpoint === undefined ? PROCESS : { kind: 'cri', endpoint } };
  if (wanted === 'cri' || wanted === 'docker') {
    return { runtime: { kind: wanted, endpoint: endpoint ?? ENDPOINTS[wanted], sandboxImage } };
  }
  if (endpoint !== undefined) {
    throw badSetting(
      `--runtime=${wanted} and --container-runtime-endpoint exclude each other`,
      'Leave one of them out, or write --runtime=cri or --runtime=docker.',
    );
  }
  if (wanted === 'process' || config.nodes === 0) return { runtime: PROCESS };
  const kept = directory.runtime();
  if (kept !== undefined) {
    return {
      runtime: runtimeOf(kept, sandboxImage),
      line: `${kept} (as chosen by an earlier start in this data directory)`,
    };
  }
  const { kind, reason } = await findRuntime(probes);
  directory.keepRuntime(kind);
  return { runtime: runtimeOf(kind, sandboxImage), line: `${kind} (${reason})` };
}

async function findRuntime({ isRoot, version }: RuntimeProbes) {
  const answer = (kind: ContainerKind): Promise<string | undefined> =>
    version(kind, ENDPOINTS[kind]).catch(() => undefined);
  const [cri, docker] = await Promise.all([isRoot ? answer('cri') : undefined, answer('docker')]);
  if (cri !== undefined) return { kind: 'cri', reason: `${cri} answers` } as const;
  if (docker !== undefined) return { kind: 'docker', reason: `${docker} answers` } as const;
  const containerd = isRoot ? 'neither containerd nor a Docker engine answers' : 'no Docker engine answers';
  return { kind: 'process', reason: containerd } as const;
}

const runtimeOf = (kind: string, sandboxImage: string | undefined): NodeRuntime =>
  kind === 'cri' || kind === 'docker' ? { kind, endpoint: ENDPOINTS[kind], sandboxImage } : PROCESS;
