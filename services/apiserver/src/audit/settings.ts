import { badSetting, type SettingSpecs, type Settings } from '@holdfast/platform/config';
import { AUDIT_MODES, type AuditMode } from './sink.ts';

/** Under the names of kube-apiserver. */
export const AUDIT_SETTINGS = {
  'audit-policy-file': {
    kind: 'file',
    help: 'audit.k8s.io/v1 Policy that selects the audited requests and their level; absent = no audit',
  },
  'audit-log-path': {
    kind: 'file',
    help: 'File for audit events, one per line; - is standard output',
  },
  'audit-log-mode': {
    kind: 'enum',
    values: AUDIT_MODES,
    help: 'How the log is written; blocking: a response waits for its event; strict: a request without its event is refused',
    default: 'blocking',
  },
  'audit-log-maxsize': { kind: 'integer', help: 'Megabytes after which the file is rotated', default: 100, min: 1 },
  'audit-log-maxbackup': { kind: 'integer', help: 'Number of rotated files to keep; 0 = all', default: 0, min: 0 },
  'audit-log-maxage': { kind: 'integer', help: 'Days to keep rotated files; 0 = for ever', default: 0, min: 0 },
  'audit-webhook-config-file': {
    kind: 'file',
    help: 'Kubeconfig of the HTTPS server that gets batches of audit events',
  },
} as const satisfies SettingSpecs;

export interface AuditConfig {
  readonly policyFile: string;
  readonly log: AuditLogConfig | undefined;
  readonly webhookFile: string | undefined;
}

export interface AuditLogConfig {
  /** `-`: standard output. */
  readonly path: string;
  readonly mode: AuditMode;
  readonly maxBytes: number;
  readonly maxBackups: number;
  readonly maxAgeMs: number;
}

const MEGABYTE = 1024 * 1024;
const DAY_MS = 24 * 3_600 * 1_000;

/** `undefined`: nothing is audited. */
export function readAuditConfig(settings: Settings<typeof AUDIT_SETTINGS>): AuditConfig | undefined {
  const policyFile = settings['audit-policy-file'];
  const logPath = settings['audit-log-path'];
  const webhookFile = settings['audit-webhook-config-file'];
  const mode = settings['audit-log-mode'];
  if (policyFile === undefined) {
    if (logPath === undefined && webhookFile === undefined) return undefined;
    const named = logPath === undefined ? '--audit-webhook-config-file' : '--audit-log-path';
    throw badSetting(
      `${named} needs --audit-policy-file`,
      'Name a file that says which requests are audited, or leave both out.',
    );
  }
  if (logPath === undefined && webhookFile === undefined) {
    const next = 'Say with --audit-log-path or --audit-webhook-config-file where audit events go.';
    throw badSetting('--audit-policy-file is set, but audit events have no place to go', next);
  }
  const log: AuditLogConfig | undefined =
    logPath === undefined
      ? undefined
      : {
          path: logPath,
          mode,
          maxBytes: settings['audit-log-maxsize'] * MEGABYTE,
          maxBackups: settings['audit-log-maxbackup'],
          maxAgeMs: settings['audit-log-maxage'] * DAY_MS,
        };
  return { policyFile, log, webhookFile };
}
