import { FEATURE_GATES_SETTING, type Features, readFeatures } from '@holdfast/api';
import { LOG_LEVEL_SETTING, type LogLevel, OperatorError, TRACING_SETTING } from '@holdfast/platform';
import { readSettings, requireSettings, type SettingSource, type SettingSpecs } from '@holdfast/platform/config';
import { HEALTH_SETTING } from '@holdfast/platform/health-server';
import { isLogAddress } from '@holdfast/platform/log-address';
import { readStoreAddress } from '@holdfast/platform/store-address';
import { STORE_LIMIT_SETTING } from '@holdfast/platform/store-limit';
import {
  BUS_TLS_SETTINGS,
  readBusTls,
  readStoreTls,
  STORE_TLS_SETTINGS,
  type TlsClient,
} from '@holdfast/platform/tls-client';
import { ALLOW_PRIVILEGED_SETTING } from './admission/allow-privileged-setting.ts';
import { OPTIONAL_PLUGINS_SETTING, type OptionalPlugin } from './admission/optional-plugins-setting.ts';
import { DEFAULT_SERVICE_NETWORK } from './allocation/ranges.ts';
import { AUDIT_SETTINGS, type AuditConfig, readAuditConfig } from './audit/settings.ts';
import { DEFAULT_STORAGE_CLASS_SETTING } from './bootstrap/default-storage-class-setting.ts';
import { ENCRYPTION_SETTING } from './encryption/setting.ts';
import { type HistoryConfig, historySettings, readHistoryConfig } from './history/settings.ts';
import { DEFAULT_TOLERATION_SECONDS } from './limits.ts';
import { LOG_STORE_SETTINGS, type LogStoreConfig, readLogStore } from './log-store-settings.ts';

export const APISERVER_SETTINGS = {
  store: {
    kind: 'string',
    help: 'redis://host:port, rediss://host:port for TLS; nats:// or tls:// of three NATS servers, separated by commas, for a replicated log; or "memory" without persistence',
    default: 'memory',
  },
  ...STORE_TLS_SETTINGS,
  'store-limit-mb': STORE_LIMIT_SETTING,
  'allow-unsafe-store': { kind: 'boolean', help: 'Accept a store that may lose acknowledged writes' },
  ...LOG_STORE_SETTINGS,
  bus: {
    kind: 'string',
    help: 'nats://host:port, tls://host:port for TLS, several separated by commas; absent = changes are not published',
  },
  'bus-user': { kind: 'string', help: 'NATS user that may publish' },
  'bus-password-file': { kind: 'file', help: 'File with the password of that user' },
  ...BUS_TLS_SETTINGS,
  host: { kind: 'string', help: 'Address to listen on', default: '127.0.0.1' },
  port: { kind: 'integer', help: 'Port to listen on; 0 takes a free one', default: 6443, min: 0, max: 65_535 },
  'tls-cert-file': { kind: 'file', help: 'PEM certificate of the server' },
  'tls-key-file': { kind: 'file', help: 'PEM key of the server' },
  'client-ca-file': { kind: 'file', help: 'PEM of the authority of client certificates' },
  'kubelet-client-cert-file': {
    kind: 'file',
    help: 'PEM client certificate of this server for kubelets; absent = no logs, exec, attach and port-forward',
  },
  'kubelet-client-key-file': { kind: 'file', help: 'PEM key of that certificate' },
  'kubelet-ca-file': { kind: 'file', help: 'PEM of the authority of kubelet certificates' },
  'requestheader-client-ca-file': {
    kind: 'file',
    help: 'PEM of the authority of the next certificate, published to aggregated API servers (APIService)',
  },
  'proxy-client-cert-file': {
    kind: 'file',
    help: 'PEM client certificate of this server for aggregated API servers; absent = they ignore its user headers',
  },
  'proxy-client-key-file': { kind: 'file', help: 'PEM key of that certificate' },
  'token-file': { kind: 'file', help: 'Lines of token,user,uid,"group1,group2"' },
  'service-account-key-file': {
    kind: 'file',
    help: 'PEM key that signs service account tokens; absent = none are issued',
  },
  'service-account-verification-key-file': {
    kind: 'file',
    help: 'PEM of further keys, one after another, whose service account tokens are accepted',
  },
  'service-account-issuer': { kind: 'string', help: 'Issuer in service account tokens' },
  'default-toleration-seconds': {
    kind: 'integer',
    help: 'Default time that pods stay on a lost node',
    default: DEFAULT_TOLERATION_SECONDS,
    min: 0,
  },
  'allow-privileged': ALLOW_PRIVILEGED_SETTING,
  'enable-admission-plugins': OPTIONAL_PLUGINS_SETTING,
  'service-cluster-ip-range': {
    kind: 'string',
    help: 'IPv4 network of service addresses; the same for every apiserver of a cluster',
    default: DEFAULT_SERVICE_NETWORK,
  },
  'default-storage-class': DEFAULT_STORAGE_CLASS_SETTING,
  ...historySettings('0s'),
  'history-dir': {
    kind: 'string',
    help: 'Directory of that history, for this server alone; absent = it is kept in memory',
  },
  ...AUDIT_SETTINGS,
  'encryption-provider-config': ENCRYPTION_SETTING,
  'feature-gates': FEATURE_GATES_SETTING,
  'health-address': HEALTH_SETTING,
  'tracing-endpoint': TRACING_SETTING,
  'log-level': LOG_LEVEL_SETTING,
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

export interface ApiServerConfig {
  /** `undefined` keeps everything in memory, or in the log. */
  readonly redisUrl: string | undefined;
  /** Present: the store is a log on NATS servers. */
  readonly logStore: LogStoreConfig | undefined;
  readonly storeTls: TlsClient | undefined;
  readonly allowUnsafeStore: boolean;
  /** Absent: by the heap. */
  readonly storeLimitMb: number | undefined;
  readonly bus: BusConfig | undefined;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile: string | undefined };
  readonly tokenFile: string;
  /** Absent: this server has no way to kubelets. */
  readonly kubelets: CertificateFiles | undefined;
  /** Absent: this server has no certificate for API servers behind it. */
  readonly frontProxy: CertificateFiles | undefined;
  readonly serviceAccountKeyFile: string | undefined;
  readonly serviceAccountVerificationKeyFile: string | undefined;
  readonly serviceAccountIssuer: string | undefined;
  readonly defaultTolerationSeconds: number;
  readonly allowPrivileged: boolean;
  readonly optionalPlugins: ReadonlySet<OptionalPlugin>;
  readonly serviceNetwork: string;
  /** True: a new cluster gets one. */
  readonly defaultStorageClass: boolean;
  /** Absent: no history is kept. */
  readonly history: HistoryConfig | undefined;
  /** Absent: the history is kept in memory. */
  readonly historyDirectory: string | undefined;
  /** Absent: nothing is audited. */
  readonly audit: AuditConfig | undefined;
  /** Absent: objects are stored as they are. */
  readonly encryptionFile: string | undefined;
  readonly features: Features;
  readonly healthAddress: string | undefined;
  readonly tracingEndpoint: string | undefined;
  readonly logLevel: LogLevel;
}

/** A certificate, and the authority that goes with it. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

export interface BusConfig {
  readonly servers: readonly string[];
  readonly user: string | undefined;
  readonly passwordFile: string | undefined;
  readonly tls: TlsClient | undefined;
}

/** `undefined` for `--help`. */
export function readApiServerConfig(source: SettingSource): ApiServerConfig | undefined {
  const settings = readSettings(APISERVER_SETTINGS, source);
  if (settings.help) return undefined;
  const files = requireSettings(settings, ['tls-cert-file', 'tls-key-file', 'token-file']);
  return {
    redisUrl:
      settings.store === 'memory' || isLogAddress(settings.store)
        ? undefined
        : readStoreAddress(settings.store, 'redis://host:port, nats://host:port or memory'),
    logStore: readLogStore(settings),
    storeTls: readStoreTls(settings),
    allowUnsafeStore: settings['allow-unsafe-store'],
    storeLimitMb: settings['store-limit-mb'],
    bus:
      settings.bus === undefined
        ? undefined
        : {
            servers: settings.bus.split(','),
            user: settings['bus-user'],
            passwordFile: settings['bus-password-file'],
            tls: readBusTls(settings),
          },
    host: settings.host,
    port: settings.port,
    tls: {
      certFile: files['tls-cert-file'],
      keyFile: files['tls-key-file'],
      clientCaFile: settings['client-ca-file'],
    },
    tokenFile: files['token-file'],
    kubelets: certificateFiles(settings, KUBELET_FILES),
    frontProxy: certificateFiles(settings, FRONT_PROXY_FILES),
    serviceAccountKeyFile: settings['service-account-key-file'],
    serviceAccountVerificationKeyFile: settings['service-account-verification-key-file'],
    serviceAccountIssuer: settings['service-account-issuer'],
    defaultTolerationSeconds: settings['default-toleration-seconds'],
    allowPrivileged: settings['allow-privileged'],
    optionalPlugins: new Set(settings['enable-admission-plugins']),
    serviceNetwork: settings['service-cluster-ip-range'],
    defaultStorageClass: settings['default-storage-class'] === 'standard',
    history: readHistoryConfig(settings),
    historyDirectory: settings['history-dir'],
    audit: readAuditConfig(settings),
    encryptionFile: settings['encryption-provider-config'],
    features: readFeatures(settings['feature-gates']),
    healthAddress: settings['health-address'],
    tracingEndpoint: settings['tracing-endpoint'],
    logLevel: settings['log-level'],
  };
}

const KUBELET_FILES = {
  certFile: 'kubelet-client-cert-file',
  keyFile: 'kubelet-client-key-file',
  caFile: 'kubelet-ca-file',
} as const;

const FRONT_PROXY_FILES = {
  certFile: 'proxy-client-cert-file',
  keyFile: 'proxy-client-key-file',
  caFile: 'requestheader-client-ca-file',
} as const;

type FileSettings = typeof KUBELET_FILES | typeof FRONT_PROXY_FILES;

function certificateFiles(
  settings: Readonly<Partial<Record<FileSettings[keyof FileSettings], string | undefined>>>,
  names: FileSettings,
): CertificateFiles | undefined {
  const [certFile, keyFile, caFile] = [settings[names.certFile], settings[names.keyFile], settings[names.caFile]];
  if (certFile === undefined && keyFile === undefined && caFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined && caFile !== undefined) return { certFile, keyFile, caFile };
  throw new OperatorError({
    code: 'BadSetting',
    message: `--${names.certFile}, --${names.keyFile} and --${names.caFile} go together`,
    nextStep: 'Name all three files, or none of them.',
    exitCode: 2,
  });
}
