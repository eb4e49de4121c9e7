import { helper } from '../helpers.ts';
import { isRoot } from './become.ts';

/** The network namespace of a pod. Absent: the pod shares the machine's network. */
export interface SandboxNetwork {
  /** Under this key the agent of the network knows it. */
  readonly key: string;
  /** A file that exists only as long as the agent does. */
  readonly path: string;
  /** The agent's process number. Without root the namespace belongs to the agent's user namespace. */
  readonly agent: number;
}

/** The words before a command that runs in this network. The user stays the same. */
export function enterNetwork(network: SandboxNetwork | undefined): readonly string[] {
  if (network === undefined) return [];
  const users = isRoot() ? [] : [`--user=/proc/${network.agent}/ns/user`, '--preserve-credentials'];
  return [helper('nsenter'), ...users, `--net=${network.path}`, '--'];
}
