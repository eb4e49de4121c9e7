import {
  CONFIG_MAPS,
  type Container,
  DEPLOYMENTS,
  type Deployment,
  JOBS,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodTemplateSpec,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Scenario } from '../../scenario/model.ts';
import { APPS } from '../../sim/hunt/plan.ts';
import { claimOf, createVolumes, PROGRAM_COMMAND, prepareProgram, templateOf, volumeOf } from '../losses/workloads.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';

const NAMESPACE = 'default';
const MIN_AVAILABLE = 2;
/** As long as the pods of the simulator stay on an unreachable node. */
const TOLERATION_SECONDS = 15;
/** More grace than a process needs to end. */
const SPARE_GRACE_SECONDS = 6;

export const named = (name: string): { namespace: string; name: string } => ({ namespace: NAMESPACE, name });

/** The pods of the StatefulSet, by their names. */
export const identitiesOf = ({ workload }: Scenario): readonly string[] =>
  Array.from({ length: MOST_REPLICAS }, (_, ordinal) => `db-${ordinal}`).slice(0, Math.max(workload.replicas.db, 4));

const MOST_REPLICAS = 9;

/** The workloads of a scenario, as the simulator has them: `db`, `web` with its budget, `disk`, `one` and a Job. */
export async function createScenarioWorkloads(cluster: ComposeCluster, scenario: Scenario): Promise<void> {
  const { admin } = cluster;
  const { hasDisks } = scenario.workload;
  const identities = identitiesOf(scenario);
  await prepareProgram(cluster, identities);
  await createVolumes(cluster, [...(hasDisks ? identities : []), 'disk']);
  if ((await admin.find(PERSISTENT_VOLUME_CLAIMS, named(volumeOf('disk')))) === undefined)
    await admin.create(PERSISTENT_VOLUME_CLAIMS, { ...claimOf(volumeOf('disk')), metadata: named(volumeOf('disk')) });
  for (const app of APPS) await createApp(admin, scenario, app);
  await admin.create(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: named('web'),
    spec: { minAvailable: MIN_AVAILABLE, selector: { matchLabels: { app: 'web' } } },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
  await createOne(admin, scenario);
  await createJob(admin, 'first-job');
}

/** One of the applications, as the scenario has it. */
export async function createApp(admin: ApiClient, scenario: Scenario, app: string): Promise<void> {
  const { replicas } = scenario.workload;
  if (app === 'db') await createSet(admin, scenario);
  else if (app === 'disk') await admin.create(DEPLOYMENTS, diskDeployment(scenario));
  else await admin.create(DEPLOYMENTS, deployment('web', replicas.web, template(scenario, 'web')));
}

const SIDE_REPLICAS = 2;

/** A Deployment that comes and goes. */
export async function createSideApp(admin: ApiClient, scenario: Scenario, name: string): Promise<void> {
  await admin.create(DEPLOYMENTS, deployment(name, SIDE_REPLICAS, template(scenario, name)));
}

/** A namespace with something in it that goes at once, and something that takes its time. */
export async function createSideNamespace(admin: ApiClient, scenario: Scenario, name: string): Promise<void> {
  await admin.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
    spec: {},
    status: {},
  });
  const inside = (own: string) => ({ namespace: name, name: own });
  await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: inside('settings') });
  await admin.create(PODS, {
    ...podOf(scenario, 'aside'),
    metadata: { ...inside(`aside-of-${name}`), labels: { app: 'aside' } },
  });
}

async function createSet(admin: ApiClient, scenario: Scenario): Promise<void> {
  const { replicas, hasDisks } = scenario.workload;
  const selector = { matchLabels: { app: 'db' } };
  const base = { replicas: replicas.db, serviceName: 'db', selector, updateStrategy: {} };
  const spec = hasDisks
    ? { ...base, template: diskTemplate(scenario, 'db'), volumeClaimTemplates: [claimOf('data')] }
    : { ...base, template: template(scenario, 'db') };
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: named('db'),
    spec,
    status: { replicas: 0 },
  });
}

function deployment(app: string, replicas: number, template: PodTemplateSpec): Deployment {
  const spec = { replicas, selector: { matchLabels: { app } }, template, strategy: {} };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: named(app), spec, status: {} };
}

/** Its pods write to one volume in turn. */
function diskDeployment(scenario: Scenario): Deployment {
  const { replicas } = scenario.workload;
  const { metadata, spec } = diskTemplate(scenario, 'disk');
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: volumeOf('disk') } }];
  const base = deployment('disk', replicas.disk, {
    metadata,
    spec: { ...spec, containers: spec?.containers ?? [], volumes },
  });
  return { ...base, spec: { ...base.spec, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } } };
}

/** A pod without a controller, always under the same name. */
export async function createOne(admin: ApiClient, scenario: Scenario): Promise<void> {
  await admin.create(PODS, podOf(scenario, 'one'));
}

function podOf(scenario: Scenario, name: string): Pod {
  const { spec } = template(scenario, name);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...named(name), labels: { app: name } },
    spec: { ...spec, containers: spec?.containers ?? [] },
    status: {},
  };
}

/** `ttlSeconds`: how long it stays after its end; 0: for ever. */
export async function createJob(admin: ApiClient, name: string, ttlSeconds = 0): Promise<void> {
  const containers = [{ name: 'main', image: 'busybox', command: ['sleep', '5'], resources: {} }];
  await admin.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: named(name),
    spec: {
      completions: 3,
      parallelism: 2,
      ...(ttlSeconds === 0 ? {} : { ttlSecondsAfterFinished: ttlSeconds }),
      template: { metadata: { labels: { app: 'job' } }, spec: { containers, restartPolicy: 'Never' } },
    },
    status: {},
  });
}

/** As in the simulator: its processes say that they live, and need their time to end. */
const template = (scenario: Scenario, app: string): PodTemplateSpec =>
  templateWith(scenario, app, { command: [...beatsThatEndIn(scenario.form.stopSeconds)] });

const diskTemplate = (scenario: Scenario, app: string): PodTemplateSpec =>
  templateWith(scenario, app, {
    command: [...PROGRAM_COMMAND, String(scenario.form.stopSeconds)],
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  });

function templateWith(scenario: Scenario, app: string, container: Partial<Container>): PodTemplateSpec {
  const { metadata, spec } = templateOf(app, [], container);
  const tolerations = ['not-ready', 'unreachable'].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: TOLERATION_SECONDS,
  }));
  const terminationGracePeriodSeconds = scenario.form.stopSeconds + SPARE_GRACE_SECONDS;
  return {
    metadata,
    spec: { ...spec, containers: spec?.containers ?? [], tolerations, terminationGracePeriodSeconds },
  };
}

const BEATS_PER_SECOND = 5;

/** Told to end, the process says so, lives on for a while, and says that it has ended by itself. */
function beatsThatEndIn(seconds: number): readonly string[] {
  const say = (what: string): string => `echo "$$(date +%s%3N) $POD_NAME $POD_UID $NODE_NAME $$$$ ${what} -" >> "$log"`;
  const script = [
    'log="/shared/$POD_NAME.log"',
    `beat() { ${say('beat')}; sleep ${1 / BEATS_PER_SECOND}; }`,
    `end() { trap '' TERM; ${say('stopping')}; for i in $$(seq ${seconds * BEATS_PER_SECOND}); do beat; done; ${say('stopped')}; exit 0; }`,
    'trap end TERM',
    'while true; do beat; done',
  ];
  return ['sh', '-c', script.join('\n')];
}
