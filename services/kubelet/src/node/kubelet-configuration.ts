import { ConfigurationError, readConfigurationFile } from '@holdfast/client/configuration-file';
import { setOwn } from '@holdfast/machinery';
import { environmentName, readSettings, type SettingSource } from '@holdfast/platform/config';
import { KUBELET_SETTINGS } from '../config.ts';

type Setting = keyof typeof KUBELET_SETTINGS;
type Form = 'text' | 'lines' | { readonly pairs: '<' | '=' };

/** Fields of `KubeletConfiguration` and the flags that say the same. */
const FIELDS: Readonly<Record<string, { readonly flag: Setting; readonly form: Form }>> = {
  clusterDNS: { flag: 'cluster-dns', form: 'lines' },
  clusterDomain: { flag: 'cluster-domain', form: 'text' },
  containerLogMaxFiles: { flag: 'container-log-max-files', form: 'text' },
  containerLogMaxSize: { flag: 'container-log-max-size', form: 'text' },
  containerLogMonitorInterval: { flag: 'container-log-monitor-interval', form: 'text' },
  containerRuntimeEndpoint: { flag: 'container-runtime-endpoint', form: 'text' },
  evictionHard: { flag: 'eviction-hard', form: { pairs: '<' } },
  evictionSoft: { flag: 'eviction-soft', form: { pairs: '<' } },
  evictionSoftGracePeriod: { flag: 'eviction-soft-grace-period', form: { pairs: '=' } },
  evictionMinimumReclaim: { flag: 'eviction-minimum-reclaim', form: { pairs: '=' } },
  evictionMaxPodGracePeriod: { flag: 'eviction-max-pod-grace-period', form: 'text' },
  evictionPressureTransitionPeriod: { flag: 'eviction-pressure-transition-period', form: 'text' },
  featureGates: { flag: 'feature-gates', form: { pairs: '=' } },
  imageGCHighThresholdPercent: { flag: 'image-gc-high-threshold', form: 'text' },
  imageGCLowThresholdPercent: { flag: 'image-gc-low-threshold', form: 'text' },
  imageMaximumGCAge: { flag: 'image-maximum-gc-age', form: 'text' },
  imageMinimumGCAge: { flag: 'minimum-image-ttl-duration', form: 'text' },
  kubeReserved: { flag: 'kube-reserved', form: { pairs: '=' } },
  maxPods: { flag: 'max-pods', form: 'text' },
  port: { flag: 'port', form: 'text' },
  shutdownGracePeriod: { flag: 'shutdown-grace-period', form: 'text' },
  shutdownGracePeriodCriticalPods: { flag: 'shutdown-grace-period-critical-pods', form: 'text' },
  staticPodPath: { flag: 'pod-manifest-path', form: 'text' },
  systemReserved: { flag: 'system-reserved', form: { pairs: '=' } },
  tlsCertFile: { flag: 'tls-cert-file', form: 'text' },
  tlsPrivateKeyFile: { flag: 'tls-key-file', form: 'text' },
};

/** Adds the settings of the `--config` file below flags and variables. Without the flag nothing is loaded. */
export async function withConfigurationFile(
  source: SettingSource,
  specs: typeof KUBELET_SETTINGS = KUBELET_SETTINGS,
): Promise<SettingSource> {
  const { config: path, help } = readSettings(specs, source);
  if (path === undefined || help) return source;
  const settings = await readConfigurationFile(path, {
    what: "the kubelet's configuration",
    nextStep: `Correct the file. Fields that are known: ${Object.keys(FIELDS).join(', ')}.`,
    decode: settingsOf,
  });
  // An empty variable means the default, as for every program: it does not override the file.
  const given = Object.fromEntries(Object.entries(source.env).filter(([, text]) => text !== undefined && text !== ''));
  return { ...source, env: { ...settings, ...given } };
}

/** Reports all mistakes together. */
export function settingsOf(file: unknown): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {};
  const mistakes: string[] = [];
  const { apiVersion, kind, ...fields } = isRecord(file) ? file : {};
  if (apiVersion !== 'kubelet.config.k8s.io/v1beta1' || kind !== 'KubeletConfiguration')
    mistakes.push('it is not a KubeletConfiguration of kubelet.config.k8s.io/v1beta1');
  for (const [name, content] of Object.entries(fields)) {
    const known = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    const text = known === undefined ? undefined : textOf(content, known.form);
    if (known === undefined) mistakes.push(`${name}: this kubelet does not know the field`);
    else if (text === undefined) mistakes.push(`${name}: cannot be read`);
    else setOwn(settings, environmentName(known.flag), text);
  }
  if (mistakes.length > 0) throw new ConfigurationError(mistakes.join('\n'));
  return settings;
}

function textOf(content: unknown, form: Form): string | undefined {
  if (form === 'text') return scalar(content);
  if (form === 'lines') {
    const lines = Array.isArray(content) ? content.map(scalar) : [undefined];
    return lines.every((line) => line !== undefined) ? lines.join(',') : undefined;
  }
  if (!isRecord(content)) return undefined;
  const pairs = Object.entries(content).map(([key, each]) => [key, scalar(each)] as const);
  if (pairs.some(([, each]) => each === undefined)) return undefined;
  return pairs.map(([key, each]) => `${key}${form.pairs}${each}`).join(',');
}

const scalar = (content: unknown): string | undefined =>
  ['string', 'number', 'boolean'].includes(typeof content) ? String(content) : undefined;

const isRecord = (content: unknown): content is Readonly<Record<string, unknown>> =>
  typeof content === 'object' && content !== null && !Array.isArray(content);
