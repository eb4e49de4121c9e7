import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '@holdfast/api';
import { type Attributes, attributesOf, isAdmissionConfiguration } from '../dynamic/attributes.ts';
import { type CompiledWebhook, WebhookSource } from '../dynamic/compiled-webhooks.ts';
import { RequestValues } from '../dynamic/request-values.ts';
import { callWebhook, heed, isWanted } from '../dynamic/webhook-call.ts';
import type { AdmissionDeps, AdmissionPlugin } from '../port.ts';

/** Calls the webhooks that may refuse a request, all at once. The first in order that refuses gives the answer. */
export function createValidatingWebhooks(deps: AdmissionDeps): AdmissionPlugin {
  const source = new WebhookSource(VALIDATING_WEBHOOK_CONFIGURATIONS, false, deps);
  const review = (attributes: Attributes, warn: (text: string) => void): Promise<void> =>
    reviewAll(source.all(), attributes, { deps, warn });
  return {
    name: 'ValidatingAdmissionWebhook',
    handles: ({ definition }) => !source.isEmpty && !isAdmissionConfiguration(definition),
    validate: (request) => {
      const hooks = source.all().filter(({ matcher }) => matcher.concerns(request));
      return hooks.length === 0 ? undefined : reviewAll(hooks, attributesOf(request), { deps, warn: request.warn });
    },
    connect: (attributes, warn) => (source.isEmpty ? undefined : review(attributes, warn)),
  };
}

async function reviewAll(
  hooks: readonly CompiledWebhook[],
  attributes: Attributes,
  { deps, warn }: { deps: AdmissionDeps; warn: (text: string) => void },
): Promise<void> {
  const values = new RequestValues(attributes, deps);
  const results = await Promise.allSettled(
    hooks.map(async (hook) => {
      if (!(await isWanted(hook, attributes, values))) return;
      const answer = await callWebhook(hook, attributes, deps);
      if (answer !== undefined) heed(hook, answer, warn);
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
