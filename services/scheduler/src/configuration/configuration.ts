import { ConfigurationError } from '@holdfast/client/configuration-file';
import {
  type FieldError,
  fieldErrorMessage,
  invalid,
  isJsonObject,
  type Json,
  notSupported,
} from '@holdfast/machinery';
import type { BackoffLimits } from '../domain/pod-queue.ts';
import type { ProfileChoice } from '../framework/build-profile.ts';
import { DEFAULT_SCHEDULER_NAME, POD_BACKOFF_BASE_MS, POD_BACKOFF_MAX_MS } from '../limits.ts';
import { checkStruct, outside } from '../plugins/args/decode-args.ts';
import { decodeExtenders, type ExtenderConfig } from './extenders.ts';
import { decodeLeaderElection, type LeaderElectionChoice } from './leader-election.ts';
import { chooseProfiles } from './profiles.ts';
import { CONFIGURATION, FIRST_CONFIGURATION } from './schema.ts';
import type { WireConfiguration, WireProfile } from './wire.ts';

/** The scheduler's settings: the file of `--config`, validated and with defaults. */
export interface SchedulerConfiguration {
  readonly profiles: readonly ProfileChoice[];
  readonly extenders: readonly ExtenderConfig[];
  readonly backoff: BackoffLimits;
  readonly parallelism: number;
  readonly leaderElection: LeaderElectionChoice;
}

const GROUP = 'kubescheduler.config.k8s.io';
const VERSIONS = ['v1', 'v1beta3', 'v1beta2', 'v1beta1', 'v1alpha2', 'v1alpha1'];
/** kube-scheduler's default. This scheduler decides in one thread. */
const PARALLELISM = 16;
const PROVIDERS = ['DefaultProvider', 'ClusterAutoscalerProvider'];

export function defaultConfiguration(schedulerName: string = DEFAULT_SCHEDULER_NAME): SchedulerConfiguration {
  return decodeConfiguration({
    apiVersion: `${GROUP}/v1`,
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ schedulerName }],
  });
}

/** Throws a ConfigurationError that names every mistake. */
export function decodeConfiguration(file: Json): SchedulerConfiguration {
  if (!isJsonObject(file)) throw new ConfigurationError('the file does not contain an object');
  refuseOtherKinds(file);
  const errors: string[] = [];
  const isFirst = file['apiVersion'] === `${GROUP}/v1alpha1`;
  const wire = checkStruct(file, isFirst ? FIRST_CONFIGURATION : CONFIGURATION, {
    path: '',
    errors,
  }) as WireConfiguration;
  if (errors.length > 0) throw new ConfigurationError(errors.join('\n'));
  const mistakes = [...mistakesOf(wire)];
  const leaderElection = decodeLeaderElection(wire.leaderElection ?? {}, mistakes);
  errors.push(...mistakes.map(fieldErrorMessage));
  const extenders = decodeExtenders(wire.extenders ?? [], errors);
  const profiles = chooseProfiles(profilesOf(wire), {
    percentageOfNodesToScore: wire.percentageOfNodesToScore ?? 0,
    disablePreemption: wire.disablePreemption === true,
    errors,
  });
  if (errors.length > 0) throw new ConfigurationError(errors.join('\n'));
  return {
    profiles,
    extenders,
    backoff: backoffOf(wire),
    parallelism: wire.parallelism ?? PARALLELISM,
    leaderElection,
  };
}

function refuseOtherKinds(file: Readonly<Record<string, Json>>): void {
  const { apiVersion, kind } = file;
  if (kind !== 'KubeSchedulerConfiguration') {
    throw new ConfigurationError(
      `kind: Unsupported value: ${JSON.stringify(kind ?? null)}: supported values: "KubeSchedulerConfiguration"`,
    );
  }
  const known = VERSIONS.map((version) => `${GROUP}/${version}`);
  if (typeof apiVersion === 'string' && known.includes(apiVersion)) return;
  throw new ConfigurationError(fieldErrorMessage(notSupported('apiVersion', apiVersion ?? null, known)));
}

function mistakesOf(wire: WireConfiguration): readonly FieldError[] {
  const { parallelism = PARALLELISM, percentageOfNodesToScore = 0, algorithmSource } = wire;
  const { burst = 0 } = wire.clientConnection ?? {};
  const { baseMs, maxMs } = backoffOf(wire);
  const provider = algorithmSource?.provider ?? 'DefaultProvider';
  return [
    ...(parallelism > 0 ? [] : [invalid('parallelism', parallelism, 'should be an integer value greater than zero')]),
    ...(outside(percentageOfNodesToScore, [0, 100])
      ? [invalid('percentageOfNodesToScore', percentageOfNodesToScore, 'not in valid range [0-100]')]
      : []),
    ...(baseMs > 0 ? [] : [invalid('podInitialBackoffSeconds', baseMs / 1_000, 'must be greater than 0')]),
    ...(maxMs >= baseMs
      ? []
      : [invalid('podMaxBackoffSeconds', maxMs / 1_000, 'must be greater than or equal to PodInitialBackoffSeconds')]),
    ...(burst >= 0 ? [] : [invalid('clientConnection.burst', burst, 'must be non-negative')]),
    ...(PROVIDERS.includes(provider) ? [] : [notSupported('algorithmSource.provider', provider, PROVIDERS)]),
    ...(algorithmSource?.policy === undefined
      ? []
      : [invalid('algorithmSource.policy', 'policy', 'policies are gone since Kubernetes 1.23, use profiles')]),
  ];
}

function backoffOf({ podInitialBackoffSeconds, podMaxBackoffSeconds }: WireConfiguration): BackoffLimits {
  return {
    baseMs: podInitialBackoffSeconds === undefined ? POD_BACKOFF_BASE_MS : podInitialBackoffSeconds * 1_000,
    maxMs: podMaxBackoffSeconds === undefined ? POD_BACKOFF_MAX_MS : podMaxBackoffSeconds * 1_000,
  };
}

/** Returns the profiles of the file, or the single profile of a version without profiles. */
function profilesOf(wire: WireConfiguration): readonly WireProfile[] {
  const { profiles = [], schedulerName = DEFAULT_SCHEDULER_NAME, algorithmSource } = wire;
  const { hardPodAffinitySymmetricWeight, bindTimeoutSeconds } = wire;
  if (profiles.length > 0) {
    return profiles.length === 1 ? profiles.map((profile) => ({ schedulerName, ...profile })) : profiles;
  }
  const fills = algorithmSource?.provider === 'ClusterAutoscalerProvider';
  const pluginConfig = [
    ...(hardPodAffinitySymmetricWeight === undefined
      ? []
      : [{ name: 'InterPodAffinity', args: { hardPodAffinityWeight: hardPodAffinitySymmetricWeight } }]),
    ...(bindTimeoutSeconds === undefined ? [] : [{ name: 'VolumeBinding', args: { bindTimeoutSeconds } }]),
    ...(fills ? [{ name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }] : []),
  ];
  return [{ schedulerName, pluginConfig }];
}
