import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { UserRange } from '../../domain/user-ranges.ts';
import type { ContainerConfig, RuntimeAbilities, SandboxConfig } from '../port.ts';
import { ABILITY_TEST_MS } from './limits.ts';
import { type MachineFiles, type MadeEntry, mountTable, planMounts, quote } from './mount-plan.ts';
import { becomePodRoot } from './user-namespace.ts';

/**
 * A view of the files and a host name of its own. Without root it comes with a user namespace in which this user has the right to mount;
 * the container's command does not keep that right.
 */
const UNSHARE_AS_ROOT = ['unshare', '--mount', '--uts', '--'] as const;
const UNSHARE_AS_USER = ['unshare', '--user', '--map-current-user', '--keep-caps', '--mount', '--uts', '--'] as const;

const isRoot = (): boolean => process.getuid?.() === 0;
const unshare = () => (isRoot() ? UNSHARE_AS_ROOT : UNSHARE_AS_USER);

/** Tried once, not guessed: containers, kernels and their settings differ in what they let a process do. */
export function detectAbilities(): RuntimeAbilities {
  const test = 'mount -t tmpfs holdfast /tmp && mkdir /tmp/a && mount --rbind /etc /tmp/a && chroot / setpriv -d';
  const [program, ...options] = unshare();
  const args = [...options, '/bin/sh', '-c', test];
  const { status } = spawnSync(program, args, { stdio: 'ignore', timeout: ABILITY_TEST_MS });
  const uid = process.getuid?.() ?? 0;
  if (status !== 0 || !isRoot())
    return { mounts: status === 0, user: isRoot() ? 'any' : { uid, gid: process.getgid?.() ?? 0 } };
  return { mounts: true, memoryVolumes: true, user: 'any' };
}

export interface Isolated {
  readonly config: ContainerConfig;
  /** Where the command begins. */
  readonly directory: string;
  /** It runs in users of its own. */
  readonly userRange?: UserRange | undefined;
}

/**
 * Writes a script that puts the mounts in place and then becomes the container's command, under the same process number.
 * What goes wrong before that is told on file descriptor 3, which is closed when all went well. In a file: a directory of
 * many entries would not fit into one argument.
 */
export function writeIsolationScript(
  directory: string,
  config: ContainerConfig,
  { hostname, userRange }: Pick<SandboxConfig, 'hostname' | 'userRange'>,
): string {
  const root = join(directory, 'root');
  const plan = planMounts({ root, directory }, config.mounts ?? [], machineFiles);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  for (const entry of plan.made) make(entry);
  const table = join(directory, 'mounts');
  writeFileSync(table, mountTable(plan.mounts, !isRoot()), { mode: 0o600 });
  const become = enterRoot({ root, directory, start: startScript(becomeUser(config)) }, userRange);
  const script = join(directory, 'start.sh');
  writeFileSync(script, [TELL_FAILURE, nameHost(hostname), mountAll(table), become, ''].join('\n'), { mode: 0o600 });
  return script;
}

interface Entrance {
  readonly root: string;
  readonly directory: string;
  /** What happens in there. */
  readonly start: string;
}

const enterRoot = ({ root, directory, start }: Entrance, userRange: UserRange | undefined): string =>
  userRange === undefined
    ? `exec chroot ${quote(root)} /bin/sh -c ${quote(start)} holdfast "$@"`
    : `cd ${quote(root)} || fail "the container has no root directory"\n${becomePodRoot(directory, userRange, start)}`;

function make(entry: MadeEntry): void {
  if (entry.kind === 'directory') mkdirSync(entry.path, { recursive: true, mode: 0o755 });
  else if (entry.kind === 'file') closeSync(openSync(entry.path, 'a', 0o644));
  // A start that was cut off may have left it.
  else if (lstatSync(entry.path, { throwIfNoEntry: false }) === undefined)
    symlinkSync(readlinkSync(entry.from), entry.path);
}

/** The program itself says which of them could not be made. */
const mountAll = (table: string): string =>
  `said=$(mount -a -T ${quote(table)} 2>&1) || fail "cannot mount the volumes of the container: $said"`;

export function isolatedCommand(script: string, { config, directory }: Isolated): readonly [string, ...string[]] {
  return [...unshare(), '/bin/sh', script, directory, ...config.command, ...config.args];
}

/**
 * A command beside a container that has mounts: in the same view of the files, as the same user. With `tellFailure` file
 * descriptor 3 says why the command could not be started.
 */
export function besideCommand(leader: number, container: Isolated, tellFailure = false): readonly string[] {
  const { config, directory, userRange } = container;
  const user = !isRoot() ? ['--user', '--preserve-credentials'] : userRange === undefined ? [] : ['--user'];
  const root = `--wd=/proc/${leader}/root`;
  const enter = ['nsenter', '--target', String(leader), ...user, '--mount', '--uts', '--root', root, '--'];
  const start = tellFailure ? startScript(becomeUser(config)) : `cd "$1" && shift && exec ${becomeUser(config)} "$@"`;
  return [...enter, '/bin/sh', '-c', start, 'holdfast', directory, ...config.command, ...config.args];
}

/** Ends what is told on file descriptor 3. */
export const ALL_WELL = '\u0004';

const TELL_FAILURE = 'fail() { printf \'%s\' "$1" >&3; exit 125; }';

/** The second way is for machines that show their settings read-only, as containers do. Nothing depends on it but a name. */
const nameHost = (hostname: string): string =>
  `{ printf %s ${quote(hostname)} > /proc/sys/kernel/hostname; } 2>/dev/null || hostname ${quote(hostname)} 2>/dev/null || :`;

const startScript = (become: string): string =>
  [
    TELL_FAILURE,
    'cd "$1" 2>/dev/null || fail "working directory \\"$1\\" does not exist in the container"',
    'shift',
    'command -v "$1" >/dev/null || fail "exec: \\"$1\\": executable file not found in \\$PATH"',
    `printf '${ALL_WELL}' >&3`,
    'exec 3>&-',
    `exec ${become} "$@"`,
  ].join('\n');

function becomeUser({ user }: ContainerConfig): string {
  if (!isRoot()) return 'setpriv --inh-caps=-all --ambient-caps=-all --';
  if (user === undefined) return '';
  const { uid, gid, groups = [] } = user;
  return `setpriv --reuid ${uid} --regid ${gid} ${groups.length === 0 ? '--clear-groups' : `--groups ${groups.join(',')}`} --`;
}

const machineFiles: MachineFiles = {
  resolve: (path) => {
    const missing: string[] = [];
    let existing = path;
    while (!existsSync(existing)) {
      missing.unshift(basename(existing));
      existing = dirname(existing);
    }
    return join(realpathSync(existing), ...missing);
  },
  exists: (path) => existsSync(path),
  isDirectory: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  entries: (path) =>
    readdirSync(path, { withFileTypes: true })
      .filter(({ name }) => path !== '/dev' || !CONSOLES_AND_DISKS.test(name))
      .map((entry) => ({
        name: entry.name,
        kind: entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'directory' : 'file',
      })),
};

/** Of the machine, a hundred of them: showing each to every container would double the time of a start. */
const CONSOLES_AND_DISKS = /^(?:tty[A-Z0-9]|vcs|loop|ram|nbd|sd[a-z]|nvme)/;
