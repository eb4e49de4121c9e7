import { userInfo } from 'node:os';
import type { Check } from '../check.ts';
import { type Judgement, ok, warning } from '../finding.ts';
import { hasProgram, readText } from '../probes.ts';

export const KERNEL: Check = {
  name: 'pod network',
  look: () =>
    Promise.resolve(
      judgeKernel({
        userNamespacesMax: readText('/proc/sys/user/max_user_namespaces')?.trim(),
        unprivileged: readText('/proc/sys/kernel/unprivileged_userns_clone')?.trim(),
        restricted: readText('/proc/sys/kernel/apparmor_restrict_unprivileged_userns')?.trim(),
        isRoot: userInfo().uid === 0,
        missing: ['ip', 'nft', 'unshare', 'nsenter'].filter((name) => !hasProgram(name)),
      }),
    ),
};

export interface KernelFacts {
  /** Undefined: this is not Linux, or the kernel has none. */
  readonly userNamespacesMax: string | undefined;
  readonly unprivileged: string | undefined;
  readonly restricted: string | undefined;
  readonly isRoot: boolean;
  /** Programs that a private network of pods needs. */
  readonly missing: readonly string[];
}

export function judgeKernel({ userNamespacesMax, unprivileged, restricted, isRoot, missing }: KernelFacts): Judgement {
  const host = 'or start with --pod-network=host: pods then share the network of this machine.';
  if (missing.length > 0)
    return warning(
      `--pod-network=private needs ${missing.join(', ')}`,
      `Install iproute2, nftables and util-linux, ${host}`,
    );
  const isClosed = userNamespacesMax === undefined || userNamespacesMax === '0' || unprivileged === '0';
  if (!isRoot && (isClosed || restricted === '1'))
    return warning(
      'this user may not create user namespaces, which --pod-network=private needs',
      `Run as root, permit user namespaces in the settings of the kernel, ${host}`,
    );
  return ok('pods can have addresses of their own (--pod-network=private)');
}
