import type { Cluster } from '../access.ts';
import type { EnvtestEnvironment } from './api-server-flags.ts';

export { API_SERVER_FLAGS, type EnvtestEnvironment } from './api-server-flags.ts';
export { createEtcdOf, ETCD_FLAGS } from './etcd.ts';
export { describeFlags } from './flags.ts';

/**
 * A cluster behind the flags of `kube-apiserver`, with scheduler and controllers. `warn` receives what has no effect. The
 * cluster is loaded by the call: envtest asks for the help of each program first.
 */
export const startApiServerOf = async (
  argv: readonly string[],
  environment: EnvtestEnvironment,
  warn: (line: string) => void,
): Promise<Cluster> => (await import('./api-server.ts')).startApiServerOf(argv, environment, warn);
