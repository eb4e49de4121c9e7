import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPodDirectories } from '../pod-directories.ts';
import type { ContainerConfig, ContainerStatus, SandboxConfig, SandboxStatus } from '../port.ts';
import { partsPath } from './log-keeper.ts';
import { timesPath } from './log-times.ts';
import type { ProcessIdentity } from './process-table.ts';
import type { SandboxNetwork } from './sandbox-network.ts';

/** The records for a later supervisor. Files are replaced atomically, so a reader never sees a partial record. */
export interface SandboxRecord {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly state: SandboxStatus['state'];
  readonly createdAt: number;
  /** The machine's address of that time, when the pod shares its network. */
  readonly ip: string;
  readonly network?: SandboxNetwork | undefined;
}

export interface ContainerRecord {
  readonly id: string;
  readonly sandbox: string;
  /** Orders the containers of a sandbox. */
  readonly sequence: number;
  readonly config: ContainerConfig;
  readonly state: ContainerStatus['state'];
  readonly createdAt: number;
  readonly process?: ProcessIdentity;
  readonly startedAt?: number;
  readonly exit?: ContainerExit;
}

export interface ContainerExit {
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason: string;
  readonly message?: string;
}

export interface StateFiles {
  load(): { readonly sandboxes: readonly SandboxRecord[]; readonly containers: readonly ContainerRecord[] };
  saveSandbox(record: SandboxRecord): void;
  saveContainer(record: ContainerRecord): void;
  /** The last sandbox of a pod takes its volumes with it. */
  removeSandbox(record: SandboxRecord, isLast: boolean): void;
  removeContainer(record: ContainerRecord): void;
  logPath(record: ContainerRecord): string;
  /** The container's own directory: where it runs unless it names another, and its HOME. */
  workPath(record: ContainerRecord): string;
  /** The directory in which the container's view is built, with the script that builds it. */
  rootPath(record: ContainerRecord): string;
  volumesPath(podUid: string): string;
}

const filesBeside = (logPath: string): readonly string[] => [`${logPath}.1`, timesPath(logPath), partsPath(logPath)];

/** Users of pods reach their own directories by a path, where the state directory lets them in; they see no other names. */
const PASSABLE = 0o711;

export const SANDBOX_FILE = 'sandbox.json';

export function sandboxesDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'sandboxes');
}

export function createStateFiles(stateDirectory: string): StateFiles {
  const root = sandboxesDirectory(stateDirectory);
  mkdirSync(root, { recursive: true, mode: PASSABLE });
  const pods = createPodDirectories(stateDirectory);
  const pathOf = (record: ContainerRecord, suffix: string): string =>
    join(root, record.sandbox, `${record.id}${suffix}`);
  return {
    load: () => loadAll(root),
    saveSandbox: (record) => {
      mkdirSync(join(root, record.id), { recursive: true, mode: PASSABLE });
      replaceFile(join(root, record.id, SANDBOX_FILE), record);
    },
    saveContainer: (record) => replaceFile(pathOf(record, '.json'), record),
    // The record goes last: it is what reminds the next supervisor of the rest.
    removeSandbox: ({ id, config }, isLast) => {
      if (isLast) pods.remove(config.podUid);
      rmSync(join(root, id), { recursive: true, force: true });
    },
    // The record is removed last: an interrupted removal is visible, and the next one completes it.
    removeContainer: (record) => {
      rmSync(pathOf(record, '.work'), { recursive: true, force: true });
      rmSync(pathOf(record, '.root'), { recursive: true, force: true });
      rmSync(pathOf(record, '.log'), { force: true });
      for (const beside of filesBeside(pathOf(record, '.log'))) rmSync(beside, { force: true });
      rmSync(pathOf(record, '.json'), { force: true });
    },
    logPath: (record) => pathOf(record, '.log'),
    workPath: (record) => pathOf(record, '.work'),
    rootPath: (record) => pathOf(record, '.root'),
    volumesPath: pods.volumesPath,
  };
}

/** The pods of all recorded sandboxes, read without a request to the supervisor. */
export function recordedPods(stateDirectory: string): ReadonlySet<string> {
  const root = sandboxesDirectory(stateDirectory);
  const files = existsSync(root) ? readdirSync(root).map((id) => join(root, id, SANDBOX_FILE)) : [];
  const records = files.filter((file) => existsSync(file)).map((file) => decodeFile<SandboxRecord>(file));
  return new Set(records.map(({ config }) => config.podUid));
}

function loadAll(root: string): { sandboxes: SandboxRecord[]; containers: ContainerRecord[] } {
  const sandboxes: SandboxRecord[] = [];
  const containers: ContainerRecord[] = [];
  for (const id of readdirSync(root).toSorted()) {
    const names = readdirSync(join(root, id)).toSorted();
    // The sandbox record is the first file written: without it nothing was ever started here.
    if (!names.includes(SANDBOX_FILE)) {
      rmSync(join(root, id), { recursive: true, force: true });
      continue;
    }
    sandboxes.push(decodeFile<SandboxRecord>(join(root, id, SANDBOX_FILE)));
    for (const name of names) {
      if (name.endsWith('.json') && name !== SANDBOX_FILE)
        containers.push(decodeFile<ContainerRecord>(join(root, id, name)));
    }
  }
  return { sandboxes, containers: containers.toSorted((a, b) => a.sequence - b.sequence) };
}

/** Only this module writes these files, and always whole ones. */
export function decodeFile<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

/** Not synced to the disk: what a power loss can lose is a process that the same power loss ended. */
function replaceFile(path: string, value: unknown): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 });
  renameSync(temporary, path);
}
