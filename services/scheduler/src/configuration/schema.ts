import type { StructSchema } from '@holdfast/machinery';
import { field, listOf, scalar } from '@holdfast/machinery/schema-build';
import { EXTENSION_POINTS } from '../framework/plugin.ts';
import { struct } from '../plugins/args/decode-args.ts';

const ANY = field(() => ({ kind: 'any' }));

const PLUGIN = struct('Plugin', { name: scalar('string'), weight: scalar('int32') });
const PLUGIN_SET = struct('PluginSet', { enabled: listOf(() => PLUGIN), disabled: listOf(() => PLUGIN) });
const PLUGINS = struct(
  'Plugins',
  Object.fromEntries([...EXTENSION_POINTS, 'multiPoint'].map((point) => [point, field(() => PLUGIN_SET)])),
);
const PLUGIN_CONFIG = struct('PluginConfig', { name: scalar('string'), args: ANY });
const PROFILE = struct('KubeSchedulerProfile', {
  schedulerName: scalar('string'),
  percentageOfNodesToScore: scalar('int32'),
  plugins: field(() => PLUGINS),
  pluginConfig: listOf(() => PLUGIN_CONFIG),
});

const TLS = struct('ExtenderTLSConfig', {
  insecure: scalar('boolean'),
  serverName: scalar('string'),
  certFile: scalar('string'),
  keyFile: scalar('string'),
  caFile: scalar('string'),
  certData: scalar('string'),
  keyData: scalar('string'),
  caData: scalar('string'),
});
const MANAGED = struct('ExtenderManagedResource', {
  name: scalar('string'),
  ignoredByScheduler: scalar('boolean'),
});
const EXTENDER = struct('Extender', {
  urlPrefix: scalar('string'),
  filterVerb: scalar('string'),
  preemptVerb: scalar('string'),
  prioritizeVerb: scalar('string'),
  weight: scalar('int64'),
  bindVerb: scalar('string'),
  enableHTTPS: scalar('boolean'),
  tlsConfig: field(() => TLS),
  httpTimeout: scalar('string'),
  nodeCacheCapable: scalar('boolean'),
  managedResources: listOf(() => MANAGED),
  ignorable: scalar('boolean'),
});

const LEADER_ELECTION = struct('LeaderElectionConfiguration', {
  leaderElect: scalar('boolean'),
  leaseDuration: scalar('string'),
  renewDeadline: scalar('string'),
  retryPeriod: scalar('string'),
  resourceLock: scalar('string'),
  resourceName: scalar('string'),
  resourceNamespace: scalar('string'),
});
const CLIENT_CONNECTION = struct('ClientConnectionConfiguration', {
  kubeconfig: scalar('string'),
  acceptContentTypes: scalar('string'),
  contentType: scalar('string'),
  qps: scalar('number'),
  burst: scalar('int32'),
});

const COMMON = {
  apiVersion: scalar('string'),
  kind: scalar('string'),
  parallelism: scalar('int32'),
  leaderElection: field(() => LEADER_ELECTION),
  clientConnection: field(() => CLIENT_CONNECTION),
  healthzBindAddress: scalar('string'),
  metricsBindAddress: scalar('string'),
  enableProfiling: scalar('boolean'),
  enableContentionProfiling: scalar('boolean'),
  percentageOfNodesToScore: scalar('int32'),
  podInitialBackoffSeconds: scalar('int64'),
  podMaxBackoffSeconds: scalar('int64'),
  delayCacheUntilActive: scalar('boolean'),
  profiles: listOf(() => PROFILE),
  extenders: listOf(() => EXTENDER),
  disablePreemption: scalar('boolean'),
};

const ALGORITHM_SOURCE = struct('SchedulerAlgorithmSource', { provider: scalar('string'), policy: ANY });

export const CONFIGURATION: StructSchema = struct('KubeSchedulerConfiguration', COMMON);

/** v1alpha1 had no profiles. */
export const FIRST_CONFIGURATION: StructSchema = struct('KubeSchedulerConfiguration', {
  ...COMMON,
  schedulerName: scalar('string'),
  algorithmSource: field(() => ALGORITHM_SOURCE),
  hardPodAffinitySymmetricWeight: scalar('int32'),
  bindTimeoutSeconds: scalar('int64'),
});
