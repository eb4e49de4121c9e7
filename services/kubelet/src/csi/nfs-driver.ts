import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import type { Clock } from '@holdfast/platform';
import { NFS_DRIVER } from '../domain/nfs-request.ts';
import { VolumeError } from '../domain/volume-files.ts';
import { LOOK_MS, MOUNT_MS, NFS_MOUNT_MS, PROGRAM_MESSAGE_MAX_LENGTH } from '../limits.ts';
import { HELPER_ENVIRONMENT, hasHelper, helper } from '../runtime/helpers.ts';
import { mountsAt } from '../runtime/pod-directories.ts';
import type { NodeDriver, PublishRequest } from './port.ts';

/** The machine below the driver. */
export interface NfsMachine {
  readonly isRoot: () => boolean;
  /** The program of this name; undefined where it is not installed. */
  readonly program: (name: string) => string | undefined;
  /** Read from the kernel's list: a question to a hung server would not return. */
  readonly isMounted: (path: string) => boolean;
}

const THIS_MACHINE: NfsMachine = {
  isRoot: () => process.getuid?.() === 0,
  program: (name) => (hasHelper(name) ? helper(name) : undefined),
  isMounted: (path) => mountsAt(path).length > 0,
};

/**
 * Mounts NFS shares with the programs of the machine. They are processes of their own with a deadline: a server that does
 * not answer holds such a process, and never the kubelet.
 */
export function createNfsDriver(clock: Clock, machine: NfsMachine = THIS_MACHINE): NodeDriver {
  const programs = new Programs(clock);
  const unused = (): never => {
    throw new VolumeError('NFS volumes have no such step');
  };
  return {
    name: NFS_DRIVER,
    node: { nodeId: '', maxVolumes: 0, topology: {} },
    can: { stages: false, expands: false, reportsUsage: false, knowsSingleWriter: false, setsGroup: false },
    publish: (request) => mount(machine, programs, request),
    unpublish: (request) => unmount(machine, programs, request),
    look: (path) => programs.run(`look at ${path}`, [machine.program('stat') ?? 'stat', '-f', path], LOOK_MS),
    stage: unused,
    unstage: unused,
    expand: unused,
    usage: unused,
    close: () => {},
  };
}

const BY_HAND = 'or mount the share on the node and use a hostPath volume';

const mountOf = (volumeId: string): string => `mount of ${volumeId}`;

async function mount(machine: NfsMachine, programs: Programs, request: PublishRequest): Promise<void> {
  const { volumeId, targetPath, readOnly, form } = request;
  if (machine.isMounted(targetPath)) return;
  // It would be read as an option of the program.
  if (volumeId.startsWith('-')) throw new VolumeError(`"${volumeId}" is not the name of an NFS server`);
  if (!machine.isRoot())
    throw new VolumeError(`NFS volumes need a kubelet that runs as root: start it with sudo, ${BY_HAND}`);
  const program = machine.program('mount');
  if (program === undefined || machine.program('mount.nfs') === undefined)
    throw new VolumeError(
      `mount.nfs is not installed on the node: install it (Debian: apt-get install nfs-common), ${BY_HAND}`,
    );
  mkdirSync(targetPath, { recursive: true, mode: 0o750 });
  // A foreign server must not bring programs that run as root, or devices. An administrator may allow it.
  const options = ['nosuid', 'nodev', ...(readOnly ? ['ro'] : []), ...form.mountOptions].join(',');
  await programs.run(mountOf(volumeId), [program, '-t', 'nfs', '-o', options, volumeId, targetPath], NFS_MOUNT_MS);
}

async function unmount(
  machine: NfsMachine,
  programs: Programs,
  { volumeId, targetPath, isExclusive = false }: Parameters<NodeDriver['unpublish']>[0],
): Promise<void> {
  // It may mount yet, at a path that is the node's to remove by then.
  programs.refuseStuck(mountOf(volumeId), targetPath);
  if (!machine.isMounted(targetPath)) return;
  const program = machine.program('umount') ?? 'umount';
  const what = `unmount of ${volumeId}`;
  try {
    await programs.run(what, [program, '-c', targetPath], MOUNT_MS);
  } catch (error) {
    // What the machine has not written yet would reach the server later, when another node writes.
    if (isExclusive) throw error;
    await programs.run(`forced ${what}`, [program, '-c', '-f', '-l', targetPath], MOUNT_MS);
  }
  if (machine.isMounted(targetPath)) throw new VolumeError(`${targetPath} is still mounted`);
}

class Programs {
  readonly #clock: Clock;
  /** Those that did not end at their deadline: a process that waits for a server cannot be killed. */
  readonly #stuck = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws while a program of an earlier try is left: its work may still be done. */
  refuseStuck(what: string, target: string): void {
    if (this.#stuck.has(`${what} ${target}`))
      throw new VolumeError(`${what}: the program of an earlier try still waits for the server`);
  }

  /** One process for each purpose: retries do not pile up. */
  async run(what: string, [file = '', ...args]: readonly string[], deadlineMs: number): Promise<void> {
    const target = args.at(-1) ?? '';
    const key = `${what} ${target}`;
    this.refuseStuck(what, target);
    if (!existsSync(file)) throw new VolumeError(`${what}: ${file} is not installed on the node`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const child = execFile(file, args, { env: { ...HELPER_ENVIRONMENT } }, (error, _out, errors) => {
      this.#stuck.delete(key);
      const text = errors.trim().slice(0, PROGRAM_MESSAGE_MAX_LENGTH);
      if (error === null) resolve();
      else reject(new VolumeError(`${what} failed: ${text === '' ? error.message : text}`));
    });
    const timer = this.#clock.timer(deadlineMs, () => {
      this.#stuck.add(key);
      child.kill('SIGKILL');
      child.unref();
      reject(new VolumeError(`${what}: the server did not answer within ${deadlineMs / 1000} s`));
    });
    await promise.finally(() => timer.cancel());
  }
}
