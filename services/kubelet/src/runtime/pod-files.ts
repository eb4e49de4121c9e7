import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createPodDirectories, type PodDirectories } from './pod-directories.ts';
import type { SandboxIdentity } from './port.ts';

/** The kubelet's files for a pod beside its containers. They end with the pod's last sandbox. */
export interface PodFiles extends Pick<PodDirectories, 'volumesPath' | 'sweep' | 'releaseMemory'> {
  /** The directory for seccomp profiles that pods name. */
  readonly seccompRoot: string;
  readonly logDirectory: (pod: Pick<SandboxIdentity, 'podNamespace' | 'podName' | 'podUid'>) => string;
  readonly logPath: (container: string, restartCount: number) => string;
  prepare(pod: SandboxIdentity): void;
  prepareContainer(pod: SandboxIdentity, container: string): void;
  remove(pod: SandboxIdentity): void;
  /** For a pod that never had a sandbox. */
  readonly removeVolumes: (podUid: string) => void;
}

const PRIVATE = { recursive: true, mode: 0o700 } as const;

export function createPodFiles(stateDirectory: string): PodFiles {
  const directories = createPodDirectories(stateDirectory);
  const logDirectory: PodFiles['logDirectory'] = ({ podNamespace, podName, podUid }) =>
    join(stateDirectory, 'logs', `${podNamespace}_${podName}_${podUid}`);
  return {
    seccompRoot: join(stateDirectory, 'seccomp'),
    volumesPath: directories.volumesPath,
    releaseMemory: directories.releaseMemory,
    sweep: (podsWithSandbox) => {
      directories.sweep(podsWithSandbox);
      for (const name of existing(join(stateDirectory, 'logs'))) {
        const podUid = name.slice(name.lastIndexOf('_') + 1);
        if (!podsWithSandbox.has(podUid)) rmSync(join(stateDirectory, 'logs', name), { recursive: true, force: true });
      }
    },
    removeVolumes: directories.remove,
    logDirectory,
    logPath: (container, restartCount) => join(container, `${restartCount}.log`),
    prepare: (pod) => void mkdirSync(logDirectory(pod), PRIVATE),
    prepareContainer: (pod, container) => void mkdirSync(join(logDirectory(pod), container), PRIVATE),
    remove: (pod) => {
      directories.remove(pod.podUid);
      rmSync(logDirectory(pod), { recursive: true, force: true });
    },
  };
}

const existing = (directory: string): readonly string[] => (existsSync(directory) ? readdirSync(directory) : []);
