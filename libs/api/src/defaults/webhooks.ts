import type { RuleWithOperations, ValidatingWebhook, WebhookClientConfig } from '../generated/types.ts';
import { setDefault } from './set.ts';

export function setClientConfigDefaults(config: WebhookClientConfig | undefined): void {
  if (config?.service !== undefined) setDefault(config.service, 'port', 443);
}

/** Defaults that validating and mutating webhooks share. */
export function setWebhookDefaults(webhook: ValidatingWebhook): void {
  setDefault(webhook, 'failurePolicy', 'Fail');
  setDefault(webhook, 'matchPolicy', 'Equivalent');
  setDefault(webhook, 'namespaceSelector', {});
  setDefault(webhook, 'objectSelector', {});
  setDefault(webhook, 'timeoutSeconds', 10);
  setClientConfigDefaults(webhook.clientConfig);
  setRuleDefaults(webhook.rules);
}

export function setRuleDefaults(rules: readonly RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) setDefault(rule, 'scope', '*');
}
