import { EXTENSION_POINTS } from '../framework/plugin.ts';
import type { SchedulerConfiguration } from './configuration.ts';
import type { ExtenderConfig } from './extenders.ts';

/**
 * The effective configuration for `/configz`: with defaults, plugins by extension point, and without keys. The command
 * line may also enable leader election.
 */
export function shownConfiguration(used: SchedulerConfiguration, leaderElect: boolean): unknown {
  const { profiles, extenders, backoff, parallelism, leaderElection } = used;
  const { lease, leaseDurationMs, renewDeadlineMs, retryPeriodMs } = leaderElection;
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    parallelism,
    podInitialBackoffSeconds: backoff.baseMs / 1_000,
    podMaxBackoffSeconds: backoff.maxMs / 1_000,
    leaderElection: {
      leaderElect,
      leaseDuration: seconds(leaseDurationMs),
      renewDeadline: seconds(renewDeadlineMs),
      retryPeriod: seconds(retryPeriodMs),
      resourceLock: 'leases',
      resourceName: lease.name,
      resourceNamespace: lease.namespace,
    },
    profiles: profiles.map(({ schedulerName, percentageOfNodesToScore, points }) => ({
      schedulerName,
      percentageOfNodesToScore,
      plugins: Object.fromEntries(
        EXTENSION_POINTS.map((point) => [
          point,
          { enabled: points[point].map(({ name, weight }) => (point === 'score' ? { name, weight } : { name })) },
        ]),
      ),
    })),
    extenders: extenders.map(shownExtender),
  };
}

function shownExtender({ managedResources, ignoredByScheduler, timeoutMs, tls, ...same }: ExtenderConfig): unknown {
  return {
    ...same,
    httpTimeout: seconds(timeoutMs),
    managedResources: Array.from(managedResources, (name) => ({
      name,
      ignoredByScheduler: ignoredByScheduler.has(name),
    })),
    ...(tls === undefined ? {} : { tlsConfig: { insecure: tls.insecure === true, serverName: tls.serverName ?? '' } }),
  };
}

const seconds = (ms: number): string => `${ms / 1_000}s`;
