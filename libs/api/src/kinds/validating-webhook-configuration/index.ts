import { semanticEqual } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn } from '../../columns/columns.ts';
import { setWebhookDefaults } from '../../defaults/webhooks.ts';
import type { ValidatingWebhookConfiguration } from '../../generated/types.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateWebhooks } from '../../validation/webhooks.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors, standardFinalizers: false } as const;

export const validatingWebhookConfigurationResource = defineResource(VALIDATING_WEBHOOK_CONFIGURATIONS, {
  setDefaults: (configuration) => {
    for (const webhook of configuration.webhooks ?? []) {
      setWebhookDefaults(webhook);
    }
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<ValidatingWebhookConfiguration>(META, {
      whole: (out, { webhooks = [] }) => validateWebhooks(out, webhooks),
      onUpdate: ['whole'],
    }),
    generationChanges: (configuration, old) => !semanticEqual(configuration.webhooks, old.webhooks),
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    integerColumn('Webhooks', 'How many webhooks are called', (configuration) => configuration.webhooks?.length ?? 0),
    ageColumn,
  ],
});
