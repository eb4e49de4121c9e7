import { spawnSync } from 'node:child_process';
import type { UserRange } from '../../domain/user-ranges.ts';
import { HELPER_ENVIRONMENT, hasHelper, helper } from '../helpers.ts';
import type { ContainerConfig, RuntimeAbilities } from '../port.ts';
import { dropRights, enterAs, isRoot, START_TOLD, START_UNTOLD } from './become.ts';
import { ABILITY_TEST_MS } from './limits.ts';
import { readMachineIds } from './machine-ids.ts';
import { quote } from './mount-plan.ts';

/**
 * A view of the files and a host name of its own. Without root it comes with a user namespace in which this user has the right to mount;
 * the container's command does not keep that right.
 */
const unshare = (): readonly [string, ...string[]] =>
  isRoot()
    ? [helper('unshare'), '--mount', '--uts', '--']
    : [helper('unshare'), '--user', '--map-current-user', '--keep-caps', '--mount', '--uts', '--'];

export interface DetectedAbilities {
  readonly abilities: RuntimeAbilities;
  /** Containers can have a process table that shows nothing of other users. */
  readonly hidesProcesses: boolean;
}

/** An unused user for the test. */
const TRIED_USER = { uid: 65_533, gid: 65_533 };
const ALL_BUT_PROCESSES = 3;

/** Tried once, not guessed: containers, kernels and their settings differ in what they let a process do. */
export function detectAbilities(): DetectedAbilities {
  const [program, ...options] = unshare();
  const test = isRoot() ? trialOfRoot() : TRIAL_OF_USER;
  const args = [...options, '/bin/sh', '-c', test];
  const { status } = spawnSync(program, args, { stdio: 'ignore', timeout: ABILITY_TEST_MS, env: HELPER_ENVIRONMENT });
  if (!isRoot()) {
    const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    return { abilities: { mounts: status === 0, user }, hidesProcesses: false };
  }
  const ids = readMachineIds();
  const confines = hasHelper('setpriv') ? ({ confines: true } as const) : {};
  const devices = hasHelper('mknod') ? ({ devices: true } as const) : {};
  if (status !== 0 && status !== ALL_BUT_PROCESSES)
    return { abilities: { mounts: false, user: 'any', ids, ...confines }, hidesProcesses: false };
  return {
    abilities: { mounts: true, memoryVolumes: true, user: 'any', ids, ...confines, ...devices },
    hidesProcesses: status === 0,
  };
}

const TRIAL_OF_MOUNTS = 'mount -t tmpfs holdfast /tmp && mkdir /tmp/a && mount --rbind /etc /tmp/a';
const TRIAL_OF_USER = `${TRIAL_OF_MOUNTS} && chroot / setpriv --no-new-privs --inh-caps=-all true`;
const trialOfRoot = (): string => {
  const enter = enterAs(
    { name: '', image: '', command: [], args: [], env: {}, restartCount: 0, user: TRIED_USER },
    undefined,
  );
  const asUser = `cd / && ${enter.map(quote).join(' ')} /bin/sh -c '[ "$(id -u)" = ${TRIED_USER.uid} ]'`;
  const processes = `mkdir /tmp/p && ${PROCESSES_MOUNT} /tmp/p || exit ${ALL_BUT_PROCESSES}`;
  return `${TRIAL_OF_MOUNTS} && ${asUser} || exit 1; ${processes}`;
};

/** Named values, which older kernels refuse: there the option would change the machine's own /proc. */
export const PROCESSES_OPTIONS = 'hidepid=invisible,nosuid,nodev,noexec';
const PROCESSES_MOUNT = `mount -t proc -o ${PROCESSES_OPTIONS} proc`;

export interface Isolated {
  readonly config: ContainerConfig;
  /** The working directory of the command. */
  readonly directory: string;
  /** It runs in users of its own. */
  readonly userRange?: UserRange | undefined;
}

export function isolatedCommand(script: string, { config, directory }: Isolated): readonly [string, ...string[]] {
  return [...unshare(), '/bin/sh', script, directory, ...config.command, ...config.args];
}

/**
 * A command beside a container that has mounts: in the same view of the files, as the same user. With `tellFailure` file
 * descriptor 3 says why the command could not be started. Until the user is changed, programs come from the machine, not from the view.
 */
export function besideCommand(leader: number, container: Isolated, tellFailure = false): readonly string[] {
  const { config, directory, userRange } = container;
  const root = `--wd=/proc/${leader}/root`;
  const target = [helper('nsenter'), '--target', String(leader)];
  const enter = isRoot()
    ? [
        ...target,
        ...(userRange === undefined ? [] : ['--user']),
        '--mount',
        '--uts',
        root,
        '--',
        ...enterAs(config, userRange),
      ]
    : [...target, '--user', '--preserve-credentials', '--mount', '--uts', '--root', root, '--', ...dropRights()];
  const start = tellFailure ? START_TOLD : START_UNTOLD;
  return [...enter, '/bin/sh', '-c', start, 'holdfast', directory, ...config.command, ...config.args];
}
