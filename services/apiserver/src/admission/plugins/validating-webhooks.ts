import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '@holdfast/api';
import type { Remarks } from '../../audit/notes.ts';
import { type Attributes, attributesOf, isShown } from '../dynamic/attributes.ts';
import { type CompiledWebhook, WebhookSource } from '../dynamic/compiled-webhooks.ts';
import { Views } from '../dynamic/views.ts';
import { consult, wantedView } from '../dynamic/webhook-call.ts';
import type { AdmissionDeps, AdmissionPlugin } from '../port.ts';

/** Calls validating webhooks in parallel. The first refusal in their order becomes the response. */
export function createValidatingWebhooks(deps: AdmissionDeps): AdmissionPlugin {
  const source = new WebhookSource(VALIDATING_WEBHOOK_CONFIGURATIONS, false, deps);
  return {
    name: 'ValidatingAdmissionWebhook',
    handles: (request) => !source.isEmpty && isShown(request),
    validate: (request) => {
      const hooks = source.all().filter(({ matcher }) => matcher.concerns(request));
      return hooks.length === 0 ? undefined : reviewAll(hooks, attributesOf(request), deps, request);
    },
    review: (attributes, remarks) => (source.isEmpty ? undefined : reviewAll(source.all(), attributes, deps, remarks)),
  };
}

async function reviewAll(
  hooks: readonly CompiledWebhook[],
  attributes: Attributes,
  deps: AdmissionDeps,
  remarks: Remarks,
): Promise<void> {
  const views = new Views(attributes, deps);
  const results = await Promise.allSettled(
    hooks.map(async (hook, index) => {
      const view = await wantedView(hook, attributes, views, deps.metrics);
      if (view !== undefined) await consult({ hook, round: 0, index }, view.attributes, deps, remarks);
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
