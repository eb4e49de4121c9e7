import { COMPONENT_SETTINGS, type ComponentSettings } from '@holdfast/client/component-config';
import { NODE_MONITOR_GRACE_SETTING } from '@holdfast/client/node-monitor-grace';
import { type LogLevel, OperatorError } from '@holdfast/platform';
import {
  badSetting,
  readSettings,
  type SettingSource,
  type SettingSpecs,
  type Settings,
} from '@holdfast/platform/config';
import type { ControllerManagerSettings } from './app.ts';
import { type ClusterNetwork, readClusterNetwork } from './controllers/node-ipam/cluster-network.ts';
import { CSI_DRIVERS_HELP, readCsiDrivers } from './csi/addresses.ts';
import { CLOCK_RATE_PER_MILLE_DEFAULT, TERMINATED_POD_THRESHOLD_DEFAULT } from './limits.ts';

export const CONTROLLER_MANAGER_SETTINGS = {
  ...COMPONENT_SETTINGS,
  'pod-gc-token-file': {
    kind: 'file',
    help: 'file with the bearer token of the pod garbage collector, the only controller that may end pods of a lost node',
  },
  'certificates-token-file': {
    kind: 'file',
    help: 'file with the bearer token of the certificate controllers; absent = no approval and no signing',
  },
  'cluster-signing-cert-file': {
    kind: 'file',
    help: 'PEM certificate of the authority that signs client requests; absent = no signing',
  },
  'cluster-signing-key-file': { kind: 'file', help: 'PEM key (PKCS #8, ECDSA P-256) of that authority' },
  controllers: { kind: 'list', help: '* = all, name = enable it, -name = disable it', default: ['*'] },
  'node-monitor-grace-seconds': NODE_MONITOR_GRACE_SETTING,
  'clock-rate-per-mille': {
    kind: 'integer',
    help: 'maximum difference of clock rates between two machines; extends the wait for promises of nodes',
    default: CLOCK_RATE_PER_MILLE_DEFAULT,
    min: 0,
    max: 500,
  },
  'terminated-pod-threshold': {
    kind: 'integer',
    help: 'number of finished pods above which the oldest are removed; 0 keeps all',
    default: TERMINATED_POD_THRESHOLD_DEFAULT,
  },
  'horizontal-pod-autoscaler-sync-period': {
    kind: 'duration',
    help: 'interval between evaluations of an autoscaler',
    default: '15s',
    min: '100ms',
  },
  'horizontal-pod-autoscaler-downscale-stabilization': {
    kind: 'duration',
    help: 'stabilization window before an autoscaler removes pods',
    default: '5m0s',
  },
  'horizontal-pod-autoscaler-cpu-initialization-period': {
    kind: 'duration',
    help: 'time after the start of a pod during which its cpu usage may not count',
    default: '5m0s',
  },
  'horizontal-pod-autoscaler-initial-readiness-delay': {
    kind: 'duration',
    help: 'time after the start of a pod during which readiness counts as initial',
    default: '30s',
  },
  'horizontal-pod-autoscaler-tolerance': {
    kind: 'string',
    help: 'fraction by which a metric may differ from its target without scaling',
    default: '0.1',
  },
  'allocate-node-cidrs': { kind: 'boolean', help: 'give each node a network of its own for its pods' },
  'cluster-cidr': {
    kind: 'list',
    help: 'network of all pods, from which nodes get theirs; two for two address families, the primary one first',
    default: ['10.244.0.0/16'],
  },
  'node-cidr-mask-size': { kind: 'integer', help: 'mask of the IPv4 networks of nodes', default: 24, min: 1, max: 30 },
  'node-cidr-mask-size-ipv6': {
    kind: 'integer',
    help: 'mask of the IPv6 networks of nodes',
    default: 64,
    min: 1,
    max: 126,
  },
  'network-policies-enforced': {
    kind: 'boolean',
    help: 'a network plugin or the proxy enforces network policies; otherwise each policy gets a warning event',
  },
  'csi-drivers': { kind: 'list', help: CSI_DRIVERS_HELP, default: [] },
  'leader-elect': { kind: 'boolean', help: 'only one of several managers works at a time' },
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export interface ControllerManagerConfig {
  readonly component: ComponentSettings;
  readonly podGcTokenFile: string;
  readonly certificates: CertificateFiles;
  readonly logLevel: LogLevel;
  readonly settings: ControllerManagerSettings;
}

export interface CertificateFiles {
  readonly tokenFile: string | undefined;
  readonly authority: { readonly certFile: string; readonly keyFile: string } | undefined;
}

/** Returns `undefined` for `--help`. */
export function readControllerManagerConfig(source: SettingSource): ControllerManagerConfig | undefined {
  const settings = readSettings(CONTROLLER_MANAGER_SETTINGS, source);
  if (settings.help) return undefined;
  const podGcTokenFile = settings['pod-gc-token-file'];
  if (podGcTokenFile === undefined) {
    throw new OperatorError({
      code: 'MissingSetting',
      message: 'the pod garbage collector has no credential',
      nextStep:
        'set --pod-gc-token-file (HOLDFAST_POD_GC_TOKEN_FILE); without it the pods of a lost node are never released',
      exitCode: 2,
    });
  }
  return {
    component: settings,
    podGcTokenFile,
    certificates: certificateFiles(settings),
    logLevel: settings['log-level'],
    settings: {
      nodeMonitorGraceSeconds: settings['node-monitor-grace-seconds'],
      clockRatePerMille: settings['clock-rate-per-mille'],
      terminatedPodThreshold: settings['terminated-pod-threshold'],
      // A list of nothing means the default, as an empty variable does.
      controllers: settings.controllers.length === 0 ? ['*'] : settings.controllers,
      leaderElection: settings['leader-elect'],
      ...(settings['allocate-node-cidrs'] ? { clusterNetworks: clusterNetworksOf(settings) } : {}),
      networkPoliciesEnforced: settings['network-policies-enforced'],
      csiDrivers: readCsiDrivers(settings['csi-drivers']),
      autoscaling: {
        syncPeriodMs: settings['horizontal-pod-autoscaler-sync-period'],
        downscaleStabilizationMs: settings['horizontal-pod-autoscaler-downscale-stabilization'],
        cpuInitializationMs: settings['horizontal-pod-autoscaler-cpu-initialization-period'],
        initialReadinessDelayMs: settings['horizontal-pod-autoscaler-initial-readiness-delay'],
        tolerance: toleranceOf(settings['horizontal-pod-autoscaler-tolerance']),
      },
    },
  };
}

/** The networks of pods, one for each address family. */
export function clusterNetworksOf(settings: {
  readonly 'cluster-cidr': readonly string[];
  readonly 'node-cidr-mask-size': number;
  readonly 'node-cidr-mask-size-ipv6'?: number;
}): readonly ClusterNetwork[] {
  const texts = settings['cluster-cidr'];
  const isV6 = (text: string): boolean => text.includes(':');
  if (texts.length > 2 || texts.length !== new Set(texts.map(isV6)).size)
    throw badSetting('--cluster-cidr takes one network, or one of each address family');
  return texts.map((text) => {
    const mask = isV6(text) ? settings['node-cidr-mask-size-ipv6'] : settings['node-cidr-mask-size'];
    const read = readClusterNetwork(text, mask ?? V6_MASK_SIZE);
    if (typeof read === 'string') throw badSetting(`--cluster-cidr: ${read}`);
    return read;
  });
}

const V6_MASK_SIZE = 64;

function certificateFiles(settings: Settings<typeof CONTROLLER_MANAGER_SETTINGS>): CertificateFiles {
  const certFile = settings['cluster-signing-cert-file'];
  const keyFile = settings['cluster-signing-key-file'];
  const tokenFile = settings['certificates-token-file'];
  if (certFile === undefined && keyFile === undefined) return { tokenFile, authority: undefined };
  if (certFile !== undefined && keyFile !== undefined && tokenFile !== undefined) {
    return { tokenFile, authority: { certFile, keyFile } };
  }
  throw new OperatorError({
    code: 'MissingSetting',
    message: 'the settings of the signing authority are incomplete',
    nextStep:
      'set --cluster-signing-cert-file, --cluster-signing-key-file and --certificates-token-file, or none of them',
    exitCode: 2,
  });
}

function toleranceOf(text: string): number {
  const tolerance = Number(text);
  if (text.trim() !== '' && tolerance >= 0) return tolerance;
  throw badTolerance(text);
}

const badTolerance = (text: string): OperatorError =>
  badSetting(
    `--horizontal-pod-autoscaler-tolerance ${text} cannot be read`,
    'write a share that is not negative, for example 0.1',
  );
