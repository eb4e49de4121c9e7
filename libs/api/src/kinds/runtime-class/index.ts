import { type FieldError, invalid } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setResourceListDefaults } from '../../defaults/resources.ts';
import type { RuntimeClass } from '../../generated/types.ts';
import { RUNTIME_CLASSES } from '../../refs.ts';
import { validateDnsLabel, validateRequiredText } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateLabels } from '../../validation/labels.ts';
import { deprecatedNodeLabel } from '../../validation/node-labels.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateTolerations } from '../../validation/pod/tolerations.ts';
import { validateContainerResources } from '../../validation/quantities.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

export const runtimeClassResource = defineResource(RUNTIME_CLASSES, {
  setDefaults: (runtime) => setResourceListDefaults(runtime.overhead?.podFixed),
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checked<RuntimeClass>(META, (out, runtime, old) => {
      if (old === undefined) validateRuntimeClass(out, runtime);
      else if (runtime.handler !== old.handler) out.push(invalid('handler', runtime.handler, IMMUTABLE_TEXT));
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
  if (validateRequiredText(out, 'handler', runtime.handler)) validateDnsLabel(out, 'handler', runtime.handler);
  if (runtime.overhead !== undefined) {
    validateContainerResources(out, 'overhead.podFixed', { limits: runtime.overhead.podFixed ?? {} });
  }
  validateLabels(out, 'scheduling.nodeSelector', runtime.scheduling?.nodeSelector);
  validateTolerations(out, 'scheduling.tolerations', runtime.scheduling?.tolerations ?? []);
}
