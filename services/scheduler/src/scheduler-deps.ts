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
  /** The machine it runs on: its events name it. */
  readonly host?: string;
  /** Pods that name one of its profiles are ours. */
  readonly configuration?: SchedulerConfiguration;
  /** With it only one of several schedulers works; without it all do, and the API decides who bound first. */
  readonly leaderElection?: boolean;
  /** False: priorities neither order pods nor make room (the feature gate PodPriority). */
  readonly podPriority?: boolean;
  /** How extenders are asked; the default is HTTP. */
  readonly post?: Post;
}
