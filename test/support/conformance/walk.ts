import type { Kubectl } from '../kubectl.ts';

/** A pod with what one conformance test asks of it. */
export interface Walk {
  /** The title of the test, as the table of rows has it. */
  readonly title: string;
  readonly metadata?: object | undefined;
  readonly spec: object;
  /** Default: `Succeeded`. */
  readonly phase?: 'Succeeded' | 'Failed' | 'Running' | 'Pending';
  /** What the container `main` has printed in the end. */
  readonly says?: RegExp;
  /** Reads the pod until this holds. */
  readonly status?: { readonly path: string; readonly is: RegExp };
  /** Changes something while the pod runs. */
  readonly change?: (kubectl: Kubectl, pod: string) => Promise<unknown>;
}

/** An address of IPv4 in an expression. */
export const ADDRESS = String.raw`\d+\.\d+\.\d+\.\d+`;

export const IMAGE = 'busybox:1.36';
export const LIMITS = { cpu: '1250m', memory: '64Mi' };
export const REQUESTS = { cpu: '10m', memory: '32Mi' };

export const shell = (script: string) => ({ image: IMAGE, command: ['/bin/sh', '-c', script] });

export interface Mounted {
  readonly volumes: readonly object[];
  readonly mounts: readonly object[];
  /** More of the pod. */
  readonly spec?: object;
}

export const NOTHING: Mounted = { volumes: [], mounts: [] };

export const mounted = (volume: object, mount: object = {}): Mounted => ({
  volumes: [{ name: 'v', ...volume }],
  mounts: [{ name: 'v', mountPath: '/v', ...mount }],
});

/** A pod that prints what it sees, and ends. */
export function printing(
  title: string,
  run: string | object,
  says: RegExp,
  { volumes, mounts, spec }: Mounted = NOTHING,
): Walk {
  const container = typeof run === 'string' ? shell(run) : run;
  const resources = { limits: LIMITS, requests: REQUESTS };
  return {
    title,
    says,
    spec: { volumes, ...spec, containers: [{ name: 'main', resources, volumeMounts: mounts, ...container }] },
  };
}

/** A pod that goes on and prints; its restarts are the kubelet's. */
export const going = (
  title: string,
  container: object,
  rest: Omit<Walk, 'title' | 'spec'>,
  spec: object = {},
): Walk => ({
  title,
  phase: 'Running',
  ...rest,
  spec: { restartPolicy: 'Always', ...spec, containers: [{ name: 'main', ...container }] },
});
