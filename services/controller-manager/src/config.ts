import { COMPONENT_SETTINGS, type ComponentSettings, logLevelOf } from '@holdfast/client/component-config';
import { type LogLevel, OperatorError } from '@holdfast/platform';
import { readSettings, type SettingSource, type SettingSpecs } from '@holdfast/platform/config';
import type { ControllerManagerSettings } from './app.ts';
import {
  NODE_MONITOR_GRACE_SECONDS_DEFAULT,
  NODE_MONITOR_GRACE_SECONDS_MIN,
  TERMINATED_POD_THRESHOLD_DEFAULT,
} from './limits.ts';

export const CONTROLLER_MANAGER_SETTINGS = {
  ...COMPONENT_SETTINGS,
  'pod-gc-token-file': {
    kind: 'string',
    help: 'file with the bearer token of the pod garbage collector, which alone may end pods of a node that is gone',
  },
  controllers: { kind: 'string', help: '* = all, a name = this one, -name = not this one; with commas', default: '*' },
  'node-monitor-grace-seconds': {
    kind: 'integer',
    help: 'silence after which the readiness of a node is unknown; kubelets speak every 10 s',
    default: NODE_MONITOR_GRACE_SECONDS_DEFAULT,
    min: NODE_MONITOR_GRACE_SECONDS_MIN,
  },
  'terminated-pod-threshold': {
    kind: 'integer',
    help: 'finished pods that may stay before the oldest are removed; 0 keeps all',
    default: TERMINATED_POD_THRESHOLD_DEFAULT,
  },
  'leader-elect': { kind: 'boolean', help: 'let only one of several managers work at a time' },
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export interface ControllerManagerConfig {
  readonly component: ComponentSettings;
  readonly podGcTokenFile: string;
  readonly logLevel: LogLevel;
  readonly settings: ControllerManagerSettings;
}

/** `undefined` when only the help was asked for. */
export function readControllerManagerConfig(source: SettingSource): ControllerManagerConfig | undefined {
  const settings = readSettings(CONTROLLER_MANAGER_SETTINGS, source);
  if (settings.help) return undefined;
  const podGcTokenFile = settings['pod-gc-token-file'];
  if (podGcTokenFile === undefined) {
    throw new OperatorError({
      code: 'MissingSetting',
      message: 'the pod garbage collector has no identity of its own',
      nextStep:
        'set --pod-gc-token-file (HOLDFAST_POD_GC_TOKEN_FILE); without it nobody releases the pods of a lost node',
      exitCode: 2,
    });
  }
  return {
    component: settings,
    podGcTokenFile,
    logLevel: logLevelOf(settings),
    settings: {
      nodeMonitorGraceSeconds: settings['node-monitor-grace-seconds'],
      terminatedPodThreshold: settings['terminated-pod-threshold'],
      controllers: settings.controllers.split(',').map((name) => name.trim()),
      leaderElection: settings['leader-elect'],
    },
  };
}
