import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HELPER_ENVIRONMENT, helper } from './helpers.ts';
import { RuntimeError } from './port.ts';

/** The directories of pods' volumes: created before a pod's first sandbox, removed with its last. */
export interface PodDirectories {
  readonly volumesPath: (podUid: string) => string;
  /** For a pod without a sandbox, or whose last one is removed. */
  readonly remove: (podUid: string) => void;
  /** The node goes down: what is only in memory ends with it. */
  readonly releaseMemory: () => void;
  /** Removes what is left of pods that never got as far as a sandbox. */
  readonly sweep: (podsWithSandbox: ReadonlySet<string>) => void;
}

/** Marks file systems in memory that the kubelet mounted for a pod. */
export const MEMORY_VOLUME = 'holdfast-volume';

/** The kubelet stands still meanwhile: well below the time of a node's promise. */
const UNMOUNT_MS = 2_000;

export function createPodDirectories(stateDirectory: string): PodDirectories {
  const pods = join(stateDirectory, 'pods');
  mkdirSync(pods, { recursive: true, mode: 0o700 });
  const remove = (podUid: string): void => {
    const path = join(pods, podUid);
    if (!existsSync(path)) return;
    if (existsSync(csiVolumesOf(join(path, 'volumes'))))
      throw new RuntimeError('IllegalState', `${path} has volumes of CSI drivers that are not unmounted: it is kept`);
    unmountOwn(path, subPathsOf(path));
    rmSync(path, { recursive: true, force: true });
  };
  return {
    volumesPath: (podUid) => join(pods, podUid, 'volumes'),
    remove,
    releaseMemory: () => {
      for (const { source, target } of mountsBelow(pods).toReversed())
        if (source === MEMORY_VOLUME || SUB_PATH.test(target)) unmount(target);
    },
    sweep: (podsWithSandbox) => {
      for (const podUid of readdirSync(pods)) {
        // The kubelet first asks the drivers to unmount.
        if (existsSync(csiVolumesOf(join(pods, podUid, 'volumes')))) continue;
        if (!podsWithSandbox.has(podUid)) remove(podUid);
      }
    },
  };
}

/** Removing through a mount would remove what is mounted: only what was made for the pod may go. */
function unmountOwn(path: string, subPaths: string): void {
  for (const { source, target } of mountsBelow(path).toReversed()) {
    if (source !== MEMORY_VOLUME && !target.startsWith(`${subPaths}/`))
      throw new RuntimeError(
        'IllegalState',
        `${target} is still mounted: the files of the pod are kept until it is not`,
      );
    unmount(target);
  }
}

/** Beside the pod's volumes: where the node mounts what a container shows of one. Only the node changes anything there. */
const SUB_PATHS = 'sub-paths';
const SUB_PATH = new RegExp(`/[^/]+/${SUB_PATHS}/`);
const subPathsOf = (podDirectory: string): string => join(podDirectory, SUB_PATHS);
/** Files that the node gives to the containers of a pod: hosts, resolver, last words. No volume can have this name. */
export const nodeFilesOf = (volumesPath: string): string => join(volumesPath, '.node');

/** Volumes of CSI drivers, each with its record; the path is that of Kubernetes' kubelet, which drivers know. No volume can have this name. */
export const csiVolumesOf = (volumesPath: string): string => join(volumesPath, 'kubernetes.io~csi');

export const subPathTarget = (volumesPath: string, container: string, index: number): string =>
  join(dirname(volumesPath), SUB_PATHS, container, String(index));

// Without a look at the path: on a share whose server is silent, the look would not return.
const unmount = (target: string): void => runBriefly([helper('umount'), '--no-canonicalize', target], UNMOUNT_MS);

/** Throws when the program fails, or does not end in time: then it is killed, whatever signals it ignores. */
export function runBriefly([program = '', ...args]: readonly string[], deadlineMs: number): void {
  execFileSync(program, args, {
    stdio: 'ignore',
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
    env: HELPER_ENVIRONMENT,
  });
}

const MOUNTS = '/proc/self/mounts';

export interface Mounted {
  readonly source: string;
  readonly target: string;
  readonly type: string;
}

/** The mounts in a directory, as this process sees them. */
export const mountsBelow = (path: string): readonly Mounted[] =>
  mounts().filter(({ target }) => target.startsWith(`${path}/`));

export const mountsAt = (path: string): readonly Mounted[] => mounts().filter(({ target }) => target === path);

/** File systems that the kernel serves alone. */
const OWN_TYPES: ReadonlySet<string> = new Set(
  (
    'bcachefs binfmt_misc bpf btrfs cgroup cgroup2 configfs cramfs debugfs devpts devtmpfs efivarfs erofs exfat ext2 ext3 ext4 ' +
    'f2fs fusectl hugetlbfs iso9660 jfs mqueue nsfs ntfs3 overlay proc pstore ramfs reiserfs rootfs rpc_pipefs securityfs ' +
    'selinuxfs squashfs sysfs tmpfs tracefs udf vfat xfs zfs'
  ).split(' '),
);

/** True where a file system of the machine has a server, which may be silent, or where the machine does not list them. */
export const hasForeignMounts = (list: () => readonly Mounted[] = mounts): boolean => {
  const found = list();
  return found.length === 0 || found.some(({ type, target }) => !OWN_TYPES.has(type) && !target.startsWith('/proc/'));
};

/** None where the machine does not list them: only Linux does. */
function mounts(): readonly Mounted[] {
  if (!existsSync(MOUNTS)) return [];
  return readFileSync(MOUNTS, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([source = '', target = '', type = '']) => ({ source, target: unescape(target), type }));
}

/** The kernel writes spaces and the like as octal numbers. */
const unescape = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
