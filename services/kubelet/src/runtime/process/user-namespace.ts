import { join } from 'node:path';
import type { UserRange } from '../../domain/user-ranges.ts';
import { helper } from '../helpers.ts';
import { quote } from './mount-plan.ts';

/** In a user namespace the node's own directories are unreachable: a container finds its own directory here. */
export const OWN_DIRECTORY = '/holdfast';

/** The one line of `/proc/<pid>/uid_map`: id inside, id outside, how many. */
export const idMap = ({ firstId, length }: UserRange): string => `0 ${firstId} ${length}`;

/**
 * Only from outside may ids be mapped, so a helper waits until the namespace is there; the two speak through a pipe each way, and the
 * helper is nobody's child afterwards. Comes before anything is mounted: the pipes lie in the node's own directory.
 */
export function preparePodRoot(directory: string, range: UserRange): string {
  const [ask, told] = [quote(join(directory, 'ask')), quote(join(directory, 'told'))];
  const map = quote(idMap(range));
  return [
    `${helper('rm')} -f ${ask} ${told} && ${helper('mkfifo')} ${ask} ${told} || fail "cannot make pipes"`,
    `exec 4<>${ask} 5<>${told} 6<${ask}`,
    // It reads from its own end, so that it also exits when its requester is killed before.
    `( { exec 4>&-; read -r asked <&6 || exit; { printf %s ${map} > /proc/$$/gid_map && printf %s ${map} > /proc/$$/uid_map; } 2>/dev/null && echo mapped >&5 || echo "this node may not write ${idMap(range)} into the maps of ids" >&5; } 3>&- </dev/null >/dev/null 2>&1 & )`,
    'exec 6<&-',
  ].join('\n');
}

/**
 * Turns a root process of this machine into root of a new user namespace in the current directory. `start` continues
 * there with the script's arguments and the same pid.
 */
export function becomePodRoot(start: string): string {
  const inside = [
    'fail() { printf \'%s\' "$1" >&3; exit 125; }',
    'echo >&4',
    'read -r said <&5',
    'exec 4>&- 5>&-',
    '[ "$said" = mapped ] || fail "cannot give the pod users of its own: $said"',
    start,
  ].join('\n');
  return `exec ${helper('unshare')} --user --keep-caps -- /bin/sh -c ${quote(inside)} holdfast "$@"`;
}
