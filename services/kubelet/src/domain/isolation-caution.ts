import type { RuntimeAbilities } from '../runtime/port.ts';

/** What an operator has to know of pods that are processes of the machine; `undefined`: they are kept apart as docs/internals/kubelet.md says. */
export function isolationCaution({ user, mounts, confines, isolation }: RuntimeAbilities): string | undefined {
  if (isolation === true) return undefined;
  if (user !== 'any')
    return 'pods are not isolated: they run as the user who started this node and may do what that user may; start it as root, or use a container runtime';
  if (confines !== true)
    return 'pods are not isolated: the program setpriv (util-linux) is missing; install it, or use a container runtime';
  if (mounts) return undefined;
  return 'pods see the files of this machine that are open to every user: this node has no right to mount (CAP_SYS_ADMIN); they still run as users of their own';
}
