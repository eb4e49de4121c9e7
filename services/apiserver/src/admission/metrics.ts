import type { MetricRegistry } from '@holdfast/platform';
import type { Attributes } from './dynamic/attributes.ts';
import type { CompiledWebhook } from './dynamic/compiled-webhooks.ts';

/** Why a webhook refused a request or failed, in the words of the metric of Kubernetes. */
export type WebhookFault = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

export interface WebhookOutcome {
  readonly seconds: number;
  readonly rejected: boolean;
  readonly code: number;
  /** Absent: the webhook allowed the request. */
  readonly fault?: WebhookFault;
}

export type PolicyAction = 'deny' | 'audit' | 'warn' | 'allow';
export type PolicyFault = 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget';

export interface PolicyCheck {
  readonly policy: string;
  readonly binding: string;
  readonly action: PolicyAction;
  readonly fault: PolicyFault;
  readonly seconds: number;
}

/** Metrics of webhooks and policies with the names of Kubernetes 1.32. */
export interface AdmissionMetrics {
  readonly webhookAnswered: (
    hook: CompiledWebhook,
    operation: Attributes['operation'],
    outcome: WebhookOutcome,
  ) => void;
  readonly webhookLeftOut: (hook: CompiledWebhook) => void;
  readonly conditionsFailed: (hook: CompiledWebhook, operation: Attributes['operation']) => void;
  readonly conditionsExcluded: (hook: CompiledWebhook, operation: Attributes['operation']) => void;
  readonly policyChecked: (check: PolicyCheck) => void;
}

const WEBHOOK_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const POLICY_BUCKETS = [0.0000005, 0.001, 0.01, 0.1, 1];
/** Kubernetes shows no higher code. */
const CODE_MAX = 600;
/** Names of webhooks and policies that have series of their own; clients choose them. */
const NAMES_MAX = 1_000;

export function createAdmissionMetrics(registry: MetricRegistry): AdmissionMetrics {
  const nameOf = boundedNames(NAMES_MAX);
  const families = webhookFamilies(registry);
  const policy = ['policy', 'policy_binding', 'error_type', 'enforcement_action'];
  const checks = registry.counter(
    'apiserver_validating_admission_policy_check_total',
    'Checks of validations by policy and binding, with what was done.',
    policy,
  );
  const checkSeconds = registry.histogram(
    'apiserver_validating_admission_policy_check_duration_seconds',
    'Time that the check of a validation took.',
    { labelNames: policy, buckets: POLICY_BUCKETS },
  );
  return {
    webhookAnswered: (hook, operation, { seconds, rejected, code, fault }) => {
      const of = [nameOf(hook.webhook.name), typeOf(hook), operation];
      const shown = String(Math.min(code, CODE_MAX));
      families.seconds.observe([...of, String(rejected)], seconds);
      families.requests.add([...of, shown, String(rejected)]);
      if (rejected && fault !== undefined) families.rejections.add([...of, fault, shown]);
    },
    webhookLeftOut: (hook) => families.leftOut.add([nameOf(hook.webhook.name), typeOf(hook)]),
    conditionsFailed: (hook, operation) =>
      families.conditionErrors.add([nameOf(hook.webhook.name), 'webhook', typeOf(hook), operation]),
    conditionsExcluded: (hook, operation) =>
      families.conditionExclusions.add([nameOf(hook.webhook.name), 'webhook', typeOf(hook), operation]),
    policyChecked: ({ policy: name, binding, action, fault, seconds }) => {
      const labels = [nameOf(name), nameOf(binding), fault, action];
      checks.add(labels);
      checkSeconds.observe(labels, seconds);
    },
  };
}

function webhookFamilies(registry: MetricRegistry) {
  const of = ['name', 'type', 'operation'];
  const conditions = ['name', 'kind', 'type', 'operation'];
  return {
    seconds: registry.histogram('apiserver_admission_webhook_admission_duration_seconds', 'Time that webhooks took.', {
      labelNames: [...of, 'rejected'],
      buckets: WEBHOOK_BUCKETS,
    }),
    requests: registry.counter('apiserver_admission_webhook_request_total', 'Calls of webhooks.', [
      ...of,
      'code',
      'rejected',
    ]),
    rejections: registry.counter(
      'apiserver_admission_webhook_rejection_count',
      'Requests that were refused by a webhook, or because it failed.',
      [...of, 'error_type', 'rejection_code'],
    ),
    leftOut: registry.counter(
      'apiserver_admission_webhook_fail_open_count',
      'Webhooks that failed and were skipped because of their failurePolicy.',
      ['name', 'type'],
    ),
    conditionErrors: registry.counter(
      'apiserver_admission_match_condition_evaluation_errors_total',
      'Match conditions that could not be evaluated.',
      conditions,
    ),
    conditionExclusions: registry.counter(
      'apiserver_admission_match_condition_exclusions_total',
      'Requests for which the match conditions left a webhook out.',
      conditions,
    ),
  };
}

const typeOf = ({ isMutating }: CompiledWebhook): string => (isMutating ? 'admit' : 'validating');

/** Names beyond the first `max` share one series. */
function boundedNames(max: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= max) return 'other';
    known.add(name);
    return name;
  };
}
