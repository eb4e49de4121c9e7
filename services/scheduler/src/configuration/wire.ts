import type { JsonObject } from '@holdfast/machinery';
import type { ExtensionPoint } from '../framework/plugin.ts';

/** The file as written. Its types are checked; all fields are optional. */
export interface WireConfiguration {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly parallelism?: number;
  readonly leaderElection?: WireLeaderElection;
  readonly clientConnection?: { readonly burst?: number };
  readonly percentageOfNodesToScore?: number;
  readonly podInitialBackoffSeconds?: number;
  readonly podMaxBackoffSeconds?: number;
  readonly profiles?: readonly WireProfile[];
  readonly extenders?: readonly WireExtender[];
  readonly disablePreemption?: boolean;
  readonly schedulerName?: string;
  readonly algorithmSource?: { readonly provider?: string; readonly policy?: unknown };
  readonly hardPodAffinitySymmetricWeight?: number;
  readonly bindTimeoutSeconds?: number;
}

export interface WireLeaderElection {
  readonly leaderElect?: boolean;
  readonly leaseDuration?: string;
  readonly renewDeadline?: string;
  readonly retryPeriod?: string;
  readonly resourceLock?: string;
  readonly resourceName?: string;
  readonly resourceNamespace?: string;
}

export interface WireProfile {
  readonly schedulerName?: string;
  readonly percentageOfNodesToScore?: number;
  readonly plugins?: WirePlugins;
  readonly pluginConfig?: readonly { readonly name?: string; readonly args?: JsonObject }[];
}

export type WirePlugins = Partial<Record<ExtensionPoint | 'multiPoint', WirePluginSet>>;

export interface WirePluginSet {
  readonly enabled?: readonly WirePlugin[];
  readonly disabled?: readonly WirePlugin[];
}

export interface WirePlugin {
  readonly name?: string;
  readonly weight?: number;
}

export interface WireExtender {
  readonly urlPrefix?: string;
  readonly filterVerb?: string;
  readonly preemptVerb?: string;
  readonly prioritizeVerb?: string;
  readonly weight?: number;
  readonly bindVerb?: string;
  readonly enableHTTPS?: boolean;
  readonly tlsConfig?: WireTls;
  readonly httpTimeout?: string;
  readonly nodeCacheCapable?: boolean;
  readonly managedResources?: readonly { readonly name?: string; readonly ignoredByScheduler?: boolean }[];
  readonly ignorable?: boolean;
}

export interface WireTls {
  readonly insecure?: boolean;
  readonly serverName?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly caFile?: string;
  readonly certData?: string;
  readonly keyData?: string;
  readonly caData?: string;
}
