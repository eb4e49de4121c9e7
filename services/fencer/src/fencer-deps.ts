import type { Bus } from '@holdfast/bus';
import type { ApiClient } from '@holdfast/client';
import type { Clock, Ids, Log, Random, Tracer } from '@holdfast/platform';
import type { FenceAgent } from './agents/port.ts';
import type { FencerConfiguration } from './configuration/configuration.ts';

export interface FencerDeps {
  /** Carries the fencer's identity. */
  readonly client: ApiClient;
  /** Without a bus the fencer watches the API. */
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  readonly configuration: FencerConfiguration;
  /** The identity of this fencer. A restart under the same name continues its claims immediately. */
  readonly holder: string;
  /** By name; every configured agent has an entry. */
  readonly agents: ReadonlyMap<string, FenceAgent>;
}
