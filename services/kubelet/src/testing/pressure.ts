import type { Pod } from '@holdfast/api';
import type { DiskUse, PodSample } from '../stats/port.ts';

export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;

/** A pod of one container, and what it uses. */
export function podUsing(
  name: string,
  use: {
    readonly memory?: number;
    readonly request?: string;
    readonly priority?: number;
    readonly grace?: number;
    readonly processes?: number;
    readonly logs?: DiskUse;
    readonly volumes?: Readonly<Record<string, DiskUse>>;
    readonly limits?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly spec?: Partial<Pod['spec']>;
  },
): PodSample {
  const { memory, request, priority, grace, processes, logs, volumes = {}, limits, annotations, spec } = use;
  const resources = {
    ...(request === undefined ? {} : { requests: { memory: request } }),
    ...(limits === undefined ? {} : { limits }),
  };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      containers: [{ name: 'main', image: 'i', resources }],
      ...(priority === undefined ? {} : { priority }),
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
      ...spec,
    },
    status: { phase: 'Running' },
  };
  const container = {
    name: 'main',
    ...(memory === undefined ? {} : { memoryBytes: memory }),
    ...(logs === undefined ? {} : { logs }),
  };
  return { pod, containers: [container], volumes, ...(processes === undefined ? {} : { processes }) };
}
