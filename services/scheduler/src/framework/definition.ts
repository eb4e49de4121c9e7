import type { ApiClient } from '@holdfast/client';
import type { JsonObject } from '@holdfast/machinery';
import type { Clock, Log } from '@holdfast/platform';
import type { VolumeStore } from '../domain/volumes.ts';
import type { ExtensionPoint, Plugin, Snapshot } from './plugin.ts';

/** What a plugin that works with the outside gets. */
export interface PluginHandle {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly volumes: VolumeStore;
  /** For hints: what is there when an event comes. */
  readonly cluster: Pick<Snapshot, 'node' | 'nominationOf' | 'nominatedOn'>;
  /** Extended resources that an extender manages: nobody else counts them. */
  readonly ignoredResources: ReadonlySet<string>;
}

/** Arguments of one plugin as they stand in the configuration. */
export interface RawArgs {
  readonly args: JsonObject;
  /** `profiles[0].pluginConfig[1].args` */
  readonly path: string;
  /** Mistakes, each beginning with the field that has it. */
  readonly errors: string[];
}

export type PluginFactory = (handle: PluginHandle) => Plugin;

/** A plugin as the configuration knows it: one per file in `plugins/`, one line in `plugins/registry.ts`. */
export interface PluginDefinition {
  readonly name: string;
  readonly points: readonly ExtensionPoint[];
  /** Multiplies its scores unless the configuration says otherwise. */
  readonly weight?: number;
  /** Reads the arguments; mistakes go to `errors`. Without arguments: the defaults. */
  readonly configure: (raw: RawArgs | undefined) => PluginFactory;
}

/** For plugins that take no arguments. */
export function define(
  name: string,
  points: readonly ExtensionPoint[],
  create: PluginFactory,
  weight?: number,
): PluginDefinition {
  return { name, points, configure: () => create, ...(weight === undefined ? {} : { weight }) };
}
