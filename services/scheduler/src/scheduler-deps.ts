import type { Bus } from '@holdfast/bus';
import type { ApiClient } from '@holdfast/client';
import type { Clock, Ids, Log, Random, Tracer } from '@holdfast/platform';
import type { Post } from './adapters/extender.ts';
import type { SchedulerConfiguration } from './configuration/configuration.ts';

export interface SchedulerDeps {
  /** Carries the scheduler's identity. */
  readonly client: ApiClient;
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  /** The host name in its events. */
  readonly host?: string;
  /** The scheduler handles pods that name one of its profiles. */
  readonly configuration?: SchedulerConfiguration;
  /** True: only one of several schedulers works. False: all work, and the API decides the first binding. */
  readonly leaderElection?: boolean;
  /** False: priorities affect neither order nor preemption (feature gate PodPriority). */
  readonly podPriority?: boolean;
  /** Sends requests to extenders; default: HTTP. */
  readonly post?: Post;
}
