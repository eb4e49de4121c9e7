import { type Clock, type Log, OperatorError } from '@holdfast/platform';
import { readSettingFile } from '@holdfast/platform/setting-files';
import { parseSettingYaml } from '../setting-yaml.ts';
import type { AuditOptions } from './auditor.ts';
import { createLogSink } from './log-sink.ts';
import { type AuditPolicy, readAuditPolicy } from './policy.ts';
import { createRotatingFile } from './rotating-file.ts';
import type { AuditConfig, AuditLogConfig } from './settings.ts';
import type { AuditSink } from './sink.ts';
import { createStandardOutput } from './standard-output.ts';
import { openAuditWebhook } from './webhook-client.ts';
import { createWebhookSink } from './webhook-sink.ts';

/** Reads the policy and makes the sinks. Throws an OperatorError that names every mistake. */
export async function openAudit(
  config: AuditConfig | undefined,
  tools: { readonly clock: Clock; readonly log: Log },
): Promise<AuditOptions | undefined> {
  if (config === undefined) return undefined;
  const policy = await readPolicyFile(config.policyFile);
  const sinks: AuditSink[] = [];
  if (config.log !== undefined) sinks.push(logSink(config.log, tools));
  if (config.webhookFile !== undefined) {
    sinks.push(createWebhookSink({ ...(await openAuditWebhook(config.webhookFile, tools)), ...tools }));
  }
  return { policy, sinks };
}

function logSink(config: AuditLogConfig, tools: { readonly clock: Clock; readonly log: Log }): AuditSink {
  const { path, mode } = config;
  const file = path === '-' ? createStandardOutput(tools.clock) : createRotatingFile(path, config, tools.clock);
  return createLogSink({ file, mode, ...tools });
}

const MISTAKES_TOLD = 10;

async function readPolicyFile(path: string): Promise<AuditPolicy> {
  const file = await parseSettingYaml(await readSettingFile(path), path);
  const { policy, mistakes } = readAuditPolicy(file);
  if (mistakes.length === 0) return policy;
  const more = mistakes.length > MISTAKES_TOLD ? `; and ${mistakes.length - MISTAKES_TOLD} more` : '';
  throw new OperatorError({
    code: 'AUDIT_POLICY',
    message: `The audit policy ${path} cannot be used: ${mistakes.slice(0, MISTAKES_TOLD).join('; ')}${more}.`,
    nextStep: 'Correct the file of --audit-policy-file; docs/audit.md has an example.',
    exitCode: 2,
  });
}
