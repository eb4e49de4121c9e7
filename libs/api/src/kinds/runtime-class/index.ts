import { duplicate, type FieldError, invalid } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setResourceListDefaults } from '../../defaults/resources.ts';
import type { RuntimeClass, Toleration } from '../../generated/types.ts';
import { RUNTIME_CLASSES } from '../../refs.ts';
import { validateDnsLabel } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { validateLabels } from '../../validation/labels.ts';
import { deprecatedNodeLabel } from '../../validation/node-labels.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateTolerations } from '../../validation/pod/tolerations.ts';
import { validateContainerResources } from '../../validation/quantities.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

export const runtimeClassResource = defineResource(RUNTIME_CLASSES, {
  setDefaults: (runtime) => setResourceListDefaults(runtime.overhead?.podFixed),
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<RuntimeClass>(META, {
      whole: validateRuntimeClass,
      change: (out, { handler }, old) => {
        if (handler !== old.handler) out.push(invalid('handler', handler, IMMUTABLE_TEXT));
      },
      onUpdate: ['whole', 'metadata', 'change'],
    }),
    warnings: ({ scheduling }) =>
      Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => {
        const deprecated = deprecatedNodeLabel(key);
        return deprecated === undefined ? [] : [`scheduling.nodeSelector: ${deprecated}`];
      }),
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    textColumn('Handler', 'How the node calls the runtime', (runtime) => runtime.handler),
    ageColumn,
  ],
});

function validateRuntimeClass(out: FieldError[], runtime: Readonly<RuntimeClass>): void {
  validateDnsLabel(out, 'handler', runtime.handler);
  if (runtime.overhead !== undefined) {
    validateContainerResources(out, 'overhead', { limits: runtime.overhead.podFixed ?? {} });
  }
  validateLabels(out, 'scheduling.nodeSelector', runtime.scheduling?.nodeSelector);
  validateOwnTolerations(out, 'scheduling.tolerations', runtime.scheduling?.tolerations ?? []);
}

function validateOwnTolerations(out: FieldError[], path: string, tolerations: readonly Toleration[]): void {
  validateTolerations(out, path, tolerations);
  const seen = new Set<string>();
  for (const [i, toleration] of tolerations.entries()) {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    const said = JSON.stringify([key, operator, value, effect]);
    if (seen.has(said)) out.push(duplicate(`${path}[${i}]`, goValue('core.Toleration', toleration)));
    seen.add(said);
  }
}
