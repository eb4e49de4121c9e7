import type { RuntimeAbilities } from '../runtime/port.ts';

/**
 * Returns a warning for operators about process pods; `undefined` when they are isolated as docs/internals/kubelet.md
 * describes.
 */
export function isolationCaution({ user, mounts, confines, isolation }: RuntimeAbilities): string | undefined {
  if (isolation === true) return undefined;
  if (user !== 'any')
    return 'pods are not isolated: they run as the user who started this node and may do what that user may; start it as root, or use a container runtime';
  if (confines !== true)
    return 'pods are not isolated: the program setpriv (util-linux) is missing; install it, or use a container runtime';
  if (mounts) return undefined;
  return 'pods see the files of this machine that are open to every user: this node has no right to mount (CAP_SYS_ADMIN); they still run as users of their own';
}
