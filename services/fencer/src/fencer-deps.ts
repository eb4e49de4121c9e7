import type { Bus } from '@holdfast/bus';
import type { ApiClient } from '@holdfast/client';
import type { Clock, Ids, Log, Random, Tracer } from '@holdfast/platform';
import type { FenceAgent } from './agents/port.ts';
import type { FencerConfiguration } from './configuration/configuration.ts';

export interface FencerDeps {
  /** Carries the fencer's identity. */
  readonly client: ApiClient;
  /** Without a bus the API is watched. */
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  readonly configuration: FencerConfiguration;
  /** Which fencer this is: one that starts again under its name goes on with what it has claimed, at once. */
  readonly holder: string;
  /** By name; every agent of the configuration has one. */
  readonly agents: ReadonlyMap<string, FenceAgent>;
}
