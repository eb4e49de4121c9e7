import { duplicate, type FieldError, semanticEqual } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { setWebhookDefaults } from '../../defaults/webhooks.ts';
import type { MutatingWebhookConfiguration } from '../../generated/types.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateWebhook } from '../../validation/webhooks.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare, warnAtCreate } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors, standardFinalizers: false } as const;

export const mutatingWebhookConfigurationResource = defineResource(MUTATING_WEBHOOK_CONFIGURATIONS, {
  setDefaults: (configuration) => {
    for (const webhook of configuration.webhooks ?? []) {
      setWebhookDefaults(webhook);
      setDefault(webhook, 'reinvocationPolicy', 'Never');
    }
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checked<MutatingWebhookConfiguration>(META, validateConfiguration),
    generationChanges: (configuration, old) => !semanticEqual(configuration.webhooks, old.webhooks),
    warnings: warnAtCreate(
      'this API server calls no admission webhooks yet: the configuration is kept and has no effect',
    ),
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    integerColumn('Webhooks', 'How many webhooks are called', (configuration) => configuration.webhooks?.length ?? 0),
    ageColumn,
  ],
});

function validateConfiguration(out: FieldError[], configuration: Readonly<MutatingWebhookConfiguration>): void {
  const names = new Set<string>();
  for (const [i, webhook] of (configuration.webhooks ?? []).entries()) {
    validateWebhook(out, `webhooks[${i}]`, webhook);
    if (names.has(webhook.name)) out.push(duplicate(`webhooks[${i}].name`, webhook.name));
    names.add(webhook.name);
  }
}
