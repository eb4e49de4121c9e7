import { hostname } from 'node:os';
import { COMPONENT_SETTINGS, type ComponentSettings, logLevelOf } from '@holdfast/client/component-config';
import { type LogLevel, OperatorError } from '@holdfast/platform';
import { readSettings, requireSettings, type SettingSource } from '@holdfast/platform/config';
import { MAX_PODS_PER_NODE } from './limits.ts';

export const KUBELET_SETTINGS = {
  ...COMPONENT_SETTINGS,
  'node-name': { kind: 'string', help: 'name of this node; default: the host name' },
  'node-labels': { kind: 'string', help: 'labels of the node: key=value, separated by commas' },
  'state-dir': { kind: 'string', help: 'directory of what must outlive this process: container records and logs' },
  'container-runtime-endpoint': {
    kind: 'string',
    help: 'socket of a container runtime (CRI), unix:///run/containerd/containerd.sock; default: pods are processes',
  },
  'max-pods': { kind: 'integer', help: 'how many pods the node takes', default: MAX_PODS_PER_NODE, min: 1 },
  help: { kind: 'boolean', help: 'print the settings and end' },
} as const;

export interface KubeletConfig {
  readonly component: ComponentSettings;
  readonly nodeName: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly stateDirectory: string;
  /** Absent: pods are processes of this machine. */
  readonly runtimeEndpoint: string | undefined;
  readonly maxPods: number;
  readonly logLevel: LogLevel;
}

/** `undefined`: help was asked for. */
export function readKubeletConfig(source: SettingSource): KubeletConfig | undefined {
  const settings = readSettings(KUBELET_SETTINGS, source);
  if (settings.help) return undefined;
  const needed = requireSettings<typeof KUBELET_SETTINGS, 'state-dir'>(settings, ['state-dir']);
  return {
    component: settings,
    nodeName: (settings['node-name'] ?? hostname()).toLowerCase(),
    nodeLabels: readLabels(settings['node-labels'] ?? ''),
    stateDirectory: needed['state-dir'],
    runtimeEndpoint: settings['container-runtime-endpoint'],
    maxPods: settings['max-pods'],
    logLevel: logLevelOf(settings),
  };
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [key = '', value] = part.trim().split('=', 2);
    if (key === '' || value === undefined) {
      throw new OperatorError({
        code: 'BadSetting',
        message: `--node-labels takes key=value pairs separated by commas, not "${part}"`,
        nextStep: 'Write for example --node-labels=topology.kubernetes.io/zone=a,disk=ssd.',
        exitCode: 2,
      });
    }
    labels[key] = value;
  }
  return labels;
}
