import { OperatorError } from '@holdfast/platform';
import type { SettingSpecs, Settings } from '@holdfast/platform/config';
import { AUDIT_MODES, type AuditMode } from './sink.ts';

/** Under the names of kube-apiserver. */
export const AUDIT_SETTINGS = {
  'audit-policy-file': {
    kind: 'file',
    help: 'Which requests are audited, and how much of them: an audit.k8s.io/v1 Policy; absent = none',
  },
  'audit-log-path': {
    kind: 'file',
    help: 'File that audit events are written to, one on a line; - is the standard output',
  },
  'audit-log-mode': {
    kind: 'enum',
    values: AUDIT_MODES,
    help: 'How the log is written; blocking answers wait for their event, strict ones are refused without it',
    default: 'blocking',
  },
  'audit-log-maxsize': { kind: 'integer', help: 'Megabytes after which the file is put aside', default: 100, min: 1 },
  'audit-log-maxbackup': { kind: 'integer', help: 'Files put aside that are kept; 0 = all', default: 0, min: 0 },
  'audit-log-maxage': { kind: 'integer', help: 'Days that files put aside are kept; 0 = for ever', default: 0, min: 0 },
  'audit-webhook-config-file': {
    kind: 'file',
    help: 'Kubeconfig of the HTTPS server that audit events are sent to, in batches',
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

const badSetting = (message: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'BadSetting', message, nextStep, exitCode: 2 });
