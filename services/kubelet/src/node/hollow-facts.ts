import type { NodeFacts } from '../domain/node-status.ts';
import { MAX_PODS_PER_NODE } from '../limits.ts';

/** A node that only pretends: the size of a usual machine. */
export function hollowNodeFacts(options: {
  readonly name: string;
  readonly address: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly capacity?: Readonly<Record<string, string>>;
}): NodeFacts {
  const capacity = {
    cpu: '32',
    'ephemeral-storage': '1Ti',
    memory: '256Gi',
    pods: String(MAX_PODS_PER_NODE),
    ...options.capacity,
  };
  return {
    name: options.name,
    address: options.address,
    hostname: options.name,
    runtimeName: 'hollow',
    labels: options.labels ?? {},
    capacity,
    allocatable: capacity,
    nodeInfo: {
      architecture: 'amd64',
      bootID: '',
      kernelVersion: '',
      machineID: options.name,
      operatingSystem: 'linux',
      osImage: 'hollow',
      systemUUID: options.name,
    },
  };
}
