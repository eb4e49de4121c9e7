import { join } from 'node:path';
import type { Container, Pod } from '@holdfast/api';
import { readEdge, readMachineText, writeInPlace, writeOnce } from '../adapters/container-files.ts';
import { logText } from '../adapters/log-lines.ts';
import { type ClusterDns, hostsFile, podNames, resolvConf } from '../domain/network-identity.ts';
import { messagePath, terminationMessage } from '../domain/termination-message.ts';
import type { Owner } from '../domain/volume-owner.ts';
import { MESSAGE_LOG_READ_BYTES, MESSAGE_MAX_BYTES } from '../limits.ts';
import { nodeFilesOf } from '../runtime/pod-directories.ts';
import type { ContainerStatus, Mount, SandboxStatus } from '../runtime/port.ts';

export interface ContainerFilesRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly podIp: string;
  /** The path of the pod's volumes. */
  readonly path: string;
  readonly nodeHostname: string;
  readonly dns: ClusterDns;
  /** Absent: the files belong to the node. */
  readonly owner?: Owner | undefined;
}

const SHARED_FILE_MODE = 0o666;
const READABLE_FILE_MODE = 0o644;

/** Files at well-known paths that no volume provides: hosts, resolver configuration, termination message. */
export async function containerFiles(request: ContainerFilesRequest): Promise<readonly Mount[]> {
  const { container } = request;
  const files = [await hosts(request), await resolver(request), await message(request)];
  const taken = new Set((container.volumeMounts ?? []).map(({ mountPath }) => mountPath.replace(/\/+$/, '')));
  return files.filter((mount): mount is Mount => mount !== undefined && !taken.has(mount.target));
}

async function hosts({ pod, podIp, path, nodeHostname, dns, owner }: ContainerFilesRequest): Promise<Mount> {
  const machineText = pod.spec.hostNetwork === true ? await readMachineText('/etc/hosts') : '';
  const source = join(nodeFilesOf(path), 'hosts');
  const text = hostsFile(pod, podIp, podNames(pod, nodeHostname, dns), machineText);
  // A new sandbox has another address.
  await writeInPlace(source, text, { mode: READABLE_FILE_MODE, owner });
  return { source, target: '/etc/hosts', readOnly: false };
}

async function resolver({ pod, path, dns, owner }: ContainerFilesRequest): Promise<Mount | undefined> {
  const text = resolvConf(pod, dns, await readMachineText('/etc/resolv.conf'));
  if (text === undefined) return undefined;
  const source = join(nodeFilesOf(path), 'resolv.conf');
  await writeOnce(source, text, { mode: READABLE_FILE_MODE, owner });
  return { source, target: '/etc/resolv.conf', readOnly: false };
}

async function message({ container, restartCount, path, owner }: ContainerFilesRequest): Promise<Mount> {
  const source = messageFile(path, { name: container.name, restartCount });
  await writeOnce(source, '', { mode: SHARED_FILE_MODE, owner });
  return { source, target: messagePath(container), readOnly: false };
}

const messageFile = (path: string, { name, restartCount }: { name: string; restartCount: number }): string =>
  join(nodeFilesOf(path), `${name}-${restartCount}`, 'termination-log');

/** The last words of containers that ended, read once each. */
export class LastWords {
  readonly #known = new Map<string, string>();

  /** The runtime's list with the messages that it cannot know. */
  async addTo(pod: Pod, sandboxes: readonly SandboxStatus[]): Promise<readonly SandboxStatus[]> {
    const path = sandboxes[0]?.volumesPath;
    if (path === undefined) return sandboxes;
    const told: SandboxStatus[] = [];
    for (const sandbox of sandboxes) {
      const containers: ContainerStatus[] = [];
      for (const container of sandbox.containers) containers.push(await this.#withMessage(pod, path, container));
      told.push({ ...sandbox, containers });
    }
    return told;
  }

  async #withMessage(pod: Pod, path: string, container: ContainerStatus): Promise<ContainerStatus> {
    if (container.state !== 'exited' || container.message !== undefined) return container;
    const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
    const all: readonly Container[] = [...containers, ...initContainers, ...ephemeralContainers];
    const spec = all.find(({ name }) => name === container.config.name);
    if (spec === undefined) return container;
    const message = this.#known.get(container.id) ?? (await readMessage(spec, path, container));
    this.#known.set(container.id, message);
    return message === '' ? container : { ...container, message };
  }
}

async function readMessage(spec: Container, path: string, container: ContainerStatus): Promise<string> {
  const { config, exitCode = 0, logPath, logFormat } = container;
  const file = await readEdge(messageFile(path, config), 'head', MESSAGE_MAX_BYTES);
  const wantsLog = spec.terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0 && logPath !== undefined;
  const logTail = wantsLog
    ? logText(await readEdge(logPath, 'tail', MESSAGE_LOG_READ_BYTES), logFormat)
    : new Uint8Array();
  return terminationMessage(spec, { exitCode, file, logTail });
}
