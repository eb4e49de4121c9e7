import type { Node, Pod, PodDisruptionBudget } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import type { Json, JsonObject } from '@holdfast/machinery';
import { createSeededRandom, createSilentLog, type Random } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import {
  decodeConfiguration,
  defaultConfiguration,
  type SchedulerConfiguration,
} from '../configuration/configuration.ts';
import { Decider, type Outcome } from '../decider.ts';
import { ClusterCache } from '../domain/cluster-cache.ts';
import { createPodInfo, type PodInfo } from '../domain/pod-info.ts';
import { type Decision, schedule } from '../domain/schedule.ts';
import { buildProfile } from '../framework/build-profile.ts';
import type { PluginDefinition, PluginHandle } from '../framework/definition.ts';
import type { Plugin } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import { createSchedulerMetrics } from '../metrics.ts';
import type { SchedulerGauges } from '../metrics-gauges.ts';

export function clusterOf(nodes: readonly Node[], pods: readonly Pod[] = []): ClusterCache {
  const cache = new ClusterCache();
  for (const node of nodes) cache.setNode(node);
  for (const pod of pods) cache.setPod(createPodInfo(pod));
  return cache;
}

/** For plugins without a scheduler: their client is not connected. */
export function handleFor(cluster: ClusterCache): PluginHandle {
  const transport = createDirectTransport(() => Promise.reject(new Error('nobody answers')));
  const client = createApiClient({ transport, userAgent: 'test' });
  const clock = createVirtualClock();
  return {
    client,
    clock,
    log: createSilentLog(),
    volumes: cluster.volumes,
    cluster,
    ignoredResources: new Set<string>(),
  };
}

/** A plugin with arguments as in a configuration; throws on mistakes in them. */
export function pluginOf(definition: PluginDefinition, args?: JsonObject, cluster = new ClusterCache()): Plugin {
  const errors: string[] = [];
  const factory = definition.configure(args === undefined ? undefined : { args, path: 'args', errors });
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return factory(handleFor(cluster));
}

const DEFAULT_CONFIGURATION = defaultConfiguration();
const profiles = new WeakMap<ClusterCache, WeakMap<SchedulerConfiguration, Profile>>();

/** The first profile of a configuration, one per cluster, so that decisions share results as in a scheduler. */
export function profileFor(cluster: ClusterCache, configuration = DEFAULT_CONFIGURATION): Profile {
  const made = profiles.get(cluster) ?? new WeakMap<SchedulerConfiguration, Profile>();
  profiles.set(cluster, made);
  const profile = made.get(configuration) ?? buildFirst(cluster, configuration);
  made.set(configuration, profile);
  return profile;
}

function buildFirst(cluster: ClusterCache, configuration: SchedulerConfiguration): Profile {
  const [choice] = configuration.profiles;
  if (choice === undefined) throw new Error('a configuration has a profile');
  return buildProfile(choice, handleFor(cluster));
}

/** A configuration with these arguments for one plugin. */
export function configured(plugin: string, args: Json): SchedulerConfiguration {
  return decodeConfiguration({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ pluginConfig: [{ name: plugin, args }] }],
  });
}

export interface DecideOptions {
  readonly random?: Random;
  readonly configuration?: SchedulerConfiguration;
  readonly budgets?: readonly PodDisruptionBudget[];
}

const seeded = (): Random => createSeededRandom(1, 'ties');

export function decide(
  cluster: ClusterCache,
  pod: Pod,
  { random = seeded(), configuration }: DecideOptions = {},
): Decision {
  return schedule(cluster, createPodInfo(pod), { profile: profileFor(cluster, configuration), random });
}

/** The whole decision including preemption. */
export function decideFully(cluster: ClusterCache, pod: Pod, options: DecideOptions = {}): Outcome {
  const decided = deciderFor(cluster, options)(createPodInfo(pod));
  if (decided instanceof Promise) throw new Error('without extenders a decision is synchronous');
  return decided;
}

/** For several decisions with the same profile. */
export function deciderFor(
  cluster: ClusterCache,
  options: DecideOptions = {},
): (pod: PodInfo) => ReturnType<Decider['decide']> {
  const { random = seeded(), configuration, budgets = [] } = options;
  const profile = profileFor(cluster, configuration);
  const decider = new Decider({
    cache: cluster,
    budgets: () => budgets,
    extenders: [],
    metrics: createSchedulerMetrics(NO_GAUGES),
    clock: createVirtualClock(),
    random,
    log: createSilentLog(),
  });
  return (pod) => decider.decide(pod, profile);
}

/** Gauges of an idle scheduler. */
export const NO_GAUGES: SchedulerGauges = {
  pending: () => ({ active: 0, backoff: 0, unschedulable: 0, gated: 0 }),
  unschedulableByPlugin: () => [],
  cacheSizes: () => ({}),
  events: () => ({ waiting: 0, dropped: 0 }),
  inFlightEvents: () => [],
  asked: () => [],
  bindings: () => 0,
  isLeader: () => undefined,
};

/** Returns the message for the user, or the name of the node. */
export function outcome(cluster: ClusterCache, pod: Pod, random?: Random): string {
  return told(decideFully(cluster, pod, random === undefined ? {} : { random }));
}

export function told(decided: Outcome): string {
  return decided.kind === 'place' ? decided.nodeName : decided.message;
}
