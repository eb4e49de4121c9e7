import type { UserRange } from '../../domain/user-ranges.ts';
import { helper } from '../helpers.ts';
import type { ContainerConfig, ProcessUser } from '../port.ts';
import { ADD_SPECIAL, UNPACK_ENVIRONMENT } from './carried-environment.ts';

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Ends the messages on file descriptor 3. */
export const ALL_WELL = '\u0004';

export const TELL_FAILURE = 'fail() { printf \'%s\' "$1" >&3; exit 125; }';

/**
 * The first lines that run as the container's user: from here on its environment, its working directory and its search path count.
 * `/bin/sh -c <this> holdfast <directory> <command>...`. A directory `.` is the present one, which has perhaps no path that this user may go.
 */
export const START_TOLD = [
  TELL_FAILURE,
  'umask 022',
  '[ "$1" = . ] || cd "$1" 2>/dev/null || fail "working directory \\"$1\\" does not exist in the container"',
  'shift',
  UNPACK_ENVIRONMENT,
  'command -v "$1" >/dev/null || fail "exec: \\"$1\\": executable file not found in \\$PATH"',
  ADD_SPECIAL(helper('env')),
  `printf '${ALL_WELL}' >&3`,
  'exec 3>&-',
  'exec $holdfast_env "$@"',
].join('\n');

/** The same without a reader on file descriptor 3. */
export const START_UNTOLD = [
  'umask 022',
  '[ "$1" = . ] || cd "$1" || exit 125',
  'shift',
  UNPACK_ENVIRONMENT,
  ADD_SPECIAL(helper('env')),
  'exec $holdfast_env "$@"',
].join('\n');

/** Root of the machine may do what Docker's root may, no more, and nothing at all that only the process tree's owner should. */
const ROOT_KEEPS =
  '+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap';
/**
 * The capabilities with which `chroot` changes root and user in one program; the change of the user drops its effective
 * ones.
 */
const ENTRANCE_KEEPS = '+setuid,+setgid,+sys_chroot';

const groupsOf = ({ groups = [] }: ProcessUser): string => groups.map((id) => `+${id}`).join(',');

/**
 * Makes the current directory the root directory and turns a root process into the container's. `chroot` is loaded
 * before and changes the user after that, so no program and no library of the container's view ever runs as root.
 */
export function enterAs(config: ContainerConfig, userRange: UserRange | undefined): readonly string[] {
  const { user } = config;
  const enter =
    user === undefined
      ? [helper('chroot'), '.']
      : [helper('chroot'), `--userspec=+${user.uid}:+${user.gid}`, `--groups=${groupsOf(user)}`, '.'];
  return [...limitsOf(config, userRange), ...enter];
}

function limitsOf({ user, privileged }: ContainerConfig, userRange: UserRange | undefined): readonly string[] {
  const isPlain = user !== undefined && user.uid !== 0;
  const newRights = isPlain ? ['--no-new-privs'] : [];
  const setpriv = helper('setpriv');
  if (userRange !== undefined) {
    const root = ['--reuid', '0', '--regid', '0', '--clear-groups', '--inh-caps=-all', '--ambient-caps=-all'];
    return [setpriv, ...root, ...newRights, '--'];
  }
  if (user === undefined || (privileged === true && !isPlain)) return [];
  const keeps = isPlain ? ENTRANCE_KEEPS : ROOT_KEEPS;
  return [setpriv, ...newRights, '--inh-caps=-all', `--bounding-set=-all,${keeps}`, '--'];
}

/** Without mounts: the machine's own view, as the container's user. */
export function becomeInPlace({ uid, gid, groups = [] }: ProcessUser): readonly string[] {
  const others = groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`;
  const newRights = uid === 0 ? [] : ['--no-new-privs'];
  return [helper('setpriv'), ...newRights, `--reuid=${uid}`, `--regid=${gid}`, others, '--inh-caps=-all', '--'];
}

/** Without root: the user stays, the right to mount is dropped. */
export const dropRights = (): readonly string[] => [
  helper('setpriv'),
  '--no-new-privs',
  '--inh-caps=-all',
  '--ambient-caps=-all',
  '--',
];
