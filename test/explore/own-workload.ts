import { readWorkload, type Workload } from '@holdfast/cluster/explore';

/** One of our own controllers, or a few that work together, and what users do meanwhile. */
export interface OwnControllers {
  readonly controllers: readonly string[];
  readonly workload: Workload;
  /** Flags of its program. */
  readonly flags?: readonly string[];
  /** Controllers that the cluster lacks; default: those that run as the operator. */
  readonly without?: readonly string[];
  /** Longer than the controllers wait between two looks. */
  readonly quietMs?: number;
  readonly hollowNodes?: number;
}

export const labels = { app: 'web' };
export const at = (name: string) => ({ name, namespace: 'default' });

/** A template of pods. Another `env` makes another template. */
export const pods = (command: readonly string[] = [], env = '1') => ({
  metadata: { labels },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'app', command, env: [{ name: 'GENERATION', value: env }] }],
  },
});

export const deployment = (replicas: number, env = '1') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: at('web'),
  spec: { replicas, selector: { matchLabels: labels }, template: pods([], env) },
});

export const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: at(name),
  spec: { ...pods().spec, ...spec },
});

export const claim = (name: string, spec: object = {}, storage = '1Gi') => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: at(name),
  spec: { storageClassName: '', accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...spec },
});

/** The volume of the pod that the claim gives. */
export const mounting = (claimName: string) => ({
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
});

export const apply = (object: object) => ({ apply: object });
export const applyStatus = (object: object) => ({ apply: object, subresource: 'status' });
export const remove = (object: object) => ({ delete: object });
/** The next step follows without a rest. */
export const atOnce = (step: object) => ({ ...step, wait: false });

export const own = (
  controllers: readonly string[],
  steps: readonly object[],
  {
    setup = [],
    ...more
  }: Omit<OwnControllers, 'controllers' | 'workload'> & { readonly setup?: readonly object[] } = {},
): OwnControllers => ({ controllers, workload: readWorkload({ setup, steps }), ...more });
