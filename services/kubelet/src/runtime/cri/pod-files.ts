import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError, type SandboxIdentity } from '../port.ts';

/** What the kubelet keeps on disk for a pod beside its containers. Ends with the pod's last sandbox. */
export interface PodFiles {
  /** Where operators put the seccomp profiles that pods name. */
  readonly seccompRoot: string;
  readonly volumesPath: (podUid: string) => string;
  readonly logDirectory: (pod: SandboxIdentity) => string;
  readonly logPath: (container: string, restartCount: number) => string;
  prepare(pod: SandboxIdentity): void;
  prepareContainer(pod: SandboxIdentity, container: string): void;
  remove(pod: SandboxIdentity): void;
}

const PRIVATE = { recursive: true, mode: 0o700 } as const;

export function createPodFiles(stateDirectory: string): PodFiles {
  const pods = join(stateDirectory, 'pods');
  const directory = (podUid: string): string => join(pods, podUid);
  const logDirectory = ({ podNamespace, podName, podUid }: SandboxIdentity): string =>
    join(stateDirectory, 'logs', `${podNamespace}_${podName}_${podUid}`);
  mkdirSync(pods, PRIVATE);
  return {
    seccompRoot: join(stateDirectory, 'seccomp'),
    volumesPath: (podUid) => join(directory(podUid), 'volumes'),
    logDirectory,
    logPath: (container, restartCount) => join(container, `${restartCount}.log`),
    prepare: (pod) => {
      mkdirSync(directory(pod.podUid), PRIVATE);
      mkdirSync(logDirectory(pod), PRIVATE);
    },
    prepareContainer: (pod, container) => void mkdirSync(join(logDirectory(pod), container), PRIVATE),
    remove: (pod) => {
      const [path, logs] = [directory(pod.podUid), logDirectory(pod)];
      refuseMounted(path);
      rmSync(path, { recursive: true, force: true });
      rmSync(logs, { recursive: true, force: true });
    },
  };
}

/** Removing through a mount would remove what is mounted. */
function refuseMounted(path: string): void {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .find((target) => target.startsWith(`${path}/`));
  if (mounted === undefined) return;
  throw new RuntimeError('IllegalState', `${mounted} is still mounted: the files of the pod are kept until it is not`);
}
