import type { ApiClient } from '@holdfast/client';
import type { JsonObject } from '@holdfast/machinery';
import type { Clock, Log } from '@holdfast/platform';
import type { VolumeStore } from '../domain/volumes.ts';
import type { ExtensionPoint, Plugin, Snapshot } from './plugin.ts';

/** The dependencies of a plugin with external effects. */
export interface PluginHandle {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly volumes: VolumeStore;
  /** For hints: the state at the time of an event. */
  readonly cluster: Pick<Snapshot, 'node' | 'nominationOf' | 'nominatedOn'>;
  /** Extended resources that an extender manages: plugins ignore them. */
  readonly ignoredResources: ReadonlySet<string>;
}

/** The unparsed arguments of one plugin. */
export interface RawArgs {
  readonly args: JsonObject;
  /** `profiles[0].pluginConfig[1].args` */
  readonly path: string;
  /** Mistakes, each with its field first. */
  readonly errors: string[];
}

export type PluginFactory = (handle: PluginHandle) => Plugin;

/** A plugin for the configuration: one file in `plugins/` and one line in `plugins/registry.ts`. */
export interface PluginDefinition {
  readonly name: string;
  readonly points: readonly ExtensionPoint[];
  /** The default weight of its scores. */
  readonly weight?: number;
  /** Parses the arguments and adds mistakes to `errors`. Without arguments it uses the defaults. */
  readonly configure: (raw: RawArgs | undefined) => PluginFactory;
}

/** For plugins without arguments. */
export function define(
  name: string,
  points: readonly ExtensionPoint[],
  create: PluginFactory,
  weight?: number,
): PluginDefinition {
  return { name, points, configure: () => create, ...(weight === undefined ? {} : { weight }) };
}
